# SPDX-License-Identifier: Apache-2.0
"""search.race in real runs: the copies of a configuration are trained one by one, as long as it may be the best one."""

import json
import re
import shutil
import unittest

from search_test import Case, searching

REPEATS = {"procedure": "random", "trials": 7, "repeats": 4, "race": True, "metric": "val_loss"}
FOLDS = {"procedure": "asha", "trials": 9, "eta": 2, "min_epochs": 1, "folds": 3, "race": True, "metric": "val_loss"}


def copies_of(group):
    return len(group["trials"])


class Races(Case):
    def raced(self, search):
        expected = self.run_once(search, "quiet", "--overwrite", "--trainers", "2")
        summary = self.summary("quiet")
        groups = summary["groups"]
        copies = search.get("repeats", 1) * search.get("folds", 1)
        ranked = sorted((group for group in groups if group["mean"] is not None), key=lambda each: each["mean"])
        self.assertEqual(copies_of(ranked[0]), copies, "the best one has all its copies")
        self.assertLess(sum(map(copies_of, groups)), copies * len(groups), "some have not")
        self.assertIn(summary["best_trial"], ranked[0]["trials"])
        self.assertEqual(sorted(trial for group in groups for trial in group["trials"]), [*range(len(summary["trials"]))])
        return expected, summary, ranked

    def test_the_same_copies_on_any_trainers(self):
        for number, search in enumerate((REPEATS, FOLDS)):
            with self.subTest(search=search):
                expected, _, _ = self.raced(search)
                self.assertEqual(self.run_elsewhere(search, f"other{number}", ranks=number == 0), expected)

    def test_killed_and_resumed(self):
        for number, search in enumerate((REPEATS, FOLDS)):
            with self.subTest(search=search):
                expected, _, _ = self.raced(search)
                self.write(searching(search, f"out{number}"))
                for laps in (5, 12, 12):
                    self.killed_at_lap(laps, "3", "--resume")
                self.resumed("2", f"out{number}")
                self.assertEqual(self.everything(f"out{number}"), expected)

    def test_what_the_user_reads(self):
        _, summary, ranked = self.raced(REPEATS)
        first = ranked[0]["trials"]
        name = f"{first[0]}+3" if first != [*range(first[0], first[0] + 4)] else f"{first[0]}-{first[-1]}"
        code, out, err = self.run_hopscotch("report", "quiet", "--text")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, rf"(?m)^ *{name.replace('+', '[+]')} ")
        self.write(searching(REPEATS, "new"))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("7 configurations, once each, and up to 4 times while they may be the best: at most 28 trials", out)
        code, out, err = self.run_hopscotch("what-if", "quiet")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"all \d+ decisions are those of the run")
        code, out, err = self.run_hopscotch("what-if", "quiet", "--procedure", "median")
        self.assertEqual(code, 2, out + err)
        self.assertIn("only its own search can be played (search.race", err)
        code, out, err = self.run_hopscotch("replay", "quiet")
        self.assertEqual((code, err), (0, ""), out)
        code, out, err = self.run_hopscotch("predict", "quiet", "digits", "--ensemble", "2", "--out", "p.csv")
        self.assertEqual(code, 0, out + err)
        more = {**REPEATS, "trials": 9}
        self.write(searching(more, "quiet"))
        code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--trainers", "2")
        self.assertEqual(code, 2, out + err)
        self.assertIn("search.race has compared the configurations", err)
        self.write(searching({"procedure": "tpe", "trials": 4, "startup": 2, "start_from": "quiet"}, "after"))
        self.succeed("--quiet", "--trainers", "2")
        self.assertEqual(len(self.summary("after")["trials"]), 4)

    def test_what_a_killed_race_has_left(self):
        """The first further copies have begun, and none has ended: the first copies alone count."""
        _, summary, _ = self.raced(REPEATS)
        first_losses = {group["trials"][0]: group["values"][0] for group in summary["groups"]}
        best = min(first_losses, key=first_losses.get)
        shutil.copytree(self.cwd / "quiet", self.cwd / "half")
        lines = (self.cwd / "half/journal.jsonl").read_text().splitlines(keepends=True)
        racers = [
            number
            for number, line in enumerate(map(json.loads, lines))
            if line["event"] == "lap_done" and line["trial"] >= REPEATS["trials"]
        ]
        (self.cwd / "half/journal.jsonl").write_text("".join(lines[: racers[0] + 1]))
        (self.cwd / "half/summary.json").unlink()
        code, out, err = self.run_hopscotch("report", "half", "--text")
        self.assertEqual(code, 0, err)
        rows = re.findall(r"(?m)^ *(\d+)(?:[+-]\d+)? +[0-9.]+ +9 ", out)
        self.assertEqual([*map(int, rows)], sorted(first_losses, key=first_losses.get), out)
        search = {"procedure": "tpe", "trials": 1, "startup": 2, "start_from": "half", "start_with_best": 1}
        self.write(searching({**search, "metric": "val_loss"}, "after"))
        self.succeed("--quiet", "--trainers", "2")
        configuration = {key: value for key, value in summary["trials"][best]["config"].items() if key != "search.repeat"}
        self.assertEqual(self.summary("after")["trials"][0]["config"], configuration)

    def test_the_budget_of_epochs_ends_the_race(self):
        search = {**REPEATS, "budget": {"epochs": 80}}
        self.run_once(search, "paid", "--trainers", "2")
        trained = sum(trial["epochs"] for trial in self.summary("paid")["trials"])
        self.assertGreaterEqual(trained, 80)
        self.assertLess(trained, 80 + 9)

    def test_a_race_that_is_cut_off_has_the_best_one_first(self):
        """A further copy of one of the two can be paid."""
        search = {
            "procedure": "manual",
            "configurations": [{"train.optimizer.lr": 1e-6}, {"train.optimizer.lr": 0.01}],
            "repeats": 3,
            "race": True,
            "budget": {"epochs": 27},
        }
        self.run_once(search, "cut", "--trainers", "2")
        summary = self.summary("cut")
        self.assertEqual([group["trials"] for group in summary["groups"]], [[0], [1, 2]])
        self.assertIn(summary["best_trial"], (1, 2))
        code, out, err = self.run_hopscotch("report", "cut", "--text")
        self.assertRegex(out, r"(?m)^ *1-2 +0[.]9")


if __name__ == "__main__":
    unittest.main()
