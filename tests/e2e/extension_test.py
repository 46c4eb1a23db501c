# SPDX-License-Identifier: Apache-2.0
"""Runs that get more trials with --resume --set search.trials. Without a rule: as if all had been there from the start."""

import json
import signal
import unittest

from harness import strict_json
from resume_test import Disturbed, disturbed

TRAIN = {"epochs": 2, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
SPACE = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.5, "log": True}}


def few(folder="out", trials=3, **search):
    """The best of these is trial 2, also of six."""
    search = {"procedure": "random", "trials": trials, **search}
    document = disturbed(folder, train=TRAIN, space=SPACE, search=search, strategy={"name": "mop", "visits": "in_order"})
    document["run"]["checkpoint_every_s"] = 1000
    return document


class Extension(Disturbed):
    import_options = ("--test", "0.1")

    def extend(self, trials, *options, fault=None, expect=0):
        env = {"HOPSCOTCH_FAULT": fault} if fault else None
        args = ("run", "e.json", "--resume", "--set", f"search.trials={trials}", "--trainers", "2", *options)
        code, out, err = self.run_hopscotch(*args, env=env)
        self.assertEqual(code, expect, err + out)
        return err + out

    def whole(self, trials, **search):
        self.write(few("whole", trials, **search), "whole.json")
        code, out, err = self.run_hopscotch("run", "whole.json", "--quiet", "--overwrite", "--trainers", "1")
        self.assertEqual(code, 0, err + out)

    def expect_as_whole(self):
        self.assertEqual(self.outcome("out"), self.outcome("whole"))
        summary, whole = self.summary(), self.summary("whole")
        self.assertEqual((summary["test"], summary["units"]), (whole["test"], whole["units"]))

    def test_a_finished_run(self):
        self.write(few())
        self.succeed("--quiet", "--trainers", "2")
        best = self.cwd / "out/best/model.safetensors"
        before = best.stat().st_ino
        # Three trials, two laps each: a further lap would be one that is trained again.
        self.assertNotIn("a new run of", self.extend(6, fault="lap.record:7:kill"))
        self.whole(6)
        self.expect_as_whole()
        self.assertEqual((self.summary()["best_trial"], best.stat().st_ino), (2, before), "the best so far was kept")
        stored = strict_json((self.cwd / "out/experiment.json").read_text())
        self.assertEqual((stored["extended"], stored["experiment"]["search"]["trials"]), ([3], 6))
        self.assertIn(
            "nothing is left to do", self.run_hopscotch("run", "e.json", "--resume", "--set", "search.trials=6")[1]
        )
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_a_best_model_that_is_lost_is_trained_again(self):
        self.write(few())
        self.succeed("--quiet", "--trainers", "2")
        model, about = self.cwd / "out/best/model.safetensors", self.cwd / "out/best/model.json"
        expected = model.read_bytes()
        other = json.dumps({**strict_json(about.read_text()), "state_hash": "0123456789abcdef"})
        flipped = expected[:-1] + bytes([expected[-1] ^ 1])
        for damage in (model.unlink, lambda: about.write_text(other), lambda: model.write_bytes(flipped)):
            trials = len(self.summary()["trials"]) + 1
            damage()
            self.extend(trials, "--quiet")
            self.assertEqual(self.summary()["best_trial"], 2)
            self.assertEqual(model.read_bytes(), expected)
            self.assertNotEqual(about.read_text(), other)

    def test_a_search_that_learns_trains_no_old_trial_again(self):
        """It hears of the old laps again only when new trials have come as far, since all had been in flight at once."""
        self.write(few(procedure="tpe"))
        self.succeed("--quiet", "--trainers", "2")
        said = self.extend(6, fault="lap.record:7:kill")
        self.assertRegex(said, r"144 units, 144 hops in finished laps, \d\.\d MB of states moved by this job")
        self.whole(6, procedure="tpe")
        self.expect_as_whole()

    def test_killed_before_and_after(self):
        for search in ({}, {"procedure": "tpe", "startup": 2, "repeats": 2}):
            with self.subTest(search=search):
                self.write(few(**search))
                code, out, err = self.run_hopscotch(
                    *("run", "e.json", "--quiet", "--overwrite", "--trainers", "2"),
                    env={"HOPSCOTCH_FAULT": "lap.record:3:kill"},
                )
                self.assertEqual(code, -signal.SIGKILL, err + out)
                self.extend(5, "--quiet", fault="lap.record:5:kill", expect=-signal.SIGKILL)
                self.extend(6, "--quiet")
                self.whole(6, **search)
                self.assertEqual(self.outcome("out"), self.outcome("whole"))

    def test_what_cannot_be(self):
        self.write(few())
        self.succeed("--quiet", "--trainers", "2")
        head = (
            "out: cannot continue this run with a changed experiment (only the section run, data.stage and strategy.owners "
            "may change, and search.trials may grow); use another run.dir, or undo:\n"
        )
        self.refuse(
            head + "  train.epochs: was 2, is 3 (a trial that has ended keeps no state from which it could train on)\n"
            "  search.trials: was 3, is 2 (a run keeps its trials; resume it with --set search.trials=3)",
            *("run", "e.json", "--resume", "--set", "search.trials=2", "--set", "train.epochs=3"),
        )
        self.write(few("rungs", procedure="successive_halving", max_epochs=2))
        self.succeed("--quiet", "--trainers", "2")
        self.refuse(
            head.replace("out:", "rungs:", 1) + "  search.trials: was 3, is 4 (what successive_halving decides depends on "
            "the number of trials; random, sobol, tpe, gp, cma_es, nsga2, hyperband, bohb, asha, extrapolate, median can "
            "get more, and "
            "a new run can go on from this one with search.start_from)",
            *("run", "e.json", "--resume", "--set", "search.trials=4"),
        )

    def test_a_budget_lets_no_trial_begin(self):
        for folder, budget, why in (
            ("few", {"trials": 2}, "search.budget.trials lets no more than 2 begin"),
            ("spent", {"epochs": 3}, "the 3 epochs of search.budget.epochs are spent"),
        ):
            with self.subTest(budget=budget):
                self.write(few(folder, budget=budget))
                self.succeed("--quiet", "--trainers", "2")
                self.refuse(
                    f"{folder}: cannot continue this run with a changed experiment (only the section run, data.stage and "
                    "strategy.owners may change, and search.trials may grow); use another run.dir, or undo:\n"
                    f"  search.trials: was 3, is 6 ({why}; a new run can go on from this one with search.start_from)",
                    *("run", "e.json", "--resume", "--set", "search.trials=6"),
                )


