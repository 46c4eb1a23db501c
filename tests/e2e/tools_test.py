# SPDX-License-Identifier: Apache-2.0
"""Runs in other tools: TensorBoard's files, the rules of Perfetto's importer, the script for MLflow, pandas. Own readers
check the files in every case. The tools themselves read them if HOPSCOTCH_TOOLS_PYTHON (default: .deps/tools) has them."""

import csv
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, SOURCE, TOOLS_PYTHON, Case, experiment, long_only, strict_json

METRICS = ("train_loss", "val_loss", "val_accuracy", "lr")


def needs(package):
    """Skips a test if the Python of the tools cannot import the package."""
    missing = subprocess.run([TOOLS_PYTHON, "-c", f"import {package}"], capture_output=True).returncode != 0
    return unittest.skipIf(missing, f"{TOOLS_PYTHON} has no {package}; scripts/setup.sh --tests installs it")


def records(path):
    """The messages of an event file. The unit tests check the checksums."""
    data = path.read_bytes()
    while data:
        (size,) = struct.unpack_from("<Q", data)
        yield data[12 : 12 + size]
        data = data[16 + size :]


def points(path):
    """{tag: [float32 ...]} of an event file, in its order."""
    out = {}
    for message in records(path):
        for tag, value in re.findall(rb"\x0a.([a-z_0-9]+)\x15(.{4})", message, re.DOTALL):
            out.setdefault(tag.decode(), []).append(struct.unpack("<f", value)[0])
    return out


