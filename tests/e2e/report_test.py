# SPDX-License-Identifier: Apache-2.0
"""hopscotch report: the page of real runs as a reader without scripts has it, and the data of its pictures. Its HTML must be
well formed, it must need nothing from outside, and a name in a run directory must not become a part of the page.
browser_test.py looks at the pictures."""

import collections
import csv
import html.parser
import importlib.util
import json
import re
import shutil
import signal
import unittest

from harness import Case, drawn, experiment
from limits import RUN_LIMIT_S

VOID = {"meta", "input", "br", "hr", "img"}
SPACE = {
    "train.optimizer.lr": {"type": "float", "low": 0.01, "high": 1.0, "log": True},
    "train.optimizer.momentum": [0.5, 0.9],
    "model.hidden": [[8], [16]],
}
EVIL = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m"
ALWAYS = ["answer", "failures", "reproduce"]
TRAINED = ["leaderboard", "idle", "bytes", "memory"]


class Page(html.parser.HTMLParser):
    """Elements that are closed in order, ids, scripts, and attributes that could run or load something."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.problems, self.words = [], [], collections.Counter(), [], []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        data = tag == "script" and ("type", "application/json") in attrs
        self.tags["data" if data else tag] += 1
        self.ids += [value for name, value in attrs if name == "id"]
        self.problems += [
            f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("src", "srcset", "style")
        ]
        self.problems += [f"{tag} to {v}" for n, v in attrs if n == "href" and not v.startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


class Report(Case):
    shards = 4

    def train(self, *args, **sections):
        shutil.rmtree(self.cwd / "out", ignore_errors=True)
        self.write(experiment(**sections))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2", *args)
        self.assertEqual(code, 0, out + err)

    def report(self, *args, file="out/report.html"):
        code, out, err = self.run_hopscotch("report", *(args or ("out",)))
        self.assertEqual((code, err), (0, ""), out)
        return (self.cwd / file).read_text()

    def checked(self, text, sections):
        """The page, after the checks that hold for every page."""
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertEqual([name for name, count in collections.Counter(page.ids).items() if count > 1], [])
        self.assertEqual(set(re.findall(r"https?://[^\s\"'<]+", text)), {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(text, r"@import|url\(|<link|<iframe|javascript:")
        self.assertEqual([page.tags[tag] for tag in ("script", "data", "style", "h1")], [1, 1, 1, 1])
        for run in drawn(text):
            self.data_holds(run)
        self.assertNotRegex(text, r"[\s\"(,]-?(nan|inf)\b")
        self.assertEqual([each for each in sections if each not in page.ids], [])
        self.assertLess(len(text), 1_000_000)
        return page

    def data_holds(self, run):
        """Trials, groups and pieces of time fit each other."""
        ids = [trial["id"] for trial in run["trials"]]
        self.assertEqual(sorted(ids), sorted(id for group in run["groups"] for id in group["trials"]))
        for trial in run["trials"]:
            others = trial["othersAt"] if trial["othersAt"] is not None else trial["at"]
            points = [len(trial["at"])] + [len(others)] * (len(run["metrics"]) - 1)
            self.assertEqual([len(line) for line in trial["values"]], points)
            self.assertEqual(len(trial["best"]), len(run["metrics"]))
        for group in run["groups"]:
            self.assertEqual(len(group["keys"]), len(run["keys"]))
        for kind, trainer, trial, _, _, start, lasted in (run["time"] or {"pieces": []})["pieces"]:
            self.assertTrue(kind in (0, 1, 2) and 0 <= trainer < run["time"]["rows"] and trial in ids)
            self.assertTrue(0 <= start <= start + lasted <= 1.0001 * run["end"], (start, lasted, run["end"]))

    def checked_again(self, sections):
        text = self.report()
        self.checked(text, sections)
        return text

    def table(self, text, section):
        """Cells of the first table of a section, by row."""
        part = re.search(rf'<section id="{section}">(.*?)</section>', text, re.DOTALL)[1]
        body = re.search(r"<tbody>(.*?)</tbody>", part, re.DOTALL)[1]
        rows = re.findall(r"<tr\b[^>]*>(.*?)</tr>", body, re.DOTALL)
        return [
            [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td\b[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows
        ]


class Exported(Report):
    """hopscotch export: the run as files of other tools."""

    STATES = {"finished": 1, "stopped": 2, "diverged": 3}

    def export(self, *args):
        code, out, err = self.run_hopscotch("export", *args)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def study_has(self, trials, metric):
        """study.log is one Optuna study with these trials of summary.json."""
        lines = [json.loads(line) for line in (self.cwd / "out/study.log").read_text().splitlines()]
        self.assertEqual([lines[0][key] for key in ("op_code", "study_name")], [0, "e2e"])
        begun = [line for line in lines if line["op_code"] == 4]
        self.assertEqual(len(begun), len(trials))
        for number, (trial, begin) in enumerate(zip(trials, begun)):
            of_it = [line for line in lines if line.get("trial_id") == number]
            (end,) = [line for line in of_it if line["op_code"] == 6]
            self.assertEqual((end, of_it[-1]["state"]), (of_it[-1], self.STATES[trial["status"]]))
            value = trial["best"] and [trial["best"][metric]]
            self.assertEqual(end["values"], value if trial["status"] == "finished" else None)
            steps = {line["step"]: line["intermediate_value"] for line in of_it if line["op_code"] == 7}
            if trial["best"]:
                self.assertEqual(steps[trial["best"]["epoch"]], trial["best"][metric])
            for key, value in trial["config"].items():
                attributes = json.loads(begin["distributions"][key])["attributes"]
                told = begin["params"][key]
                told = attributes["choices"][int(told)] if "choices" in attributes else told
                self.assertEqual(told, json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value)

    def test_optuna(self):
        search = {"procedure": "asha", "trials": 6, "eta": 2, "metric": "val_loss"}
        start = [{"train.optimizer.lr": 1e30, "train.batch_size": 16, "model.hidden": [8]}]
        space = {
            "train.optimizer.lr": {"type": "float", "low": 0.01, "high": 1e30, "log": True},
            "train.batch_size": {"type": "int", "low": 16, "high": 70, "step": 16},
            "model.hidden": [[8], [16]],
        }
        train = {"epochs": 4, "optimizer": {"name": "sgd", "lr": 0.1}, "batch_size": 32}
        self.train(search={**search, "start_with": start}, space=space, train=train)
        trials = self.summary()["trials"]
        self.assertIn("diverged", [trial["status"] for trial in trials])
        self.assertIn("out/study.log (", self.export("optuna", "out"))
        self.study_has(trials, "val_loss")
        lines = (self.cwd / "out/study.log").read_text().splitlines()
        self.assertEqual(json.loads(lines[0])["directions"], [1])
        sizes = json.loads(json.loads(lines[1])["distributions"]["train.batch_size"])
        self.assertEqual(sizes, {"name": "IntDistribution", "attributes": {"log": False, "step": 16, "low": 16, "high": 64}})
        self.opened_by_optuna(trials)
        self.csv_has(trials)

    def opened_by_optuna(self, trials):
        if importlib.util.find_spec("optuna") is None:
            return  # tests/README.md says how to run this with it
        import optuna
        import optuna.storages.journal as journal

        storage = optuna.storages.JournalStorage(journal.JournalFileBackend(str(self.cwd / "out/study.log")))
        study = optuna.load_study(study_name="e2e", storage=storage)
        states = {"finished": "COMPLETE", "stopped": "PRUNED", "diverged": "FAIL"}
        self.assertEqual([trial.state.name for trial in study.trials], [states[trial["status"]] for trial in trials])

    def csv_has(self, trials):
        """A row for each lap, with the trial's configuration."""
        self.export("csv", "out", "--out", "epochs.csv")
        rows = list(csv.DictReader((self.cwd / "epochs.csv").read_text().splitlines()))
        laps = [json.loads(line) for line in (self.cwd / "out/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(
            [(int(row["trial"]), int(row["epoch"])) for row in rows], [(lap["trial"], lap["epoch"]) for lap in laps]
        )
        for row, lap in zip(rows, laps):
            trial = trials[lap["trial"]]
            self.assertEqual(row["status"], trial["status"])
            self.assertEqual(row["val_loss"], "" if lap["val_loss"] is None else str(lap["val_loss"]))
            for key, value in trial["config"].items():
                self.assertEqual(json.loads(row[key]), value)

    def test_what_cannot_be_written(self):
        for args, said in ((("optuna", "digits"), "digits: holds no run"), (("csv", "nowhere"), "nowhere: holds no run")):
            code, out, err = self.run_hopscotch("export", *args)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(said, err)


class Finished(Report):
    def test_grid(self):
        self.train(space={"train.optimizer.lr": [0.03, 0.1, 0.3], "model.hidden": [[8], [16]]})
        text = self.report()
        page = self.checked(text, [*ALWAYS, *TRAINED])
        self.assertNotIn("rungs", page.ids)
        summary = self.summary()
        self.drawn_as_trained(drawn(text)[0], summary)
        best = summary["trials"][summary["best_trial"]]
        words = " ".join("".join(page.words).split())
        self.assertIn(f"{summary['metric']} {best['best'][summary['metric']]:.4g}", words)
        self.assertIn(f"(trial {best['id']})", words)
        rows = self.table(text, "leaderboard")
        self.assertEqual(sorted(int(row[1]) for row in rows), list(range(6)))
        self.assertEqual([row[0] for row in rows], [str(rank) for rank in range(1, 7)])
        values = [summary["trials"][int(row[1])]["best"]["val_accuracy"] for row in rows]
        self.assertEqual(values, sorted(values, reverse=True))
        table = list(csv.DictReader((self.cwd / "out/trials.csv").read_text().splitlines()))
        # A trainer measures one unit a millisecond: every unit of a trial may be too short for that.
        measured = [row for row in rows if summary["trials"][int(row[1])]["cpu_use"] is not None]
        self.assertTrue(measured)
        use = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', text.split('id="leaderboard"')[1]).index("CPU use")
        for row in measured:
            trial = summary["trials"][int(row[1])]
            self.assertTrue(0 < trial["cpu_use"] < 1.01, trial["cpu_use"])  # the clocks' resolution in units of 0.1 ms
            self.assertAlmostEqual(trial["cpu_s"], trial["cpu_use"] * trial["train_s"])
            self.assertEqual(row[use], f"{100 * trial['cpu_use']:.0f} %")
            self.assertEqual(float(table[trial["id"]]["cpu_s"]), trial["cpu_s"])
        for value in (best["state_hash"], str(summary["makespan_s"])[:3]):
            self.assertTrue(value in text)

    def drawn_as_trained(self, run, summary):
        self.assertEqual((run["pareto"], run["lengths"], run["clones"]), (None, None, []))
        self.assertEqual(sorted(key["name"] for key in run["keys"]), ["hidden", "lr"])
        self.assertEqual(run["keys"][1]["categories"], ["[8]", "[16]"])
        self.assertEqual((len(run["importance"]), run["importanceFrom"]), (2, 6))
        self.assertEqual([run["best"][0], run["trials"][0]["id"]], [summary["best_trial"]] * 2)
        for trial in run["trials"]:
            stored = summary["trials"][trial["id"]]
            self.assertEqual(
                {path: value for path, value in trial["config"]},
                {
                    path: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
                    for path, value in stored["config"].items()
                },
            )
            self.assertAlmostEqual(trial["best"][0], stored["best"]["val_accuracy"], delta=5e-5)
        trained = [piece for piece in run["time"]["pieces"] if piece[0] == 0]
        self.assertEqual(len(trained), sum(row["epochs"] for row in summary["trials"]) * self.shards)

    def test_the_same_twice(self):
        self.train()
        first, second = self.report(), self.report()
        without_date = lambda text: re.sub(r"report on [^<]*", "", text)
        self.assertEqual(without_date(first), without_date(second))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--overwrite", "--trainers", "1")
        self.assertEqual(code, 0, out + err)  # report.html belongs to the run directory

    def test_repeats(self):
        self.train(search={"procedure": "grid", "repeats": 3}, space={"train.optimizer.lr": [0.1, 1e30]})
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED])
        group = self.summary()["groups"][0]
        self.assertTrue(f"standard deviation {group['spread']:.4g}" in text)
        rows = self.table(text, "leaderboard")
        self.assertEqual([row[:2] for row in rows], [["1", "0-2"], ["", "3-5"]])
        self.assertEqual(len(self.table(text, "failures")), 3)
        self.assertTrue("diverged" in text)

    def test_asha(self):
        search = {"procedure": "asha", "trials": 9, "eta": 2, "min_epochs": 1}
        self.train(
            search=search, space=SPACE, train={"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
        )
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED, "rungs"])
        decided = self.table(text, "rungs")
        self.assertEqual([row[0] for row in decided], ["1", "2", "4"])
        self.assertEqual(decided[0][1], "9")
        for row in decided:
            self.assertEqual(int(row[1]), sum(map(int, row[2:])), row)
        (run,) = drawn(text)
        self.assertEqual(run["lengths"], [trial["epochs"] for trial in self.summary()["trials"]])
        self.assertIn(1, run["lengths"])

    def test_pbt(self):
        search = {"procedure": "pbt", "population": 4, "interval": 1, "quantile": 0.5}
        train = {"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
        self.train(search=search, train=train, space={"train.optimizer.lr": SPACE["train.optimizer.lr"]})
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED])
        clones = [line for line in self.journal() if line["event"] == "lap_released" and "clone_of" in line]
        self.assertEqual(
            sorted(drawn(text)[0]["clones"]),
            sorted([line["trial"], line["epoch"], *line["clone_of"].values()] for line in clones),
        )

    def test_pareto(self):
        search = {"procedure": "random", "trials": 4, "pareto": ["val_accuracy", "parameters"]}
        self.train(search=search, space=SPACE)
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED])
        pareto = drawn(text)[0]["pareto"]
        self.assertEqual(pareto["names"], ["val_accuracy", "parameters"])
        self.assertEqual([trial for trial, _, _ in pareto["front"]], self.summary()["pareto"]["trials"])

    def test_several_runs(self):
        self.train("--set", "run.dir=a")
        self.train("--set", "run.dir=b", strategy={"name": "allreduce"})
        text = self.report("a", "b", "--out", "both.html", file="both.html")
        self.checked(text, ["comparison", "run0-leaderboard", "run1-leaderboard"])
        self.assertEqual([run["name"] for run in drawn(text)], ["a", "b"])
        self.assertEqual([row[1] for row in self.table(text, "comparison")], ["mop", "allreduce ring"])

    def test_names_are_text(self):
        self.train(name=EVIL, space={"model.hidden": [[8], [16]]})
        facts = json.loads((self.cwd / "out/experiment.json").read_text())
        facts["hosts"] = [EVIL for _ in facts["hosts"]]
        facts["files"] = {EVIL: "00000000000000ff"}
        (self.cwd / "out/experiment.json").write_text(json.dumps(facts))
        self.edit_journal(lambda line: {**line, "reason": EVIL} if "reason" in line else line)
        self.edit_journal(lambda line: {**line, "assignment": {EVIL: EVIL}} if "assignment" in line else line)
        text = self.report()
        page = self.checked(text, [*ALWAYS, *TRAINED])
        self.assertIn("onerror", "".join(page.words))
        shown = EVIL.replace("\x1b", "\ufffd")
        self.assertEqual(drawn(text)[0]["trials"][0]["config"], [[shown, shown]])
        self.assertNotIn("<img", text)
        self.assertNotIn("\x1b", text)

    def edit_journal(self, change):
        path = self.cwd / "out/journal.jsonl"
        lines = [json.dumps(change(json.loads(line))) for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")


class NotFinished(Report):
    """From the journal alone: a job that was interrupted, killed, or had no time for a lap."""

    def stopped(self, sign):
        self.write(
            experiment(
                train={"epochs": 10_000, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.1}},
                space={"train.optimizer.lr": [1e30, 0.03]},
            )
        )
        # One trainer, so that units have one order: the bad trial, whose laps come first, has ended before the 40th unit.
        # That unit begins once the signal has been sent.
        sent = self.cwd / "sent"
        hold = {
            "HOPSCOTCH_FAULT": "unit.begin:40:hold",
            "HOPSCOTCH_FAULT_HOLD_S": str(RUN_LIMIT_S),
            "HOPSCOTCH_FAULT_HOLD_UNTIL": str(sent),
        }
        process = self.start("run", "e.json", "--quiet", "--trainers", "1", env=hold)
        self.wait_for_event(process, "trial_ended")
        self.wait_for(lambda: any(lap["outcome"] == "finished" for lap in self.laps()), "a lap", process)
        process.send_signal(sign)
        sent.touch()
        self.end_of(process)

    def test_interrupted_with_a_failed_trial(self):
        self.stopped(signal.SIGTERM)
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED])
        self.assertTrue(">interrupted</span></h1>" in text)
        self.assertTrue("--resume" in text)
        self.assertEqual([row[1] for row in self.table(text, "failures")], ["diverged"])

    def test_killed(self):
        self.stopped(signal.SIGKILL)
        text = self.report()
        self.checked(text, [*ALWAYS, *TRAINED])
        self.assertTrue(">running</span></h1>" in text)
        (self.cwd / "out/units-1.bin").unlink()
        self.assertTrue("Incomplete: " in self.checked_again(["timeline", *ALWAYS]))

    def test_no_lap(self):
        self.train()
        path = self.cwd / "out/journal.jsonl"
        lines = [line for line in path.read_text().splitlines() if json.loads(line)["event"] == "lap_released"]
        path.write_text("\n".join(lines) + "\n")
        (self.cwd / "out/summary.json").unlink()
        text = self.report()
        page = self.checked(text, ALWAYS)
        self.assertNotIn("idle", page.ids)
        self.assertEqual((drawn(text)[0]["steps"], drawn(text)[0]["time"]), ([], None))
        self.assertTrue("No trial has a finite val_accuracy yet." in text)

    def test_no_run(self):
        code, out, err = self.run_hopscotch("report", "digits")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("digits: holds no run", err)


