# SPDX-License-Identifier: Apache-2.0
"""A short version of scripts/chaos.sh --random: experiments that cover much or have failed once, and two populations that
were resumed with other bits. Nothing here depends on when a kill strikes: whatever it hits, the run must come out the same.
And one of scripts/chaos.sh --orders."""

import collections
import copy
import pathlib
import shutil
import tempfile
import unittest

from chaos_rounds import Kind, Place, one
from harness import and_long, long_only
from order_chaos import Orders
from random_chaos import Round
from random_experiments import datasets, experiment
from random_misfortunes import Job

# Two or three of each way in which experiments have failed: what a killed job had not removed, orders that vanished; and in
# the long suite replay of clones by all trainers, and clones that began with their own state, as in the populations below.
# The others that failed in these ways: 0/5, 1/140, 2/8, 2/10, 2/54, 2/80.
K_SEEDS = and_long(["0/7", "1/0"], ["2/25", "3/0", "1/126", "2/41", "2/31", "3/48"])
K_ORDERS = and_long(["b/12", "suite/160", "suite/378"], ["suite/195", "suite/479"])  # short ones that are struck in time
RATES = {"type": "float", "low": 0.001, "high": 3.0, "log": True}
# Found by a user: a trial's own lap and the clone that began at the same place were saved under one name.
CLONES = {
    "name": "a1",
    "seed": 42,
    "data": {
        "path": "../data/digits4",
        "augment": [
            {"name": "flip", "probability": 0.3},
            {"name": "crop", "padding": 4},
            {"name": "cutout", "size": 1, "probability": 0.5},
        ],
    },
    "model": {"name": "logistic"},
    "train": {
        "epochs": 12,
        "batch_size": 100,
        "optimizer": {"name": "sgd", "lr": 0.00102912, "momentum": 0.99},
        "schedule": {"name": "polynomial", "warmup_epochs": 1, "min_lr": 0.0001, "power": 0.5},
        "precision": "bf16",
        "accumulate": 7,
        "clip_norm": 1,
    },
    "search": {
        "procedure": "pbt",
        "sampler": "sobol",
        "metric": "val_loss",
        "population": 8,
        "interval": 1,
        "objective": "best",
    },
    "strategy": {"name": "task_parallel"},
    "run": {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.05},
    "space": {"train.optimizer.lr": RATES},
}
ONE_BY_ONE = {
    "name": "a1-sequential",
    "seed": 42,
    "data": {"path": "../data/digits4", "last_batch": "drop"},
    "model": {"name": "mlp", "hidden": [16]},
    "train": {"epochs": 12, "batch_size": 32, "optimizer": {"name": "rmsprop", "lr": 0.003}},
    "search": {"procedure": "pbt", "metric": "val_loss", "population": 8, "interval": 1, "quantile": 0.5},
    "strategy": {"name": "sequential"},
    "run": {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.05},
    "space": {
        "train.optimizer.lr": {"type": "float", "low": 0.0005, "high": 0.02, "log": True},
        "train.batch_size": [16, 32, 64],
    },
}
# Replayed by all trainers together, each lap with the values and from the state that it began with.
TOGETHER = {
    **ONE_BY_ONE,
    "name": "together",
    "strategy": {"name": "allreduce"},
    "train": {**ONE_BY_ONE["train"], "epochs": 4},
}


class RandomChaos(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="hopscotch-random-"))
        cls.counts = collections.Counter()
        datasets(cls.place / "data")

    @classmethod
    def tearDownClass(cls):
        if not cls.counts["failures"]:
            shutil.rmtree(cls.place)

    def same(self, name, *given, kind=Kind("random", Round)):
        with self.subTest(experiment=name):
            verdict, told = one(name, kind, Place(self.place, self.counts), *given)
            self.assertEqual(verdict, "same", told)

    def test_seeds(self):
        for seed in K_SEEDS:
            self.same(seed)

    def test_populations(self):
        # Here a signal is enough: the lap that begins as a clone is released after the resumption.
        self.same("1/48", experiment("1/48"), [Job(1, misfortune="SIGUSR1", when=0.5), Job(2)])
        plan = [Job(2 + 3 * (number % 2), misfortune="kill all", when=0.15) for number in range(5)] + [Job(2)]
        self.same("one-by-one", copy.deepcopy(ONE_BY_ONE), plan)

    @long_only
    def test_more_populations(self):
        self.same("clones", copy.deepcopy(CLONES), [Job(1, misfortune="SIGUSR1 and kill all", when=0.3, gap_s=0.1), Job(3)])
        self.same("together", copy.deepcopy(TOGETHER), [Job(2, misfortune="kill all", when=0.4), Job(2)])

    def test_acknowledged_orders(self):
        for seed in K_ORDERS:
            self.same(seed, kind=Kind("orders", Orders))


if __name__ == "__main__":
    unittest.main()
