"""What the framework of the figures promises: it continues, it checks, it draws.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as tree
from unittest import mock

import chart
import curves
import evidence
import page
import search_page
import searches
import table
from job import CIFAR, RECORD, Job, Missing, claim, first_batches, first_images


class Jobs(unittest.TestCase):
    def test_a_part_that_was_measured_is_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            Job(folder, "full", "build").part("first", lambda: [1, 2])
            again = Job(folder, "full", "build")  # another process, after the first was killed
            self.assertEqual(again.part("first", lambda: self.fail("measured twice")), [1, 2])
            self.assertEqual(again.part("second", lambda: (3,)), [3])
            self.assertEqual(set(Job(folder, "full", "build").parts), {"first", "second"})
            again.forget()
            self.assertEqual(again.part("first", lambda: 5), 5)

    def test_a_program_that_fails_is_an_error_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bad"
            program.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
            program.chmod(0o755)
            with self.assertRaisesRegex(RuntimeError, "ended with 3: no such thing"):
                Job(folder, "full", folder).program("bad")

    def test_a_python_without_its_packages_is_missing_and_another_fault_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"BIRDS_PYTHON": ""}):
            job, script = Job(folder, "full", folder), pathlib.Path(folder) / "script.py"
            for wrong in ("", "/nowhere/python"):
                os.environ["BIRDS_PYTHON"] = wrong
                with self.assertRaisesRegex(Missing, "needs a camera"):
                    job.python("BIRDS_PYTHON", "a camera", script)
            os.environ["BIRDS_PYTHON"] = os.path.relpath(sys.executable)  # as a user may write it
            script.write_text("import sys, os\nprint(*sys.argv[1:], os.getcwd())\n")
            self.assertEqual(job.python("BIRDS_PYTHON", "", script, 1, "two"), f"1 two {job.folder}\n")
            script.write_text("import a_camera\n")
            with self.assertRaisesRegex(Missing, "needs a camera: .*No module named 'a_camera'"):
                job.python("BIRDS_PYTHON", "a camera", script)
            script.write_text("raise ValueError('dark')\n")
            with self.assertRaisesRegex(RuntimeError, "ended with 1: (.|\n)*dark"):
                job.python("BIRDS_PYTHON", "a camera", script)


class Cifar(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cwd = pathlib.Path(folder.name)

    def test_the_first_images_of_each_class_are_taken(self):
        for name in ("cat/2.png", "cat/1.png", "cat/3.png", "dog/7.png", "dog/8.png"):
            path = self.cwd / "train" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        (self.cwd / "part").mkdir()
        first_images(self.cwd / "train", 4, self.cwd / "part")
        taken = {str(path.relative_to(self.cwd / "part")) for path in (self.cwd / "part").rglob("*.png")}
        self.assertEqual(taken, {"cat/1.png", "cat/2.png", "dog/7.png", "dog/8.png"})

    def test_the_first_records_of_the_binary_version_are_taken(self):
        batch = self.cwd / "data_batch_1.bin"
        batch.write_bytes(b"".join(bytes([i]) * RECORD for i in range(3)))
        (self.cwd / "part").mkdir()
        first_batches([batch], 2, self.cwd / "part")
        self.assertEqual((self.cwd / "part/data_batch_1.bin").read_bytes(), b"\0" * RECORD + b"\1" * RECORD)

    def test_a_figure_without_its_data_is_skipped_and_its_results_stay(self):
        def measure(job):
            return job.cifar(2, 100)

        options = types.SimpleNamespace(names=["one"], again=False, work=self.cwd, build="build")
        figure = types.SimpleNamespace(MINUTES=1, measure=measure)
        said = io.StringIO()
        with (
            mock.patch.dict(os.environ, {CIFAR: ""}),
            mock.patch.multiple(
                evidence,
                figures=lambda: {"one": figure},
                script_of=lambda name: "",
                replace=lambda *_: self.fail("results were written"),
                outputs=dict,
            ),
            contextlib.redirect_stdout(said),
        ):
            self.assertEqual(evidence.make(options), 1)
            with self.assertRaises(Missing):
                measure(Job(self.cwd, "full", "build"))
        self.assertIn(f"skipped: needs CIFAR-10: set {CIFAR} to the folder", said.getvalue())


class Searches(unittest.TestCase):
    def test_losses_count_in_the_order_in_which_epochs_were_handed_out(self):
        def done(trial, epoch, loss):
            validation = {"rows": 2, "loss_sum": 2 * loss} if loss else None
            return {"event": "lap_done", "trial": trial, "epoch": epoch, "validation": validation}

        released = [
            {"event": "lap_released", "trial": trial, "epoch": epoch} for trial, epoch in ((0, 0), (1, 0), (0, 1), (2, 0))
        ]
        ended = [done(1, 0, 0.5), done(2, 0, None), done(0, 1, 0.25), done(0, 0, 0.75)]  # as they came
        self.assertEqual(searches.progress([*ended, *released], "ASHA"), [0.75, 0.5, 0.25, 0.25])
        self.assertEqual(searches.progress([released[0], done(0, 0, float("nan"))], "ASHA"), [float("inf")])
        trials = [{**line, "trial": trial} for line, trial in zip(released, (0, 1, 0, 1), strict=True)]
        ended = [done(1, 0, 0.1), done(0, 0, 0.9), done(0, 1, 0.7)]
        self.assertEqual(searches.progress([*trials, *ended], "random"), [0.9, 0.7, 0.1, 0.1])

    def test_the_grid_goes_from_one_training_to_the_budget(self):
        points = searches.grid({"epochs": 9, "trials": 27})
        self.assertEqual((points[0], points[-1]), (9, 243))
        self.assertEqual(points, sorted(set(points)))
        data = {"grid": [9, 20, 100], "curves": {"TPE": {"mean": [3, 2, 1]}}}
        self.assertEqual([search_page.at(data, "TPE", share) for share in (0.1, 0.2, 0.9, 1)], [3, 2, 2, 1])
        self.assertEqual([search_page.epochs_to(data, "TPE", loss) for loss in (2, 1.5, 0.5)], [20, 100, None])


class Samplers(unittest.TestCase):
    def test_ranks_are_of_the_seeds_and_trials_that_all_have(self):
        figure = evidence.figures()["search_quality"]
        found = {"few": [[[2, 1]]], "many": [[[1, 1, 1]], [[0, 0, 0]]]}  # by seed and table, after each trial
        self.assertEqual(figure.ranks(found), {"few": [2, 1.5], "many": [1, 1.5]})


class Runs(unittest.TestCase):
    def test_visits_come_from_the_blocks_of_units(self):
        def block(trial, epoch, shards):
            units = [curves.UNIT.pack(shard, 7, 10, 0.5, 100.0 + shard, 2.0, -1, 1, 0.1) for shard in shards]
            return curves.BLOCK + curves.HEAD.pack(trial, epoch, 1, len(shards)) + b"".join(units) + b"\0" * 8

        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder)
            (run / "units-1.bin").write_bytes(block(0, 1, [1, 0]) + block(1, 0, [0, 1]) + block(0, 0, [2, 1]))
            self.assertEqual(curves.visits(run), {0: [[2, 1], [1, 0]], 1: [[0, 1]]})
            lap = {"event": "lap_done", "trial": 0, "epoch": 0, "validation": {"start_unix_s": 105.5}}
            (run / "journal.jsonl").write_text(json.dumps({"event": "lap_released"}) + "\n" + json.dumps(lap) + "\n")
            self.assertEqual(curves.lap_s(run), 4.5)  # its units began at 101 and 102
            (run / "units-1.bin").write_bytes(b"HOPUNIT9")
            with self.assertRaisesRegex(ValueError, "no block at byte 0"):
                curves.units(run)

    def test_metrics_are_in_the_order_of_trials_and_epochs(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder)
            rows = [{"trial": trial, "epoch": epoch} for trial, epoch in ((1, 0), (0, 1), (0, 0))]
            (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            self.assertEqual(curves.metrics(run), {0: [rows[2], rows[1]], 1: [rows[0]]})

    def test_a_target_is_reached_between_two_epochs(self):
        self.assertEqual([curves.first_at([0.5, 1.0, 0.8], target) for target in (0.25, 0.75, 1.1)], [0.5, 1.5, None])

    def test_the_table_follows_from_its_formula(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.csv"
            table.write(path, 2000)
            head, *rows = path.read_text().splitlines()
            self.assertEqual((len(head.split(",")), len(rows)), (table.FEATURES + 1, 2000))
            rows = [list(map(float, row.split(","))) for row in rows]
            wrong = sum(table.classes(row[:-1]) != row[-1] for row in rows) / len(rows)
            self.assertAlmostEqual(wrong, table.NOISE * 3 / 4, delta=0.02)  # a drawn label is right one time in four
            self.assertEqual(path.read_text().splitlines()[1][:14], "0.8113,0.3725,")


# evidence.py with one figure of four parts, whose numbers come from a file that every measurement changes. The third part
# kills the process once.
INTERRUPTED = """
import os, pathlib, signal, sys, types
import evidence, page