class Live(Report):
    """The job itself writes report.html: while it trains, when it is interrupted, and at its end."""

    PAGE, VIEW = "out/report.html", "out/live.json"

    def begin(self, every_s, *args):
        """Trials that sleep for longer than any test takes."""
        model = {"name": "synthetic", "parameters": 2000, "seconds_per_batch": 0.002}
        train = {"epochs": 10_000, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
        run = {"dir": "out", "device": "cpu", "report_every_s": every_s}
        self.write(experiment(model=model, train=train, run=run, search={"procedure": "grid", "metric": "val_loss"}))
        return self.start("run", "e.json", "--trainers", "2", *args)

    def page(self):
        path = self.cwd / self.PAGE
        return path.read_text() if path.exists() else ""

    def view(self):
        return json.loads((self.cwd / self.VIEW).read_text())

    def test_while_it_trains_and_when_it_is_interrupted(self):
        process = self.begin(0.05)
        self.wait_for(lambda: self.page() and drawn(self.page())[0]["steps"], "a page with a lap", process)
        text = self.page()
        self.checked(text, ALWAYS)
        self.assertRegex(text, r"The run is in training(: \d+ %, [^.]*)?\. Its job renews this page every ")
        self.assertRegex(text, r'<noscript><meta http-equiv="refresh" content="\d+"></noscript>')
        self.assertRegex(text, r'<body data-renewed-s="\d+">')
        self.wait_for(lambda: self.page() != text, "another page", process)
        self.wait_for(lambda: (self.cwd / self.VIEW).exists() and self.view()["leaders"], "a view with a trial", process)
        self.assertEqual(self.view()["status"], "training")
        process.send_signal(signal.SIGINT)
        out, err = self.end_of(process)
        self.ended_with(75, process, out + err)
        self.assertIn("report: out/report.html\n", out)
        self.interrupted()
        # A resumed run begins without the old page, which says that no one works on the run.
        process = self.begin(0, "--resume")
        self.wait_for(
            lambda: self.view()["status"] == "training" if (self.cwd / self.VIEW).exists() else False, "a view", process
        )
        self.assertEqual(self.page(), "")
        process.send_signal(signal.SIGINT)
        self.end_of(process)
        self.interrupted()

    def interrupted(self):
        text = self.page()
        self.checked(text, ALWAYS)
        self.assertIn(">interrupted</span></h1>", text)
        self.assertNotIn('http-equiv="refresh"', text)
        self.assertNotIn("<body data", text)
        self.assertEqual(self.view()["status"], "interrupted")

    def test_at_the_end(self):
        self.train()
        text = self.page()
        self.checked(text, [*ALWAYS, *TRAINED])
        self.assertIn(">finished</span></h1>", text)
        self.assertNotIn('http-equiv="refresh"', text)
        without_date = lambda page: re.sub(r"report on [^<]*", "", page)
        self.assertEqual(without_date(text), without_date(self.report()))
        self.assertEqual(self.view()["status"], "finished")
        self.assertEqual(self.view()["progress"]["done"], self.view()["progress"]["total"])

    def test_after_a_failure(self):
        self.write(experiment(space={"train.optimizer.lr": [1e30]}))
        code, _, _ = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2")
        self.assertEqual(code, 1)
        self.checked(self.page(), ALWAYS)
        self.assertIn(">failed</span></h1>", self.page())

    def test_a_full_disk_costs_the_page_and_not_the_run(self):
        self.write(experiment())
        for fault in (
            "report.append:1:enospc",
            "report.append:1:partial",
            "report.rename:1:eio",
            "live.append:1:enospc",
            "live.rename:1:throw",
        ):
            with self.subTest(fault=fault):
                code, out, err = self.run_hopscotch(
                    "run", "e.json", "--quiet", "--overwrite", "--trainers", "2", env={"HOPSCOTCH_FAULT": fault}
                )
                self.assertEqual(code, 0, out + err)
                self.assertEqual(self.summary()["status"], "finished")
                self.assertEqual(self.page() != "", fault.startswith("live"))
                self.assertEqual(list((self.cwd / "out").glob("*.tmp")), [])
                self.assertIn("live view is not renewed" if fault.startswith("live") else "no report is written: ", err)
                self.assertEqual("report: out/report.html" in out, fault.startswith("live"))

    def test_a_full_disk_costs_no_line_of_what_follows_from_the_journal(self):
        """Each is tried again, at the latest when the checkpoints have gone."""
        self.write(experiment())
        self.succeed("--quiet", "--trainers", "2")
        rows = {name: len((self.cwd / "out" / name).read_text().splitlines()) for name in ("metrics.jsonl", "trials.csv")}
        for fault, said in (
            ("trace.append:1:enospc", "trace.json is not complete: "),
            ("trace.append:2:partial", "trace.json is not complete: "),
            ("metrics.append:2:enospc,metrics.append:3:partial", "metrics.jsonl is not complete: "),
            ("metrics.append:4:eio", "metrics.jsonl is not complete: "),
            ("trials.append:1:enospc", "no table of the trials: "),
        ):
            with self.subTest(fault=fault):
                code, out, err = self.run_hopscotch(
                    "run", "e.json", "--quiet", "--overwrite", "--trainers", "2", env={"HOPSCOTCH_FAULT": fault}
                )
                self.assertEqual((code, err.count(said)), (0, 1), out + err)
                self.assertEqual(self.summary()["status"], "finished")
                self.assertTrue(json.loads((self.cwd / "out/trace.json").read_text()))
                found = {name: len((self.cwd / "out" / name).read_text().splitlines()) for name in rows}
                self.assertEqual(found, rows)

    def test_a_full_disk_while_the_run_pauses(self):
        """The early summary is for a launcher that kills rank 0: without it the trials are saved all the same."""
        self.write(experiment())
        code, out, err = self.run_hopscotch(
            *("run", "e.json", "--quiet", "--trainers", "2"),
            env={"HOPSCOTCH_FAULT": "unit.begin:3:signal,summary.append:1:enospc"},
        )
        self.assertEqual((code, self.summary()["status"]), (75, "interrupted"), out + err)
        self.assertIn("checkpoint", [line["event"] for line in self.journal()])

    def test_after_a_kill_at_the_last_page(self):
        """The run has finished; --resume writes what the job did not come to write."""
        run = {"dir": "out", "device": "cpu", "report_every_s": 0}
        for fault in ("report.append:1:tear", "report.rename:1:kill"):
            with self.subTest(fault=fault):
                self.write(experiment(run=run))
                code, out, err = self.run_hopscotch(
                    "run", "e.json", "--quiet", "--overwrite", "--trainers", "2", env={"HOPSCOTCH_FAULT": fault}
                )
                self.assertEqual((code, self.summary()["status"]), (-9, "finished"), out + err)
                self.assertNotEqual(list((self.cwd / "out").glob("*.tmp")), [])
                for _ in range(2):
                    self.assertEqual(self.run_hopscotch("run", "e.json", "--resume", "--trainers", "2")[0], 0)
                self.assertEqual(list((self.cwd / "out").glob("*.tmp")), [])
                self.checked(self.page(), [*ALWAYS, *TRAINED])
                self.assertIn(">finished</span></h1>", self.page())


if __name__ == "__main__":
    unittest.main()
