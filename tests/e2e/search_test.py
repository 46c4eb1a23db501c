# SPDX-License-Identifier: Apache-2.0
"""Every search procedure through the binary: the same decisions and the same bits on any number of trainers, killed or
not."""

import json
import signal
import unittest
import unittest.mock

from harness import LONG, RECOVERY, and_long, every, experiment, long_only, owners, strict_json
from resume_test import Disturbed

SPACE = {
    "train.optimizer.lr": {"type": "float", "low": 0.0003, "high": 0.3, "log": True},
    "model.hidden": [[16], [32], [48]],
}
RULES = [
    {"procedure": "asha", "min_epochs": 1, "trials": 9},
    {"procedure": "asha", "min_epochs": 1, "variant": "stop", "trials": 9, "sampler": "sobol"},
    {"procedure": "hyperband"},
    {"procedure": "successive_halving", "trials": 9, "sampler": "tpe"},
    {"procedure": "bohb", "startup": 4},
    {"procedure": "median", "trials": 8, "min_trials": 3},
    {"procedure": "tpe", "trials": 8, "startup": 4},
]
PBT = {"procedure": "pbt", "population": 6, "interval": 2, "quantile": 0.34}
OTHERS = [
    {"procedure": "sobol", "trials": 4},
    {"procedure": "ablation"},
    {
        "procedure": "manual",
        "configurations": [{"train.optimizer.lr": 0.01}, {"train.optimizer.lr": 0.1, "model.hidden": [8]}],
    },
]
# Every procedure that no row names, as soon as the program knows it. The other suites run grid and random search.
COUNTED = owners("search", "trials", procedure="pbt")
NEW = [
    {**row, **({"trials": 6} if row["procedure"] in COUNTED else {})}
    for row in every("search", "procedure", [*RULES, PBT, *OTHERS], without=("grid", "random", "auto"))
    if row not in [*RULES, PBT, *OTHERS]
]


def searching(search, folder="out", **changes):
    space = {} if search["procedure"] == "manual" else {"space": dict(SPACE)}
    if search["procedure"] == "pbt":
        space = {
            "space": {
                "train.optimizer.lr": SPACE["train.optimizer.lr"],
                "model.dropout": {"type": "float", "low": 0.0, "high": 0.5},
            }
        }
    if search["procedure"] == "ablation":
        space = {"space": {"model.dropout": [0.2, 0.0], "model.hidden": [[32], [4]]}}
    document = experiment(
        model={"name": "mlp", "hidden": [32], "dropout": 0.1},
        train={"epochs": 9, "batch_size": 16, "optimizer": {"name": "adam", "lr": 0.01}},
        search={"metric": "val_accuracy", **search},
        run={"dir": folder, "device": "cpu", "checkpoint_every_s": 0.02},
        **space,
        **changes,
    )
    if not space:
        document.pop("space", None)
    return document


class Case(Disturbed):
    def decisions(self, folder):
        return [
            (line["kind"], line["trial"], line["epoch"], line["until_epoch"], line["virtual_time"], line["why"])
            for line in self.journal(folder)
            if line["event"] == "decision"
        ]

    def everything(self, folder):
        return self.outcome(folder), self.decisions(folder)

    def run_once(self, search, folder, *args, np=None, **changes):
        self.write(searching(search, folder, **changes))
        self.succeed("--quiet", *args, np=np)
        return self.everything(folder)

    known = {}  # of all suites of this process

    def wanted(self, search):
        """The decisions and bits of this search, whoever trains it."""
        key = json.dumps(search)
        if key not in self.known:
            self.known[key] = self.run_once(search, "quiet", "--overwrite", "--trainers", "2")
        return self.known[key]

    def run_elsewhere(self, search, folder, ranks):
        """On more trainers: as ranks under the launcher, or as threads."""
        return self.run_once(search, folder, np=4) if ranks else self.run_once(search, folder, "--trainers", "3")