place = pathlib.Path(sys.argv[1])
count, killed = place / "count", place / "killed"


def part(number):
    if number == 2 and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with count.open("a") as file:
        file.write(f"{number} ")
    return [number, len(count.read_text())]


figure = types.SimpleNamespace(TITLE="T", MINUTES=1, ASKS="?", HOW=".", PAPER=".")
figure.measure = lambda job: [job.part(str(i), lambda i=i: part(i)) for i in range(4)]
figure.claims = lambda data: [{"claim": "c", "holds": True, "numbers": {"data": data}}]
figure.chart = lambda data: {"kind": "lines", "title": "t", "x": {"label": "x"}, "y": {"label": "y"},
                             "series": [{"name": "s", "points": data}]}
page.ORDER = ("one",)
evidence.figures = lambda: {"one": figure}
evidence.script_of = lambda name: "script"
evidence.RESULTS, evidence.PICTURES, evidence.PAGE = place, place, place / "page.md"
sys.argv = ["evidence.py", "--work", str(place / "work"), *sys.argv[2:]]
sys.exit(evidence.main())
"""


class Interruptions(unittest.TestCase):
    def start(self, place):
        """evidence.py in a process of its own: its exit code."""
        command = [sys.executable, "-B", "-c", INTERRUPTED, str(place)]
        return subprocess.run(command, cwd=evidence.HERE, capture_output=True, text=True).returncode

    def figure(self, place):
        """What does not name a day or a duration."""
        result = json.loads((place / "one.json").read_text())
        return result["data"], result["claims"], (place / "one.svg").read_text()

    def test_killed_half_way_and_started_again_it_gives_the_same_figure(self):
        with tempfile.TemporaryDirectory() as struck, tempfile.TemporaryDirectory() as quiet:
            struck, quiet = pathlib.Path(struck), pathlib.Path(quiet)
            (quiet / "killed").touch()
            self.assertEqual(self.start(quiet), 0)
            self.assertEqual(self.start(struck), -signal.SIGKILL)
            self.assertFalse((struck / "one.json").exists())
            self.assertEqual(self.start(struck), 0)
            self.assertEqual((struck / "count").read_text(), "0 1 2 3 ")  # no part twice
            self.assertEqual(self.figure(struck), self.figure(quiet))


class Charts(unittest.TestCase):
    def test_axes_have_round_ticks_that_hold_every_value(self):
        for values, ticks in (
            ([0, 7.8], [0, 2, 4, 6, 8]),
            ([1, 2.19], [1, 1.5, 2, 2.5]),
            ([0, 0.0312], [0, 0.01, 0.02, 0.03, 0.04]),
        ):
            self.assertEqual(chart.Axis({"label": ""}, values).ticks, ticks)
        axis = chart.Axis({"label": "", "log": True}, [300, 2e6])
        self.assertEqual((axis.ticks[0], axis.ticks[-1]), (100, 1e7))
        self.assertAlmostEqual(axis.place(1e7), 1)

    def test_every_mark_lies_inside_of_the_picture(self):
        spec = {"kind": "lines", "title": "a < b", "x": {"label": "x"}, "y": {"label": "y"}}
        spec["series"] = [{"name": "s", "points": [[0, 0.3], [3, 9.7]]}]
        root = tree.fromstring(chart.draw(spec))
        line = next(each for each in root.iter() if each.tag.endswith("polyline"))
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            self.assertTrue(
                chart.LEFT <= x <= chart.WIDTH - chart.RIGHT and chart.TOP <= y <= chart.HEIGHT - chart.BOTTOM, pair
            )
        self.assertIn("a < b", [each.text for each in root.iter()])

    def test_long_words_are_smaller(self):
        self.assertEqual([chart.fitted(words, 60, 11, 0.5) for words in (["a"], ["a", "b" * 12])], [11, 10])
        spec = {"kind": "bars", "title": "t" * 90, "y": {"label": "y"}, "series": [{"name": "s", "values": [1] * 10}]}
        root = tree.fromstring(chart.draw({**spec, "x": {"label": "x", "categories": ["c" * 12] * 10}}))
        for each in root.iter("{http://www.w3.org/2000/svg}text"):
            if each.text[0] in "tc" and len(each.text) > 1:
                room = chart.WIDTH - chart.LEFT if each.text[0] == "t" else (chart.WIDTH - chart.LEFT - chart.RIGHT) / 10
                self.assertLess(0.6 * float(each.get("font-size")) * len(each.text), room)

    def test_panels_lie_beside_and_below_each_other(self):
        panel = {"kind": "lines", "x": {"label": "x"}, "y": {"label": "y"}}
        panel["series"] = [{"name": "s", "points": [[0, 1], [1, 2]]}]
        root = tree.fromstring(
            chart.draw({"kind": "panels", "title": "t", "panels": [{**panel, "title": each} for each in "abc"]})
        )
        self.assertEqual(root.get("viewBox"), f"0 0 {chart.WIDTH} {chart.HEAD + 2 * chart.PANEL}")
        lines = [each.get("points") for each in root.iter() if each.tag.endswith("polyline")]
        first = [tuple(map(float, points.split()[0].split(","))) for points in lines]
        self.assertEqual(first[1][0] - first[0][0], chart.WIDTH / 2)
        self.assertEqual((first[2][0], first[2][1] - first[0][1]), (first[0][0], chart.PANEL))
        self.assertEqual([each.text for each in root.iter() if each.text == "s"], ["s"])  # one legend

    def test_whole_charts_lie_below_each_other(self):
        one = {"kind": "lines", "title": "t", "x": {"label": "x"}, "y": {"label": "y"}}
        one["series"] = [{"name": "s", "points": [[0, 1], [1, 2]]}]
        root = tree.fromstring(chart.draw({"kind": "panels", "title": "t", "columns": 1, "panels": [one, one]}))
        self.assertEqual(root.get("viewBox"), f"0 0 {chart.WIDTH} {2 * chart.HEIGHT}")
        first, second = (float(each.get("y")) for each in root.iter() if each.text == "s")
        self.assertEqual(second - first, chart.HEIGHT)

    def test_a_band_lies_around_its_line(self):
        spec = {"kind": "lines", "title": "t", "x": {"label": "x"}, "y": {"label": "y"}}
        spec["series"] = [{"name": "s", "points": [[0, 1], [1, 2]], "band": [[0, 0, 2], [1, 1, 9]]}]
        root = tree.fromstring(chart.draw(spec))
        band = next(each.get("points") for each in root.iter() if each.tag.endswith("polygon"))
        line = next(each.get("points") for each in root.iter() if each.tag.endswith("polyline"))
        places = [tuple(map(float, pair.split(","))) for pair in (line + " " + band).split()]
        self.assertEqual([x for x, _ in places], [places[0][0], places[1][0]] + [places[i][0] for i in (0, 1, 1, 0)])
        (_, first), (_, last), (_, low), (_, low_end), (_, high_end), (_, high) = places
        self.assertTrue(low > first > high and low_end > last > high_end >= chart.TOP, places)  # y grows downwards

    def test_a_whisker_spans_its_bounds(self):
        spec = {"kind": "bars", "title": "t", "x": {"label": "x", "categories": ["a"]}, "y": {"label": "y", "high": 10}}
        spec["series"] = [{"name": "s", "values": [5], "spans": [[4, 10]]}]
        self.assertIn(f"{chart.TOP:.1f}m-4 0h8", chart.draw(spec))  # the upper bound is the top of the axis


class Pages(unittest.TestCase):
    def test_a_claim_that_does_not_hold_stays_with_its_reason(self):
        held = page.statement(claim("it is fast", True, "never printed", speed=2.5))
        failed = page.statement(claim("it is fast", False, "The clock stood.", speed=0.5))
        self.assertEqual(held, "- Holds: it is fast (speed 2.5).")
        self.assertEqual(failed, "- **Does not hold**: it is fast (speed 0.5). The clock stood.")

    def test_what_a_figure_adds_stands_behind_its_claims(self):
        figure = types.SimpleNamespace(remarks=lambda data: ["| K |", f"| {data} |"])
        self.assertEqual(page.remarks(figure, 8), ["| K |", "| 8 |", ""])
        self.assertEqual(page.remarks(types.SimpleNamespace(), 8), [])

    def test_stale_pages_and_changed_claims_are_found(self):
        known = evidence.figures()
        self.assertEqual(self.check(lambda name: evidence.result_of(name)), 0)
        bent = json.loads(json.dumps(evidence.result_of(page.ORDER[0])))
        bent["claims"][0]["holds"] = not bent["claims"][0]["holds"]
        self.assertEqual(self.check(lambda name: bent if name == page.ORDER[0] else evidence.result_of(name)), 1)
        with mock.patch.object(evidence, "figures", lambda: {name: changed(figure) for name, figure in known.items()}):
            self.assertEqual(self.check(evidence.result_of), 1)

    def test_a_figure_without_results_stands_on_the_page_if_it_needs_something(self):
        figure = types.SimpleNamespace(TITLE="Birds", NEEDS="a camera")
        self.assertIn(
            "**Not measured yet**: Birds. `scripts/evidence.sh birds` needs a camera.", page.write({}, {"birds": figure})
        )
        name, known = page.ORDER[0], evidence.figures()
        self.assertEqual(len(self.complaints(known, name)), 1)
        known[name] = types.SimpleNamespace(**{**vars(known[name]), "NEEDS": "a camera"})
        self.assertEqual(self.complaints(known, name), [])

    def complaints(self, known, name):
        """About the results of this figure, if it has none."""
        results = {each: evidence.result_of(each) for each in known if each != name}
        said = io.StringIO()
        with mock.patch.multiple(evidence, figures=lambda: known, result_of=results.get), contextlib.redirect_stdout(said):
            evidence.check()
        return [line for line in said.getvalue().splitlines() if f"{name}.json" in line]

    def check(self, result_of):
        results = {name: result_of(name) for name in page.ORDER}
        with mock.patch.object(evidence, "result_of", results.get), contextlib.redirect_stdout(io.StringIO()):
            return evidence.check()


def changed(figure):
    return types.SimpleNamespace(**{**vars(figure), "TITLE": "Another title"})


if __name__ == "__main__":
    unittest.main()
