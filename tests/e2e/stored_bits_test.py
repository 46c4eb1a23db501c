# SPDX-License-Identifier: Apache-2.0
"""Experiments whose outcome is stored, as digests: the same bits and decisions as ever. The experiments are hand-written
(stored_bits/experiments.json). `stored_bits_test.py --make` stores what this binary makes of them, beside the digests of
other kinds of machines (stored_bits/digests.json). On a kind of which none are stored, two runs
of this binary must have the same digests: with one trainer and with two, where the strategy promises that. Under its own
name an experiment visits the shards in order, as all did in version 0.1.0, and trains by LibTorch. Where the strategy lets
it choose, it runs with balanced visits, too. Small networks train by the lean step, too, whose digests are one set for all
CPUs with AVX2."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from harness import BINARY, SOURCE, owners
from limits import RUN_LIMIT_S
from random_experiments import datasets
from random_outcome import outcome, without_later_keys
from stored import machine

FOLDER = SOURCE / "tests/e2e/stored_bits"
EXPERIMENTS = json.loads((FOLDER / "experiments.json").read_text())
DIGESTS = json.loads((FOLDER / "digests.json").read_text()) if (FOLDER / "digests.json").exists() else {}
BASE = {"name": "stored", "seed": 7, "data": {"path": "../data/digits4"}, "run": {"dir": "out", "device": "cpu"}}
ON_ANY_TRAINERS = ("mop", "task_parallel", "sequential")  # the same bits
BALANCED = ", balanced visits"
LEAN = ", lean step"
LEAN_CPUS = "every x86-64 CPU with AVX2"
COMMAND = [BINARY, "run", "e.json", "--quiet", "--overwrite", "--trainers"]


def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def without_bf16(changes):
    """LibTorch trains bf16, whatever the engine, and its bits depend on the CPU."""
    space = {path: values for path, values in changes.get("space", {}).items() if "bf16" not in values}
    return {**changes, **({"space": space} if "space" in changes else {})}


def ways():
    """The experiments, each way round the shards that it can choose."""
    out, choosers = {}, owners("strategy", "visits", name="allreduce")
    for name, changes in EXPERIMENTS.items():
        strategy = changes.get("strategy", {"name": "mop"})
        chooses = strategy["name"] in choosers
        train = changes.get("train", {})
        if changes["model"]["name"] in ("mlp", "logistic", "cnn") and train.get("precision") != "bf16":
            out[name + LEAN] = {**without_bf16(changes), "train": {**train, "engine": "lean"}}
        changes = {**changes, "train": {**train, "engine": "torch"}}
        out[name] = {**changes, "strategy": {**strategy, "visits": "in_order"}} if chooses else changes
        if chooses:
            out[name + BALANCED] = changes
    return out


WAYS = ways()
BY_LEAN = [name for name in WAYS if name.endswith(LEAN)]
BY_TORCH = [name for name in WAYS if not name.endswith(LEAN)]


class StoredBits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hopscotch-bits-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        datasets(cls.place / "data")
        (cls.place / "work").mkdir()

    def digests_of(self, name, trainers=2):
        """Part by part, so that a difference says where it is."""
        work = self.place / "work"
        (work / "e.json").write_text(json.dumps({**BASE, **WAYS[name]}))
        done = subprocess.run([*COMMAND, str(trainers)], cwd=work, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = without_later_keys(outcome(work / "out"))
        for about in parts["best/"].values():
            if isinstance(about, dict):
                about.pop("test", None)  # of the summary, too; digests are older than this copy
        return {part: digest(value) for part, value in parts.items()}

    def digests_of_datasets(self):
        """Without what tells about the same rows: the account of the import, and where they come from."""

        def rows_of(text):
            return re.sub(r'^  "(decisions|source_rows|\w+_counts)": .*\n', "", text, flags=re.MULTILINE)

        return {
            path.parent.name: digest(rows_of(path.read_text())) for path in sorted(self.place.glob("data/*/dataset.json"))
        }

    def expected(self, name):
        if name.endswith(LEAN):
            return DIGESTS[LEAN_CPUS][name]
        if machine() in DIGESTS:
            return DIGESTS[machine()][name]
        strategy = WAYS[name].get("strategy", {"name": "mop"})["name"]
        return self.digests_of(name, trainers=1 if strategy in ON_ANY_TRAINERS else 2)

    def test_same_bits(self):
        self.assertEqual(self.digests_of_datasets(), DIGESTS.get(machine(), next(iter(DIGESTS.values())))["datasets"])
        self.check(BY_TORCH, {*DIGESTS.get(machine(), BY_TORCH)} - {"datasets"})

    @unittest.skipUnless("avx2" in machine(), "a CPU with AVX2")
    def test_same_bits_of_the_lean_step(self):
        self.check(BY_LEAN, DIGESTS[LEAN_CPUS])

    def check(self, names, stored):
        self.assertEqual(set(names), set(stored), "--make stores them")
        for name in names:
            with self.subTest(name):
                self.assertEqual(self.digests_of(name), self.expected(name))


def make():
    StoredBits.setUpClass()
    case = StoredBits()
    DIGESTS[machine()] = {"datasets": case.digests_of_datasets(), **{name: case.digests_of(name) for name in BY_TORCH}}
    DIGESTS[LEAN_CPUS] = {name: case.digests_of(name) for name in BY_LEAN}
    (FOLDER / "digests.json").write_text(json.dumps(DIGESTS, indent=2) + "\n")
    StoredBits.doClassCleanups()


if __name__ == "__main__":
    make() if sys.argv[1:] == ["--make"] else unittest.main()