class Rungs(Disturbed):
    """Runs with a rule: first the earlier trials to their end, then the new ones beside their results."""

    def document(self, folder, **search):
        document = few(folder, 9, eta=2, **search)
        document["train"] = {**TRAIN, "epochs": 4}
        return document

    def job(self, *args, fault=None):
        env = {"HOPSCOTCH_FAULT": fault} if fault else None
        code, out, err = self.run_hopscotch(*args, "--quiet", env=env)
        self.assertEqual(code, -signal.SIGKILL if fault else 0, err + out)

    def grow(self, folder, trials, trainers="2", fault=None):
        self.job("resume", folder, "--set", f"search.trials={trials}", "--trainers", trainers, fault=fault)

    def decisions(self, folder):
        keys = ("kind", "trial", "epoch", "until_epoch", "why")
        return [[line.get(key) for key in keys] for line in self.journal(folder) if line["event"] == "decision"]

    def undisturbed_growth(self, **search):
        """In the folder calm. Returns the outcome."""
        self.write(self.document("calm", **search), "calm.json")
        self.job("run", "calm.json", "--overwrite", "--trainers", "1")
        old, decided = self.results("calm")[2], self.decisions("calm")
        copies = search.get("repeats", 1)
        self.assertEqual(len(old), 9 * copies)
        self.grow("calm", 18, "1")
        self.assertEqual(self.decisions("calm")[: len(decided)], decided)
        status, _, trials, _ = self.results("calm")
        self.assertEqual((status, len(trials), trials[: len(old)]), ("finished", 18 * copies, old))
        return self.outcome("calm")

    def expect_replay(self, folder):
        code, out, err = self.run_hopscotch("replay", folder)
        self.assertEqual((code, err), (0, ""), out)

    def test_killed_in_every_stage(self):
        for search in ({"procedure": "asha"}, {"procedure": "hyperband"}, {"procedure": "asha", "repeats": 2}):
            with self.subTest(search=search):
                self.write(self.document("out", **search))
                self.job("run", "e.json", "--overwrite", "--trainers", "2", fault="lap.record:5:kill")
                expected = self.undisturbed_growth(**search)
                if "repeats" not in search:  # else it gets more before its first stage has ended
                    self.job("resume", "out", "--trainers", "3")
                self.grow("out", 18, "3", fault="lap.record:5:kill")
                self.job("resume", "out", "--trainers", "2")
                self.assertEqual(self.outcome("out"), expected)
                self.assertEqual(self.decisions("out"), self.decisions("calm"))
                self.expect_replay("out")

    def test_old_and_new_results_share_the_rungs(self):
        self.undisturbed_growth(procedure="asha", min_epochs=1)
        old = self.results("calm")[2]
        self.grow("calm", 20)
        self.assertEqual(self.results("calm")[2][:18], old)
        first = [each for each in self.decisions("calm") if each[2] == 0 and each[4] and each[4].startswith("rung 0")]
        self.assertEqual(len(first), 20)
        for place, (_, _, _, _, why) in enumerate(first, 1):
            self.assertRegex(why, rf"^rung 0 \(1 epoch\): rank \d+ of {place}, ")
        code, out, err = self.run_hopscotch("report", "calm")
        self.assertEqual(code, 0, err + out)
        page = (self.cwd / "calm/report.html").read_text()
        self.assertIn('<td class="n">1</td><td class="n">20</td>', page, "the table of rungs")
        stored = strict_json((self.cwd / "calm/experiment.json").read_text())
        self.assertEqual(stored["extended"], [9, 18])
        code, out, err = self.run_hopscotch("resume", "calm", "--dry-run", "--set", "search.trials=30", "--trainers", "2")
        self.assertEqual(code, 0, err + out)


if __name__ == "__main__":
    unittest.main()
