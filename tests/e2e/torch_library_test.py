# SPDX-License-Identifier: Apache-2.0
"""LibTorch is loaded by trials that need it, and by nothing else: here is a program without its library."""

import os
import pathlib
import subprocess
import unittest

from harness import BINARY, MPIRUN, Case, experiment
from limits import RUN_LIMIT_S


class TorchLibrary(Case):
    def setUp(self):
        super().setUp()
        if "CPU build" not in self.run_hopscotch("--version")[1]:
            self.skipTest("a build for GPUs links LibTorch")
        programs = self.cwd / "programs"
        programs.mkdir()
        for name in ("hopscotch", "hopscotch-train"):
            os.link(pathlib.Path(BINARY).resolve().with_name(name), programs / name)
        self.program = programs / "hopscotch"

    def run_alone(self, *words):
        done = subprocess.run([self.program, *words], cwd=self.cwd, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def refused(self, *words):
        before = self.listing()
        code, out, err = self.run_alone(*words)
        self.assertEqual((code, self.listing()), (1, before), out + err)
        self.assertIn("LibTorch cannot be loaded (libhopscotch_torch.so: cannot open shared object file", out + err)

    def test_small_networks_need_none(self):
        for model in (
            {"name": "logistic"},
            {"name": "mlp", "hidden": [16], "batch_norm": True},
            {"name": "lenet"},
            {"name": "cnn", "channels": [4, 16]},
        ):
            self.write(experiment(model=model))
            for words in (
                ["run", "e.json", "--dry-run", "--overwrite"],
                ["run", "e.json", "--trainers", "2", "--overwrite"],
                ["replay", "out"],
                ["predict", "out", "digits", "--out", f"{model['name']}.csv"],
            ):
                code, out, err = self.run_alone(*words)
                self.assertEqual(code, 0, f"{words}: {out}{err}")

    def test_nor_do_other_strategies(self):
        for strategy in ("allreduce", "parameter_server", "model_averaging"):
            self.write(experiment(strategy={"name": strategy}))
            code, out, err = self.run_alone("run", "e.json", "--trainers", "2", "--overwrite")
            self.assertEqual(code, 0, f"{strategy}: {out}{err}")

    def test_others_are_refused_before_the_run(self):
        by_torch = {"epochs": 1, "batch_size": 32, "engine": "torch"}
        for changes in ({"model": {"name": "cnn", "channels": [4, 32]}}, {"train": by_torch}):
            self.write(experiment(**changes))
            self.refused("run", "e.json", "--trainers", "2")

    def test_a_trainer_without_it_ends_the_run_before_the_first_lap(self):
        self.write(experiment(train={"epochs": 1, "batch_size": 32, "engine": "torch"}))
        whole, bare = ["-np", "2", BINARY, "run", "e.json"], ["-np", "1", self.program, "run", "e.json"]
        done = subprocess.run(
            [*MPIRUN, *whole, ":", *bare], cwd=self.cwd, capture_output=True, text=True, timeout=RUN_LIMIT_S
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"(?m)^rank 2 \(\S+\): LibTorch cannot be loaded \(libhopscotch_torch.so: ")
        self.assertFalse((self.cwd / "out/units-1.bin").exists())

    def test_doctor_looks_for_it(self):
        code, out, err = self.run_alone("doctor", ".")
        self.assertEqual((code, err), (1, ""), out)
        self.assertIn("problem: ", out)
        self.assertIn("LibTorch cannot be loaded (libhopscotch_torch.so: ", out)


if __name__ == "__main__":
    unittest.main()