def documented(tool, language):
    """The blocks of code behind the heading of a tool in docs/other-tools.md."""
    text = (SOURCE / "docs/other-tools.md").read_text()
    section = re.search(rf"^## {re.escape(tool)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


class Tools(Case):
    """One run that was killed after a few laps and resumed, with a disk that was full for a moment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = Path(cls._folder.name)
        document = experiment(
            train={"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
            space={"train.optimizer.lr": [0.03, 0.1], "model.hidden": [[8], [16]]},
            data={"path": str(cls.imported)},
            run={"dir": "out", "device": "cpu", "checkpoint_every_s": 1e-9},
        )
        (folder / "e.json").write_text(json.dumps(document))
        command = [BINARY, "run", "e.json", "--quiet", "--trainers", "2"]
        run = {"cwd": folder, "capture_output": True, "text": True}
        killed = subprocess.run(command, env={**os.environ, "HOPSCOTCH_FAULT": "journal.append:25:kill"}, **run)
        assert killed.returncode == -9, killed.stderr
        cls.resumed = subprocess.run(
            [*command, "--resume"], env={**os.environ, "HOPSCOTCH_FAULT": "events.append:2:enospc"}, **run
        )
        assert cls.resumed.returncode == 0, cls.resumed.stderr

    def setUp(self):
        super().setUp()
        shutil.copytree(Path(self._folder.name) / "out", self.cwd / "out")
        self.out = self.cwd / "out"
        self.metrics = [strict_json(line) for line in (self.out / "metrics.jsonl").read_text().splitlines()]
        self.summary = strict_json((self.out / "summary.json").read_text())

    def curve(self, trial, metric):
        return [line[metric] for line in sorted(self.metrics, key=lambda each: each["epoch"]) if line["trial"] == trial]

    def tool(self, code, *arguments, env=None):
        done = subprocess.run(
            [TOOLS_PYTHON, "-c", code, *arguments],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_event_files_have_the_points_of_metrics_jsonl(self):
        """Also after --resume: none is missing and none is there twice."""
        self.assertEqual({path.name for path in (self.out / "tb").iterdir()}, {f"trial-{n}" for n in range(4)})
        for trial in range(4):
            (file,) = (self.out / "tb" / f"trial-{trial}").iterdir()  # two files would be two runs
            shown = points(file)
            for metric in METRICS:
                self.assertEqual(len(shown[metric]), 4)
                for a, b in zip(shown[metric], self.curve(trial, metric)):
                    self.assertAlmostEqual(a, b, delta=1e-6 * abs(b))
            self.assertNotIn("val_mae", shown)
            text = b"".join(records(file))
            for mark in (b"_hparams_/session_start_info", b"_hparams_/session_end_info"):
                self.assertEqual(text.count(mark), 1)

    def test_a_full_disk_costs_a_warning(self):
        self.assertRegex(self.resumed.stderr, "warning TensorBoard's files are not complete: .*No space left")

    @needs("tensorboard")
    def test_tensorboard_reads_the_files(self):
        code = """if True:
            import json, sys
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
            from tensorboard.plugins.hparams import metadata
            out = {}
            for trial in range(4):
                files = EventAccumulator(f"out/tb/trial-{trial}")
                files.Reload()
                content = lambda tag: files.SummaryMetadata(f"_hparams_/session_{tag}_info").plugin_data.content
                start = metadata.parse_session_start_info_plugin_data(content("start"))
                end = metadata.parse_session_end_info_plugin_data(content("end"))
                out[trial] = {
                    "val_loss": [(point.step, point.value) for point in files.Scalars("val_loss")],
                    "lr": start.hparams["train.optimizer.lr"].number_value,
                    "hidden": start.hparams["model.hidden"].string_value,
                    "status": end.status,
                }
            print(json.dumps(out))"""
        shown = json.loads(self.tool(code).splitlines()[-1])
        for trial in self.summary["trials"]:
            here = shown[str(trial["id"])]
            self.assertEqual(here["lr"], trial["config"]["train.optimizer.lr"])
            self.assertEqual(json.loads(here["hidden"]), trial["config"]["model.hidden"])
            self.assertEqual(here["status"], 1)
            self.assertEqual([step for step, _ in here["val_loss"]], [0, 1, 2, 3])
            for (_, a), b in zip(here["val_loss"], self.curve(trial["id"], "val_loss")):
                self.assertAlmostEqual(a, b, delta=1e-6)

    def trace(self):
        return strict_json((self.out / "trace.json").read_text())

    def test_slices_of_a_row_are_apart_or_nested(self):
        rows = {}
        for event in self.trace():
            self.assertIn(event["ph"], "MXsfCi")
            if event["ph"] != "M":
                self.assertIsInstance(event["ts"], (int, float))
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
                rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
        self.assertGreaterEqual(set(rows), {(0, 0), (0, 1)})
        for row, slices in rows.items():
            open_ends = []
            for start, end in sorted(slices, key=lambda each: (each[0], -each[1])):
                while open_ends and open_ends[-1] <= start + 0.01:
                    open_ends.pop()
                self.assertTrue(not open_ends or end <= open_ends[-1] + 0.01, f"row {row}, at {start}")
                open_ends.append(end)

    def test_every_hop_is_an_arrow_between_two_slices(self):
        events = self.trace()
        starts = {event["id"]: event for event in events if event["ph"] == "s"}
        ends = {event["id"]: event for event in events if event["ph"] == "f"}
        self.assertEqual(set(starts), set(ends))
        # A lap that the kill interrupted has none: one of its changes was no hop, since its state came from a file.
        stops = [[*(unit["trainer"] for unit in lap["units"]), lap["home"]] for lap in self.laps()]
        changes = [sum(a != b for a, b in zip(each, each[1:])) for each in stops]
        sure = sum(lap["hops"] for lap, count in zip(self.laps(), changes) if count == lap["hops"])
        self.assertGreaterEqual(sure, 0.7 * self.summary["hops"])
        self.assertGreater(len(starts), 0.9 * sure)  # a slice under 0.2 us has no room for an end
        self.assertLessEqual(len(starts), self.summary["hops"])
        inside = lambda event: any(
            each["ph"] == "X" and each["pid"] == 0 and each["tid"] == event["tid"]
            and each["ts"] < event["ts"] < each["ts"] + each["dur"]
            for each in events
        )  # fmt: skip
        for number, start in starts.items():
            end = ends[number]
            self.assertEqual((start["name"], start["cat"]), (end["name"], end["cat"]))
            self.assertLessEqual(start["ts"], end["ts"])
            self.assertNotEqual(start["tid"], end["tid"])
            self.assertEqual(end["bp"], "e")
            self.assertTrue(inside(start) and inside(end), number)

    def test_rank_0_checkpoints_and_counters_have_rows(self):
        events = self.trace()
        marks = [event["name"] for event in events if event["ph"] == "i"]
        self.assertIn("job 2", marks)
        for trial in range(4):
            self.assertEqual(marks.count(f"end: trial {trial} finished"), 1)
        moved = [event["args"]["MB"] for event in events if event["ph"] == "C" and event["name"] == "states moved"]
        self.assertEqual(moved, sorted(moved))
        journal = [strict_json(line) for line in (self.out / "journal.jsonl").read_text().splitlines()]
        bytes_of_laps = sum(line["hop_bytes"] for line in journal if line["event"] == "lap_done")
        self.assertAlmostEqual(moved[-1], bytes_of_laps / 1e6, delta=0.001)
        saved = [line for line in journal if line["event"] == "checkpoint"]
        slices = [event for event in events if event["ph"] == "X" and event["cat"] == "checkpoint"]
        self.assertGreater(len(saved), 0)
        self.assertEqual(len(slices), len(saved))
        self.assertEqual(sorted(each["tid"] for each in slices), sorted(line["trainer"] for line in saved))
        queue = [event["args"]["laps"] for event in events if event["ph"] == "C" and event["name"] == "queue"]
        self.assertEqual(queue[-1], 0)
        names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertGreaterEqual(names, {"hopscotch", "rank 0"})

    def script(self, *arguments, env=None):
        return subprocess.run(
            [TOOLS_PYTHON, str(SOURCE / "scripts/to_mlflow.py"), *arguments],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def test_a_missing_client_or_run_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "trackio.py").write_text("raise ImportError('no such thing')")
            done = self.script("out", "--to", "trackio", env={"PYTHONPATH": folder})
        self.assertEqual(done.returncode, 2)
        self.assertIn("trackio: cannot be imported (no such thing); install it with: pip install trackio", done.stderr)
        done = self.script("digits")
        self.assertEqual(done.returncode, 2)
        self.assertIn("digits/experiment.json: is missing", done.stderr)

    @long_only
    @needs("mlflow")
    def test_mlflow_has_a_run_for_each_trial(self):
        env = {"MLFLOW_TRACKING_URI": f"sqlite:///{self.cwd}/ml.db"}
        for _ in range(2):  # the second call replaces the runs of the first one
            done = self.script("out", env=env)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        code = """if True:
            import json, mlflow
            client, out = mlflow.MlflowClient(), {}
            runs = client.search_runs([client.get_experiment_by_name("e2e").experiment_id])
            for run in runs:
                curve = client.get_metric_history(run.info.run_id, "val_loss")
                out[run.data.tags["hopscotch.trial"]] = {
                    "status": run.info.status, "params": run.data.params,
                    "curve": [(point.step, point.value) for point in curve],
                    "files": [file.path for file in client.list_artifacts(run.info.run_id, "best")],
                }
            print(json.dumps([len(runs), out]))"""
        count, shown = json.loads(self.tool(code, env=env).splitlines()[-1])
        self.assertEqual(count, 4)
        for trial in self.summary["trials"]:
            here = shown[str(trial["id"])]
            self.assertEqual(here["status"], "FINISHED")
            self.assertEqual(here["params"]["train.optimizer.lr"], str(trial["config"]["train.optimizer.lr"]))
            self.assertEqual(here["curve"], [[n, value] for n, value in enumerate(self.curve(trial["id"], "val_loss"))])
            best = trial["id"] == self.summary["best_trial"]
            self.assertEqual("best/model.safetensors" in here["files"], best)

    def test_the_lines_for_pandas_are_documented(self):
        (code,) = documented("pandas", "python")
        compile(code, "docs/other-tools.md", "exec")
        self.assertEqual(len(re.findall(r"^\w+ = pandas\.", code, re.MULTILINE)), 4)

    @needs("pandas")
    def test_pandas_reads_the_files(self):
        (code,) = documented("pandas", "python")
        self.out.rename(self.cwd / "runs")
        (self.cwd / "runs").rename(self.cwd / "churn")
        (self.cwd / "runs").mkdir()
        (self.cwd / "churn").rename(self.cwd / "runs/churn")
        count = "print(len(metrics), list(trials['id']), int((journal['event'] == 'lap_done').sum()), len(units))"
        shown = self.tool(code + count).splitlines()[-1]
        with open(self.cwd / "runs/churn/trials.csv") as file:
            ids = [int(row["id"]) for row in csv.DictReader(file)]
        self.assertEqual(shown, f"{len(self.metrics)} {ids} {len(self.metrics)} {self.summary['units']}")


if __name__ == "__main__":
    unittest.main()
