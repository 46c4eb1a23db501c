# SPDX-License-Identifier: Apache-2.0
"""Searches that begin with the results of an earlier run, and searches that results end early."""

import json
import re
import shutil
import unittest

from harness import LONG, experiment
from search_test import Case, searching
from stored import machine

SPACE = {
    "train.optimizer.lr": {"type": "float", "low": 0.0003, "high": 0.3, "log": True},
    "model.hidden": [[16], [32], [48]],
}
FINITE = {"train.optimizer.lr": [0.01, 0.03, 0.1], "model.hidden": [[16], [32]]}
RANDOM = {"procedure": "random", "trials": 12}


def seconds(text):
    """Of "1h41m", "50m35s" or "12s"."""
    return sum(
        int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"(\d+)([dhms])", text)
    )


class Budgets(Case):
    def test_target_ends_a_search_alike_on_any_trainers(self):
        for number, search in enumerate(
            ({**RANDOM, "trials": 30}, {"procedure": "asha", "trials": 30}, {"procedure": "pbt", "population": 6})
        ):
            with self.subTest(search=search):
                search = {**search, "in_flight": 4, "budget": {"target": 0.9}}
                expected = self.run_once(search, f"one{number}", "--trainers", "1")
                for ranks in (False, True) if LONG else (number == 0,):
                    self.assertEqual(self.run_elsewhere(search, f"other{number}{ranks}", ranks), expected)
                summary = self.summary(f"one{number}")
                reasons = [trial["reason"] for trial in summary["trials"] if trial["status"] == "stopped"]
                reached = [reason for reason in reasons if reason.startswith("budget.target: trial ")]
                self.assertGreater(len(reached), 0, reasons)
                self.assertGreaterEqual(max(trial["best"]["val_accuracy"] for trial in summary["trials"]), 0.9)
                self.assertTrue(any(trial["epochs"] < 9 for trial in summary["trials"]))
                if search["procedure"] != "pbt":
                    self.assertLess(len(summary["trials"]), 30)

    def test_patience_ends_a_grid(self):
        search = {"procedure": "grid", "budget": {"patience": 2}}
        space = {"train.optimizer.lr": [0.1, 1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 7e-6, 8e-6], "model.hidden": [[16]]}

        def run(folder, *args):
            document = searching({**search, "in_flight": 2}, folder)
            document["space"], document["train"]["epochs"] = space, 3
            self.write(document)
            self.succeed("--quiet", *args)
            return self.everything(folder)

        expected = run("one", "--trainers", "1")
        self.assertEqual(run("three", "--trainers", "3"), expected)
        trials = self.summary("one")["trials"]
        self.assertLess(len(trials), 9)
        told = {decision[5] for decision in expected[1] if decision[0] in ("finish", "stop")}
        self.assertIn("budget.patience: 2 trials in a row without a better val_accuracy", told)

    def test_killed_and_resumed(self):
        search = {**RANDOM, "trials": 30, "budget": {"target": 0.9, "patience": 20}}
        expected = self.run_once(search, "quiet", "--trainers", "2")
        self.write(searching(search))
        self.killed_at_lap(7)
        self.resumed("2")
        self.assertEqual(self.everything("out"), expected)
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_a_target_out_of_reach(self):
        self.write(json.dumps(experiment(search={"procedure": "grid", "budget": {"target": 90}})))
        code, _, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertRegex(
            err, r"e.json:1:\d+: /search/budget/target: cannot be reached \(got 90; val_accuracy is at most 1\)"
        )