class Searches(Case):
    def test_same_decisions_and_bits_on_any_trainers(self):
        for number, search in enumerate(RULES):
            with self.subTest(search=search):
                expected = self.run_once(search, f"one{number}", "--trainers", "1")
                ranks = LONG or number == 0
                self.assertEqual(self.run_elsewhere(search, f"other{number}", ranks), expected)
                self.assertGreater(len(expected[1]), 8)
                statuses = {trial[1] for trial in expected[0][2]}
                self.assertLessEqual(statuses, {"finished", "stopped"})
                if search["procedure"] != "tpe":
                    self.assertIn("stopped", statuses)
                self.assertGreater(self.summary(f"one{number}")["trials"][expected[0][1]]["best"]["val_accuracy"], 0.9)

    def test_killed_and_resumed(self):
        for number, search in enumerate(and_long(RULES[:1] + RULES[2:3], RULES[4:5])):
            with self.subTest(search=search):
                expected = self.wanted(search)
                self.write(searching(search, f"out{number}"))
                for laps in (3, 5, 5, 5) if LONG else (3, 10):
                    self.killed_at_lap(laps, "3", "--resume")
                self.resumed("2", f"out{number}")
                self.assertEqual(self.everything(f"out{number}"), expected)

    def test_a_run_that_began_before_first_decisions_were_late(self):
        """Such a run decided after the first epoch, and its files do not say so."""
        early, late = {"procedure": "asha", "trials": 9, "min_epochs": 1}, {"procedure": "asha", "trials": 9}
        expected = self.wanted(early)
        self.write(searching(early))
        self.killed_at_lap(6, "2")
        path = self.cwd / "out/experiment.json"
        facts = strict_json(path.read_text())
        self.assertEqual(facts["experiment"]["search"].pop("min_epochs"), 1)
        path.write_text(json.dumps(facts))
        self.write(searching(late))
        self.succeed("--quiet", "--resume", "--trainers", "3")
        self.assertEqual(self.everything("out"), expected)
        self.run_once(late, "new", "--trainers", "2")
        self.assertEqual(
            strict_json((self.cwd / "new/experiment.json").read_text())["experiment"]["search"]["min_epochs"], 2
        )

    def test_killed_without_any_checkpoint(self):
        # Everything is trained again, also trials that the search has done with before they have come that far.
        search = {**RULES[0], "trials": 27}
        expected = self.wanted(search)
        for laps in and_long([20], [9, 30]):
            document = searching(search, f"out{laps}")
            document["run"]["checkpoint_every_s"] = 1000
            self.write(document)
            self.killed_at_lap(laps)
            out, err = self.end_of(self.start("run", "e.json", "--quiet", "--resume", "--trainers", "3"), f"out{laps}")
            self.assertEqual(self.everything(f"out{laps}"), expected, out + err)

    def test_auto_keeps_its_choice(self):
        """With ten trials it would choose something else."""
        self.run_once({"procedure": "auto", "trials": 8}, "auto", "--trainers", "2")
        self.write(searching({"procedure": "auto", "trials": 10}, "auto"))
        code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--trainers", "3")
        self.assertEqual(code, 0, out + err)
        self.assertIn("procedure: sobol (chosen by auto: 8 trials are too few to learn from", err)
        known = strict_json((self.cwd / "auto/experiment.json").read_text())["experiment"]["search"]
        self.assertEqual(known["procedure"], "sobol")
        self.assertIn("8 trials", known["chosen_because"])
        self.assertEqual(len(self.summary("auto")["trials"]), 10)
        code, out, err = self.run_hopscotch("run", "e.json", "--overwrite", "--trainers", "2")
        self.assertIn("procedure: asha with gp (chosen by auto: of 10 trials of 9 epochs", err)

    def test_a_journal_of_other_decisions_is_refused(self):
        self.write(searching(RULES[0]))
        self.killed_at_lap(9, "2")
        path = self.cwd / "out/journal.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if '"kind":"pause"' in line or '"kind":"stop"' in line)
        lines[at] = lines[at].replace('"kind":"pause"', '"kind":"go_on"').replace('"kind":"stop"', '"kind":"go_on"')
        path.write_text("".join(lines))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", "2")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(
            err, r"the search decides differently from the journal \(trial \d+, epoch \d+: go_on in the journal; trial"
        )

    def test_other_strategies_decide_alike(self):
        mop = self.run_once(RULES[0], "mop", "--trainers", "2")
        for name in ("task_parallel", "sequential"):
            with self.subTest(strategy=name):
                self.assertEqual(self.run_once(RULES[0], name, "--trainers", "3", strategy={"name": name}), mop)
        self.run_once(RULES[0], "allreduce", "--trainers", "2", strategy={"name": "allreduce"})

    def test_population_based_training(self):
        expected = self.run_once(PBT, "one", "--trainers", "1")
        kinds = [decision[0] for decision in expected[1]]
        self.assertGreater(kinds.count("clone"), 3)
        self.assertEqual(self.run_elsewhere(PBT, "other", ranks=True), expected)
        self.assertEqual(self.run_once(PBT, "tasks", "--trainers", "3", strategy={"name": "task_parallel"}), expected)
        self.write(searching(PBT, "out"))
        for laps in (4, 7, 8, 8, 9, 9) if LONG else (11, 16):
            self.killed_at_lap(laps, str(laps % 3 + 1), "--resume")
        self.resumed("2")
        self.assertEqual(self.everything("out"), expected)
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_what_becomes_a_clone_after_a_resumption(self):
        """A trial that is ahead of the others when the job is killed; that it becomes another's clone is decided by the next
        job, which must not go on from the trial's own file."""

        def write(folder):
            search = {"procedure": "pbt", "metric": "val_loss", "population": 6, "interval": 1, "quantile": 0.34}
            document = searching(search, folder, strategy={"name": "task_parallel"})
            document["model"] = {"name": "logistic"}
            document["train"] = {"epochs": 8, "batch_size": 64, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9}}
            document["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.0001, "high": 1.0, "log": True}}
            self.write(document)

        write("quiet")
        self.succeed("--quiet", "--trainers", "2")
        expected = self.everything("quiet")
        for record in and_long([9, 24], [5, 13, 30]):
            with self.subTest(record=record):
                folder = f"out{record}"
                write(folder)
                code, _, _ = self.run_hopscotch(
                    "run", "e.json", "--quiet", "--trainers", "1", env={"HOPSCOTCH_FAULT": f"lap.record:{record}:kill"}
                )
                self.assertEqual(code, -signal.SIGKILL)
                self.resumed("2", folder)
                self.assertEqual(self.everything(folder), expected)

    def test_only_some_checkpoints_of_each_trial_are_left(self):
        # Best states are lost, so trials go back to an old file, or begin with another's state again, although they have
        # newer files.
        keep = ("--set", "run.keep_best=trial")
        self.write(searching(PBT, "quiet"))
        self.succeed("--quiet", "--trainers", "2", *keep)
        expected = self.everything("quiet")
        for number, (laps, left) in enumerate(and_long([(30, 1), (38, 3)], [(38, 1), (30, 3)])):
            with self.subTest(laps=laps, left=left):
                folder = f"out{number}"
                self.write(searching(PBT, folder))
                self.killed_at_lap(laps, "2", *keep)
                files = {}
                for path in sorted((self.cwd / folder / "checkpoints").glob("trial-*.ckpt")):
                    files.setdefault(path.name[:11], []).append(path)
                for paths in files.values():
                    for path in paths[1:-2] if left == 3 else paths[:-1]:
                        path.unlink()
                code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", "1", *keep)
                self.assertEqual(code, 0, err + out)
                self.assertEqual(self.everything(folder), expected)

    def test_states_in_parts_cannot_be_taken_over(self):
        for name in ("parameter_server", "model_averaging"):
            self.write(searching(PBT, strategy={"name": name}))
            code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
            self.assertEqual(code, 2)
            self.assertIn(f"pbt lets trials take over each other's states ({name} keeps them in parts", err)

    def test_by_arrival(self):
        # Whatever it decides, a killed run decides it again from its journal.
        for number, search in enumerate((RULES[0], PBT)):
            folder = f"out{number}"
            self.write(searching({**search, "deterministic": False}, folder))
            for laps in (4, 6) if LONG else (8,):
                self.killed_at_lap(laps, "3", "--resume")
            self.resumed("2", folder)
            code, out, err = self.run_hopscotch("replay", folder)
            self.assertEqual((code, err), (0, ""), out)

    def test_those_that_decide_nothing(self):
        for number, search in enumerate([*OTHERS, *NEW]):
            with self.subTest(search=search):
                expected = self.run_once(search, f"one{number}", "--trainers", "1")
                self.assertEqual(self.run_elsewhere(search, f"other{number}", ranks=LONG), expected)

    @long_only  # statistics that depend on the rounding of the CPU
    def test_asha_finds_what_the_grid_finds_for_less(self):
        # On average: the best of 16 trials differs by a row or two of validation from seed to seed.
        def searched(procedure, seed):
            document = experiment(
                seed=seed,
                model={"name": "mlp", "hidden": [64]},
                train={"epochs": 9, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9}},
                search={"metric": "val_accuracy", **procedure},
                run={"dir": procedure["procedure"], "device": "cpu"},
                space={"train.optimizer.lr": [0.01, 0.03, 0.1, 0.3], "model.hidden": [[16], [32], [64], [128]]},
            )
            self.write(document)
            self.succeed("--quiet", "--overwrite", "--trainers", "2")
            trials = self.summary(procedure["procedure"])["trials"]
            return sum(trial["epochs"] for trial in trials), max(trial["best"]["val_accuracy"] for trial in trials)

        lost = []
        for seed in range(1, 7):
            all_epochs, best = searched({"procedure": "grid"}, seed)
            epochs, found = searched({"procedure": "asha", "sampler": "grid"}, seed)
            self.assertLessEqual(epochs, 0.4 * all_epochs)
            lost.append(best - found)
        self.assertLessEqual(sum(lost) / len(lost), 0.01, lost)

    def test_dry_run_tells_what_it_will_cost(self):
        self.write(searching(RULES[2]))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"(?s)search .*bracket.*trials.*epochs")

    def test_diverging_trials_block_nobody(self):
        search = {"procedure": "asha", "trials": 9}
        document = searching(search)
        document["space"]["train.optimizer.lr"] = [0.01, 0.03, 1e30]
        document["train"]["optimizer"] = {"name": "sgd", "lr": 0.1}
        self.write(document)
        self.succeed("--quiet", "--trainers", "2")
        statuses = [trial["status"] for trial in self.summary()["trials"]]
        self.assertIn("diverged", statuses)
        self.assertIn("finished", statuses)


class LostTrainers(Case):
    launcher_options = RECOVERY

    def test_decisions_outlive_a_trainer(self):
        for number, search in enumerate((RULES[0], PBT)):
            with self.subTest(search=search):
                search = {**search, "trials": 27} if number == 0 else {**search, "population": 12}
                expected = self.wanted(search)
                document = searching(search, f"out{number}")
                self.write(document)
                fault = {"HOPSCOTCH_FAULT": "unit.begin:9:kill:2"}
                process = self.start("run", "e.json", "--quiet", np=4, env=fault)
                out, err = self.end_of(process, f"out{number}")
                self.assertEqual(process.returncode, 0, out + err)
                self.assertEqual(len(self.summary(f"out{number}")["lost"]), 1)
                self.assertEqual(self.everything(f"out{number}"), expected)


if __name__ == "__main__":
    unittest.main()
