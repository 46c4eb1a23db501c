# SPDX-License-Identifier: Apache-2.0
"""Runs that get more trials with --resume --set search.trials: as if all trials had been there from the start."""

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
        return err

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
        self.write(few("rungs", procedure="asha", max_epochs=2))
        self.succeed("--quiet", "--trainers", "2")
        self.refuse(
            head.replace("out:", "rungs:", 1) + "  search.trials: was 3, is 4 (what asha decides depends on the number of "
            "trials; only random, sobol, tpe can get more)",
            *("run", "e.json", "--resume", "--set", "search.trials=4"),
        )


if __name__ == "__main__":
    unittest.main()