class WarmStart(Case):
    def configs(self, folder):
        return [json.dumps(trial["config"], sort_keys=True) for trial in self.summary(folder)["trials"]]

    def documented(self, search, folder, space):
        document = searching(search, folder)
        document["space"], document["train"]["epochs"] = space, 3
        self.write(document)

    def ran(self, search, folder, space, *args):
        self.documented(search, folder, space)
        self.succeed("--quiet", *args)
        return self.everything(folder)

    def test_tpe_goes_on_where_random_ended(self):
        self.ran(RANDOM, "first", SPACE, "--trainers", "2")
        search = {"procedure": "tpe", "trials": 6}
        cold = self.ran(search, "cold", SPACE, "--trainers", "2")
        warm = self.ran({**search, "start_from": "first"}, "warm", SPACE, "--trainers", "2")
        self.assertEqual(len(json.loads((self.cwd / "warm/start_from.json").read_text())), 12)
        self.assertNotEqual(warm, cold)
        # Of the same seed random draws would be those of the first run again.
        self.assertEqual(self.configs("cold"), self.configs("first")[:6])
        self.assertFalse(set(self.configs("warm")) & set(self.configs("first")))
        self.assertEqual(self.ran({**search, "start_from": "first"}, "three", SPACE, "--trainers", "3"), warm)
        # The old directory may go.
        self.documented({**search, "start_from": "first"}, "out", SPACE)
        self.killed_at_lap(3)
        shutil.rmtree(self.cwd / "first")
        self.resumed("2")
        self.assertEqual(self.everything("out"), warm)

    def test_a_finite_space_is_tried_once(self):
        self.ran({"procedure": "random", "trials": 4}, "first", FINITE, "--trainers", "2")
        self.documented({"procedure": "grid", "start_from": "first"}, "rest", FINITE)
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("(2 trials by grid", out)
        self.assertIn("note         search.start_from: 4 trials of first are known to the search\n", out)
        self.succeed("--quiet", "--trainers", "2")
        self.assertEqual(len(set(self.configs("first") + self.configs("rest"))), 6)
        self.documented({"procedure": "grid", "start_from": "rest"}, "all", {**FINITE, "train.optimizer.lr": [0.01, 0.03]})
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"search.start_from: \d trials? of rest (is|are) known to the search")
        self.ran({"procedure": "grid"}, "everything", FINITE, "--trainers", "2")
        self.documented({"procedure": "tpe", "trials": 3, "start_from": "everything"}, "none", FINITE)
        code, out, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2)
        self.assertIn(
            "/search/start_from: everything has tried every configuration of the space (nothing is left to train); widen "
            "the space",
            err,
        )
        self.assertFalse((self.cwd / "none").exists())

    def test_hours_of_a_plan(self):
        # 12 units of 4 batches that sleep: no epoch takes less than 0.24 s of a trainer.
        document = experiment(
            model={"name": "synthetic", "seconds_per_batch": 0.005, "parameters": 1000},
            train={"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
            search={"procedure": "random", "trials": 2},
            space={"train.optimizer.lr": {"type": "float", "low": 0.1, "high": 1}},
        )
        self.write(document)
        code, unknown, err = self.run_hopscotch("run", "e.json", "--dry-run", "--trainers", "2")
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("time  ", unknown)
        self.succeed("--quiet", "--trainers", "2")
        epochs_s = 8 * 1000 * sum(trial["train_s"] for trial in self.summary()["trials"]) / 2
        document["train"]["epochs"], document["run"]["dir"] = 1000, "new"
        for search in (
            {"procedure": "random", "trials": 8, "start_from": "out"},
            {"procedure": "asha", "trials": 8, "min_epochs": 1000, "start_from": "out"},
        ):
            document["search"] = search
            self.write(document)
            code, out, err = self.run_hopscotch("run", "e.json", "--dry-run", "--trainers", "2")
            self.assertEqual((code, err), (0, ""), out)
            told = re.search(
                r"^time         about (\S+) on 2 trainers, (\S+) of one trainer's work \(at the speed of out\)$",
                out,
                re.MULTILINE,
            )
            self.assertTrue(told, out)
            makespan_s, work_s = seconds(told[1]), seconds(told[2])
            self.assertTrue(0.9 * epochs_s < work_s < 1.1 * epochs_s, (out, epochs_s))  # as the run itself measured
            self.assertGreaterEqual(work_s, 8 * 1000 * 0.24)
            self.assertTrue(work_s / 2 - 60 <= makespan_s < work_s, out)

    @unittest.skipUnless("avx2" in machine(), "a CPU with AVX2")
    def test_no_hours_from_a_run_by_another_step(self):
        train = {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
        random = {"procedure": "random", "trials": 2}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.1, "high": 1}}
        self.write(experiment(train={**train, "engine": "torch"}, search=random, space=space))
        self.succeed("--quiet", "--trainers", "2")
        document = experiment(search={**random, "start_from": "out"}, space=space, run={"dir": "new", "device": "cpu"})
        for engine, hours in (("torch", True), ("lean", False)):
            self.write({**document, "train": {**train, "engine": engine}})
            out, _ = self.succeed("--dry-run", "--trainers", "2")
            self.assertEqual("at the speed of out" in out, hours, out)

    def test_an_interrupted_run_will_do(self):
        document = searching(RANDOM, "first")
        document["train"]["epochs"] = 100
        self.write(document)
        self.killed_at_lap(5, "2")
        self.ran({"procedure": "bohb", "startup": 2, "start_from": "first"}, "out", SPACE, "--trainers", "2")
        past = json.loads((self.cwd / "out/start_from.json").read_text())
        self.assertGreater(len(past), 0)
        self.assertTrue(any(not each["ended"] for each in past))

    def test_what_is_no_run(self):
        for search, told in (
            (
                {"start_from": "nowhere"},
                "nowhere is not a run directory (experiment.json or journal.jsonl is missing); give the run.dir of an "
                "earlier run",
            ),
            (
                {"start_from": "digits"},
                "digits is not a run directory (experiment.json or journal.jsonl is missing); give the run.dir of an "
                "earlier run",
            ),
        ):
            self.write(json.dumps(experiment(search={"procedure": "grid", **search})))
            code, out, err = self.run_hopscotch("run", "e.json")
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, r"^e\.json:1:\d+: /search/start_from: ")
            self.assertIn(told, err)
