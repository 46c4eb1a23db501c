# SPDX-License-Identifier: Apache-2.0
"""Run directories of earlier versions (stored_runs/VERSION/NAME, and beside each NAME.json: what came of it) are still read:
they replay, predict, resume. `stored_runs_test.py --make` stores those of this binary beside the others. Their dataset is
imported anew. Hashes are compared only on the kind of machine that made them; elsewhere predictions may differ by
rounding."""

import hashlib
import json
import re
import shutil
import sys
import unittest

from harness import LONG, SOURCE, Case, experiment, strict_json
from random_outcome import first_difference, outcome, without_later_keys
from stored import machine, version

STORED = SOURCE / "tests/e2e/stored_runs"
MODEL = {"name": "mlp", "hidden": [8], "dropout": 0.1}
LR = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.5, "log": True}}
SGD = {"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.5}}
OFTEN = {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.01}
# Of each the trainers, and the sections of the experiment.
RUNS = {
    "mop": (2, {"search": {"procedure": "random", "trials": 5}, "train": {**SGD, "early_stopping": {"patience": 1}}}),
    "allreduce": (3, {"search": {"procedure": "random", "trials": 2}, "strategy": {"name": "allreduce"}}),
    "async": (
        3,
        {
            "search": {"procedure": "random", "trials": 2},
            "strategy": {"name": "parameter_server", "mode": "async"},
            "train": {**SGD, "epochs": 2},
        },
    ),
    "pbt": (
        2,
        {"seed": 5, "search": {"procedure": "pbt", "population": 4, "quantile": 0.5}, "strategy": {"name": "task_parallel"}},
    ),
    "orders": (1, {"search": {"procedure": "random", "trials": 2, "budget": {"hours_per_trial": 1e-9}}}),
    "interrupted": (
        2,
        {
            "search": {"procedure": "asha", "trials": 6, "eta": 2},
            "train": {**SGD, "epochs": 6, "batch_size": 8},
            "run": OFTEN,
        },
    ),
}
KILLS = ((8, 2), (6, 3))  # the interrupted run: at the how manieth lap of a job, with how many trainers


class StoredRuns(Case):
    shards = 4

    def run_well(self, *args):
        code, out, err = self.run_hopscotch(*args)
        self.assertEqual(code, 0, err + out)
        return out

    def told(self):
        """What is told of the run, but how long ago it was."""
        finished = (self.cwd / "out/summary.json").exists()
        said = self.run_well(*(("compare", "out", "out") if finished else ("ctl", "out", "status")))
        return [line for line in said.splitlines() if not line.startswith("status")]

    def predicted(self):
        said = self.run_well("predict", "out", "digits", "--split", "valid", "--out", "p.csv")
        # The runs are older than the column that joins predictions to the source.
        rows = [line.split(",") for line in (self.cwd / "p.csv").read_text().splitlines()]
        self.assertEqual(rows[0][3], "source_row")
        without = "".join(",".join(row[:3] + row[4:]) + "\n" for row in rows)
        return said, hashlib.sha256(without.encode()).hexdigest()

    def check_predictions(self, known, same_machine):
        said, csv = self.predicted()
        numbers = [[float(each) for each in re.findall(r"\d+\.?\d*", text)] for text in (said, known["said"])]
        self.assertEqual(len(numbers[0]), len(numbers[1]), said)
        for now, was in zip(*numbers):
            self.assertAlmostEqual(now, was, delta=0.01)
        if same_machine:
            self.assertEqual((said, csv), (known["said"], known["predictions"]))

    def check_finished(self, known, same_machine):
        files = lambda: {path: path.read_bytes() for path in (self.cwd / "out").rglob("*") if path.is_file()}
        before = files()
        said = self.run_well("run", "e.json", "--resume", "--trainers", str(self.summary()["trainers"]))
        self.assertIn("this run has finished; nothing is left to do", said)
        self.check_predictions(known, same_machine)
        self.assertEqual([str(path) for path, content in files().items() if content != before.pop(path, None)], [])
        self.assertEqual(list(before), [])

    def check_interrupted(self, known, folder):
        for trainers in (1, 3) if LONG else (3,):
            with self.subTest(trainers=trainers):
                shutil.rmtree(self.cwd / "out")
                shutil.copytree(folder, self.cwd / "out")
                self.run_well("run", "e.json", "--quiet", "--resume", "--trainers", str(trainers))
                actual = without_later_keys(json.loads(json.dumps(outcome(self.cwd / "out"))))
                self.assertIsNone(first_difference(known["outcome"], actual))
        self.check_predictions(known, True)

    def check(self, folder):
        known = strict_json(folder.with_suffix(".json").read_text())
        same_machine = known["machine"] == machine()
        shutil.copytree(folder, self.cwd / "out")
        self.write(strict_json((folder / "experiment.json").read_text())["experiment"])
        told = self.told()
        self.assertEqual([line for line in known["told"] if line not in told], [])
        if same_machine:
            self.assertIn("every state hash equals the journal's", self.run_well("replay", "out"))
        if "outcome" not in known:
            self.check_finished(known, same_machine)
        elif same_machine:
            self.check_interrupted(known, folder)


def checks(folder):
    return lambda self: self.check(folder)


for _known in sorted(STORED.glob("*/*.json")):
    _name = re.sub(r"\W", "_", f"{_known.parent.name}_{_known.stem}")
    setattr(StoredRuns, f"test_{_name}", checks(_known.with_suffix("")))


def make():
    StoredRuns.setUpClass()
    folder = StoredRuns.imported.parent / "stored"
    case = StoredRuns()
    for name, (trainers, changes) in RUNS.items():
        case.setUp()
        case.write(experiment(**{"model": MODEL, "train": SGD, "space": LR, **changes}))
        case.succeed("--quiet", "--trainers", str(trainers))
        known = {"machine": machine(), **dict(zip(("said", "predictions"), case.predicted()))}
        out = case.cwd / "out"
        if name == "interrupted":
            known["outcome"] = outcome(out)
            shutil.rmtree(out)
            for lap, trainers in KILLS:
                kill = {"HOPSCOTCH_FAULT": f"lap.record:{lap}:kill"}
                case.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", str(trainers), env=kill)
            saved = {path.name[:11] for path in out.glob("checkpoints/*.ckpt")}  # trial-00002
            assert len(saved) > 3, f"killed too early or too late for {saved}; again"
        known["told"] = case.told()
        shutil.copytree(out, folder / name, ignore=shutil.ignore_patterns("trace.json", "*.tmp"))
        (folder / f"{name}.json").write_text(json.dumps(known) + "\n")
    shutil.copytree(folder, STORED / "-".join(version()[:2]))  # which must not be there yet
    case.doCleanups()
    StoredRuns.doClassCleanups()


if __name__ == "__main__":
    make() if sys.argv[1:] == ["--make"] else unittest.main()
