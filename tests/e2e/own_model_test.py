# SPDX-License-Identifier: Apache-2.0
"""Networks of the user's own in the real binary: a plug-in and a TorchScript file, and the installed package that plug-ins
are built with."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import SHARDS, SOURCE, Case, experiment, strict_json

BUILD = pathlib.Path(os.environ["HOPSCOTCH_BUILD"])
CMAKE = os.environ["HOPSCOTCH_CMAKE"]
PLUGIN = {"name": "plugin", "file": "net.so", "channels": [4, 6], "dropout": 0.2}
SCRIPT = {"name": "torchscript", "file": "net.pt"}


class OwnModel(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(BUILD / "tests/plugins/plugin_model.so", self.cwd / "net.so")
        shutil.copy(SOURCE / "examples/torchscript_model.pt", self.cwd / "net.pt")

    def ran(self, model, folder, *args, np=None):
        self.write(experiment(model=model, run={"dir": folder, "device": "cpu"}))
        self.succeed("--quiet", *args, np=np)
        return {(lap["trial"], lap["epoch"], unit["shard"]): unit["state_hash"] for lap in self.laps(folder) for unit in lap["units"]}

    def tensors(self, folder):
        data = (self.cwd / folder / "best/model.safetensors").read_bytes()
        length, = struct.unpack_from("<Q", data)
        header = strict_json(data[8:8 + length])
        header.pop("__metadata__")
        return {name: (tensor["dtype"], tensor["shape"]) for name, tensor in header.items()}

    def replay(self, folder):
        self.assertEqual(self.run_hopscotch("replay", folder),
                         (0, f"{2 * 2 * SHARDS} units of 2 trials: every state hash equals the journal's\n", ""))

    def test_plugin(self):
        hashes = self.ran(PLUGIN, "mpi", np=3)
        self.assertEqual(len(hashes), 2 * 2 * SHARDS)
        self.assertGreater(self.summary("mpi")["hops"], 0)
        self.assertGreater(max(trial["best"]["val_accuracy"] for trial in self.summary("mpi")["trials"]), 0.8)
        self.assertEqual(self.ran(PLUGIN, "threads", "--trainers", "2"), hashes)
        self.assertEqual(self.ran(PLUGIN, "alone", "--trainers", "1"), hashes)
        self.replay("mpi")
        norm = {f"norm{i}.{name}": ("F32", [n]) for i, n in ((1, 4), (2, 6)) for name in ("weight", "bias", "running_mean", "running_var")}
        self.assertEqual(self.tensors("mpi"), {
            "conv1.weight": ("F32", [4, 1, 3, 3]), "conv2.weight": ("F32", [6, 4, 3, 3]), "head.weight": ("F32", [10, 24]),
            "head.bias": ("F32", [10]), "norm1.num_batches_tracked": ("I64", []), "norm2.num_batches_tracked": ("I64", []), **norm})

    def test_torchscript(self):
        hashes = self.ran(SCRIPT, "mpi", np=3)
        self.assertEqual(len(hashes), 2 * 2 * SHARDS)
        self.assertGreater(self.summary("mpi")["hops"], 0)
        self.assertGreater(max(trial["best"]["val_accuracy"] for trial in self.summary("mpi")["trials"]), 0.8)
        self.assertEqual(self.ran(SCRIPT, "alone", "--trainers", "1"), hashes)
        self.replay("mpi")
        self.assertEqual(self.tensors("mpi").keys(), {"conv.weight", "norm.weight", "norm.bias", "head.weight", "head.bias",
                                                      "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"})

    def test_trainers_that_would_share_torchs_generator(self):
        self.write(experiment(model=SCRIPT))
        code, _, err = self.run_hopscotch("run", "e.json", "--trainers", "2")
        self.assertEqual((code, err), (2, "net.pt: 2 trainers cannot share one process (the torchscript model draws from torch's own "
                                          "random generator, which the whole process shares) use --trainers 1, or a process for "
                                          "each: mpirun -np 3\n"))
        self.assertFalse((self.cwd / "out").exists())
        self.assertEqual(self.run_hopscotch("run", "e.json", "--trainers", "2", "--strategy", "sequential", "--quiet")[0], 0)

    def test_bad_input(self):
        before = self.listing()
        for model, complaint in (({**PLUGIN, "file": "nothing.so"}, "/model/file: nothing.so: no such file"),
                                 ({**PLUGIN, "dropuot": 0.1}, '/model/dropuot: unknown key (did you mean "dropout"?)'),
                                 ({**SCRIPT, "file": "net.so"}, "/model/file: net.so: is no TorchScript file, or damaged"),
                                 ({**PLUGIN, "file": "net.pt"}, "/model/file: net.pt: cannot be loaded")):
            with self.subTest(complaint):
                self.write(experiment(model=model))
                for np in (None, 3):
                    code, _, err = self.run_hopscotch("run", "e.json", np=np)
                    self.assertEqual(code, 2, err)
                    self.assertIn(complaint, err)
                    self.assertIn("e.json:1:", err)
                (self.cwd / "e.json").unlink()
        self.assertEqual(self.listing(), before)


class Package(unittest.TestCase):
    def test_an_installed_hopscotch_builds_the_example(self):
        with tempfile.TemporaryDirectory(prefix="hopscotch-package-") as folder:
            prefix, build = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
            for command in ([CMAKE, "--install", BUILD, "--prefix", prefix],
                            [CMAKE, "-S", SOURCE / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"],
                            [CMAKE, "--build", build]):
                done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            installed = subprocess.run([prefix / "bin/hopscotch", "--version"], capture_output=True, text=True)
            self.assertEqual(installed.returncode, 0, installed.stderr)
            imported = subprocess.run([prefix / "bin/hopscotch", "data", "import", "csv", SOURCE / "data/digits.csv", "--out", "digits",
                                       "--shards", "4", "--valid", "0.2", "--shape", "1x8x8", "--label", "label"],
                                      cwd=folder, capture_output=True, text=True)
            self.assertEqual(imported.returncode, 0, imported.stderr)
            model = {"name": "plugin", "file": "build/plugin_model.so", "dropout": 0.2}
            (pathlib.Path(folder) / "e.json").write_text(json.dumps(experiment(model=model)))
            ran = subprocess.run([prefix / "bin/hopscotch", "run", "e.json", "--trainers", "1"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main()
