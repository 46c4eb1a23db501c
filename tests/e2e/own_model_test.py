# SPDX-License-Identifier: Apache-2.0
"""Networks of the user's own in the real binary: a plug-in and a TorchScript file, and the installed package that plug-ins
are built with."""

import csv
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

from harness import BINARY, LONG, MPIRUN, SHARDS, SOURCE, Case, experiment, strict_json
from limits import RUN_LIMIT_S

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
        return {
            (lap["trial"], lap["epoch"], unit["shard"]): unit["state_hash"]
            for lap in self.laps(folder)
            for unit in lap["units"]
        }

    def tensors(self, folder):
        data = (self.cwd / folder / "best/model.safetensors").read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        header = strict_json(data[8 : 8 + length])
        header.pop("__metadata__")
        return {name: (tensor["dtype"], tensor["shape"]) for name, tensor in header.items()}

    def replay(self, folder, file):
        said = f"{folder}: this command would execute the code in {file} "
        code, out, err = self.run_hopscotch("replay", folder)
        self.assertEqual((code, out, err.startswith(said)), (2, "", True), err)
        self.assertIn("if you trust it, add --allow-code", err)
        self.assertEqual(
            self.run_hopscotch("replay", folder, "--allow-code"),
            (0, f"{2 * 2 * SHARDS} units of 2 trials: every state hash equals the journal's\n", ""),
        )

    def test_plugin(self):
        hashes = self.ran(PLUGIN, "mpi", np=3)
        self.assertEqual(len(hashes), 2 * 2 * SHARDS)
        self.assertGreater(self.summary("mpi")["hops"], 0)
        self.assertGreater(max(trial["best"]["val_accuracy"] for trial in self.summary("mpi")["trials"]), 0.8)
        self.assertEqual(self.ran(PLUGIN, "threads", "--trainers", "2"), hashes)
        self.assertEqual(self.ran(PLUGIN, "alone", "--trainers", "1"), hashes)
        self.replay("mpi", "net.so")
        norm = {
            f"norm{i}.{name}": ("F32", [n])
            for i, n in ((1, 4), (2, 6))
            for name in ("weight", "bias", "running_mean", "running_var")
        }
        self.assertEqual(
            self.tensors("mpi"),
            {
                "conv1.weight": ("F32", [4, 1, 3, 3]),
                "conv2.weight": ("F32", [6, 4, 3, 3]),
                "head.weight": ("F32", [10, 24]),
                "head.bias": ("F32", [10]),
                "norm1.num_batches_tracked": ("I64", []),
                "norm2.num_batches_tracked": ("I64", []),
                **norm,
            },
        )

    def test_own_metrics(self):
        """A plug-in's metric decides the search; where it fails, its trial fails alone."""
        shutil.copy(BUILD / "tests/plugins/odd_model.so", self.cwd / "odd.so")
        faults = ["", "metric_throws", "metric_nan"]
        document = experiment(
            model={"name": "plugin", "file": "odd.so"},
            search={"procedure": "grid", "metric": "val_answer"},
            space={"model.odd": faults},
        )
        self.write(document)
        self.succeed("--quiet", "--trainers", "2")
        summary = self.summary()
        good, throws, nan = summary["trials"]
        self.assertEqual((summary["metric"], summary["mode"], summary["best_trial"]), ("val_answer", "min", 0))
        self.assertEqual([trial["status"] for trial in (good, throws, nan)], ["finished", "failed", "failed"])
        self.assertRegex(throws["reason"], r"^validation of epoch 0 .*odd\.so: val_answer: no such answer$")
        self.assertRegex(nan["reason"], r"^validation of epoch 0 .*val_answer is nan \(a metric must be a finite number\)")
        laps = [strict_json(line) for line in (self.cwd / "out/metrics.jsonl").read_text().splitlines()]
        values = {lap["val_answer"] for lap in laps if lap["trial"] == 0}
        self.assertEqual(values, {good["best"]["val_answer"]}, "the answers of the rows do not depend on the weights")
        self.assertTrue("val_answer" in (self.cwd / "out/trials.csv").read_text().splitlines()[0])
        self.assertTrue("val_answer" in (self.cwd / "out/report.html").read_text())
        said = self.run_hopscotch("predict", "out", "digits", "--split", "valid", "--out", "p.csv", "--allow-code")[1]
        together = ("--overwrite", "--strategy", "allreduce", "--trainers", "2", "--set", "search.metric=val_loss")
        self.assertEqual(self.run_hopscotch("run", "e.json", "--quiet", *together)[0], 0)
        trials = self.summary()["trials"]
        self.assertEqual([trial["status"] for trial in trials], ["finished", "failed", "failed"])
        self.assertEqual(trials[0]["best"]["val_answer"], good["best"]["val_answer"])
        self.assertIn(f", answer {good['best']['val_answer']:.4f}", said)

    def expect_objectives_of_our_own(self):
        """The mode that the model says stands in the run directory: whoever reads the run needs no model."""
        search = {"procedure": "asha", "trials": 6, "eta": 2, "objectives": ["val_loss", "val_worst_class"]}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.3, "log": True}}
        self.write(experiment(model=PLUGIN, search=search, space=space, run={"dir": "traded", "device": "cpu"}))
        self.succeed("--quiet", "--trainers", "2")
        about = json.loads((self.cwd / "traded/experiment.json").read_text())
        self.assertEqual(about["experiment"]["search"]["modes"], {"val_worst_class": "max"})
        code, out, err = self.run_hopscotch("what-if", "traded")
        self.assertEqual(code, 0, err)
        self.assertIn("decisions are those of the run", out)
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run", "--set", "run.dir=other")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"trainers busy \d+ %")

    def test_own_metrics_beside_others(self):
        """In a Pareto front, and of the mean answer of several trials."""
        search = {"procedure": "grid", "metric": "val_accuracy", "pareto": ["val_worst_class", "val_loss"]}
        self.write(experiment(model=PLUGIN, search=search, space={"train.optimizer.lr": [0.02, 0.05, 0.1]}))
        self.succeed("--quiet", "--trainers", "2")
        summary = self.summary()
        values = [(t["best"]["val_worst_class"], t["best"]["val_loss"]) for t in summary["trials"]]
        front = {
            t
            for t, (worst, loss) in enumerate(values)
            if not any(w >= worst and v <= loss and (w, v) != (worst, loss) for w, v in values)
        }
        self.assertEqual(set(summary["pareto"]["trials"]), front)
        self.expect_objectives_of_our_own()
        args = ("--split", "valid", "--ensemble", "3", "--out", "p.csv", "--allow-code")
        code, said, err = self.run_hopscotch("predict", "out", "digits", *args)
        self.assertEqual(code, 0, err)
        with open(self.cwd / "p.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        worst = min(
            sum(row["prediction"] == c for row in rows if row["label"] == c) / sum(row["label"] == c for row in rows)
            for c in map(str, range(10))
        )
        self.assertIn(f", worst_class {worst:.4f}", said)
        self.write(experiment(model=PLUGIN, search={**search, "pareto": ["val_worst", "val_loss"]}))
        self.assertRegex(
            self.run_hopscotch("run", "e.json", "--overwrite")[2],
            r'/search/pareto: metric "val_worst" is unknown \(known: .*; of net.so: val_worst_class\)',
        )

    def test_torchscript(self):
        hashes = self.ran(SCRIPT, "mpi", np=3)
        self.assertEqual(len(hashes), 2 * 2 * SHARDS)
        self.assertGreater(self.summary("mpi")["hops"], 0)
        self.assertGreater(max(trial["best"]["val_accuracy"] for trial in self.summary("mpi")["trials"]), 0.8)
        self.assertEqual(self.ran(SCRIPT, "alone", "--trainers", "1"), hashes)
        self.replay("mpi", "net.pt")
        self.assertEqual(
            self.tensors("mpi").keys(),
            {
                "conv.weight",
                "norm.weight",
                "norm.bias",
                "head.weight",
                "head.bias",
                "norm.running_mean",
                "norm.running_var",
                "norm.num_batches_tracked",
            },
        )

    def executed(self, *command):
        """What the command said, and whether it has loaded the library."""
        trace = self.cwd / "executed"
        trace.unlink(missing_ok=True)
        code, out, err = self.run_hopscotch(*command)
        return code, out, err, trace.exists()

    def foreign_runs(self):
        """Two run directories of someone else: the journal of one names the library, and the experiment of the other."""
        shutil.copy(BUILD / "tests/plugins/traitor.so", self.cwd)
        self.ran({"name": "mlp", "hidden": [8]}, "out", "--trainers", "1")
        lines = [strict_json(line) for line in (self.cwd / "out/journal.jsonl").read_text().splitlines()]
        for line in lines:
            if line["event"] == "lap_released":
                line["assignment"] |= {"model.name": "plugin", "model.file": "traitor.so"}
        of_run = strict_json((self.cwd / "out/experiment.json").read_text())
        of_run["experiment"]["model"] = {"name": "plugin", "file": "traitor.so"}
        for folder, file, text in (
            ("journal", "journal.jsonl", "".join(json.dumps(line) + "\n" for line in lines)),
            ("experiment", "experiment.json", json.dumps(of_run)),
        ):
            shutil.copytree(self.cwd / "out", self.cwd / folder)
            (self.cwd / folder / file).write_text(text)
        return "journal", "experiment"

    def test_code_that_a_run_directory_names(self):
        """It is executed if the user says so."""
        for folder in self.foreign_runs():
            predict = ("predict", folder, "digits", "--out", "p.csv")
            for command in (("replay", folder), predict, (*predict, "--trial", "1"), ("plan", "e.json", "--like", folder)):
                with self.subTest(command):
                    code, out, err, executed = self.executed(*command)
                    self.assertEqual((code, out, executed), (2, "", False), err)
                    self.assertIn(f"{folder}: this command would execute the code in traitor.so (the run directory", err)
                    code, _, err, executed = self.executed(*command, "--allow-code")
                    self.assertEqual((code, executed), (2, True), err)
                    self.assertIn("traitor.so: has no function hopscotch_plugin", err)

    def test_commands_that_execute_no_code_of_a_run_directory(self):
        search = {"procedure": "random", "trials": 2, "start_from": "journal"}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.2}}
        self.write(experiment(search=search, space=space, run={"dir": "new", "device": "cpu"}), "from.json")
        for folder in self.foreign_runs():
            in_folder = ("--set", f'run.dir="{folder}"')
            for wanted, *command in (
                (0, "plan", "e.json", *in_folder),
                (0, "run", "e.json", "--dry-run", "--overwrite", *in_folder),
                (0, "run", "from.json", "--dry-run", "--set", f'search.start_from="{folder}"'),
                (0, "report", folder),
                (0 if folder == "journal" else 2, "compare", folder, "out"),  # 2: they did not do the same work
                (0, "export", "optuna", folder, "--out", "study.log"),
                (0, "ctl", folder, "status"),
            ):
                with self.subTest(command):
                    code, _, err, executed = self.executed(*command)
                    self.assertEqual((code, executed), (wanted, False), err)

    def test_a_resumption_executes_no_code_of_the_journal(self):
        self.foreign_runs()
        (self.cwd / "journal/summary.json").unlink()
        journal = self.cwd / "journal/journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(lines[: next(i for i, line in enumerate(lines) if '"lap_done"' in line)]))
        code, _, err, executed = self.executed("run", "e.json", "--resume", "--set", 'run.dir="journal"')
        self.assertEqual((code, executed), (0, False), err)  # with the configurations of the user's own search

    def test_trainers_that_would_share_torchs_generator(self):
        self.write(experiment(model=SCRIPT))
        code, _, err = self.run_hopscotch("run", "e.json", "--trainers", "2")
        self.assertEqual(
            (code, err),
            (
                2,
                "net.pt: 2 trainers cannot share one process (the torchscript model draws from torch's own "
                "random generator, which the whole process shares); use --trainers 1, or one process per "
                "trainer: mpirun -np 3\n",
            ),
        )
        self.assertFalse((self.cwd / "out").exists())
        self.assertEqual(self.run_hopscotch("run", "e.json", "--trainers", "2", "--strategy", "sequential", "--quiet")[0], 0)

    def test_an_unknown_metric(self):
        """With everything else that is wrong."""
        self.write(experiment(model=PLUGIN, search={"procedure": "grid", "metric": "val_worst"}, nmae="x"))
        code, _, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2, err)
        self.assertRegex(err, r'/search/metric: metric "val_worst" is unknown \(known: .*; of net.so: val_worst_class\)')
        self.assertIn('/nmae: unknown key; did you mean "name"?', err)

    def test_bad_input(self):
        before = self.listing()
        for model, complaint in (
            ({**PLUGIN, "file": "nothing.so"}, "/model/file: nothing.so: no such file"),
            ({**PLUGIN, "dropuot": 0.1}, '/model/dropuot: unknown key; did you mean "dropout"?'),
            ({**SCRIPT, "file": "net.so"}, "/model/file: net.so: is not a TorchScript file, or damaged"),
            ({**PLUGIN, "file": "net.pt"}, "/model/file: net.pt: cannot be loaded"),
        ):
            with self.subTest(complaint):
                self.write(experiment(model=model))
                for np in (None, 3) if LONG or "nothing" in complaint else (None,):
                    code, _, err = self.run_hopscotch("run", "e.json", np=np)
                    self.assertEqual(code, 2, err)
                    self.assertIn(complaint, err)
                    self.assertIn("e.json:1:", err)
                (self.cwd / "e.json").unlink()
        self.assertEqual(self.listing(), before)


class Replaced(Case):
    """Files that decide what is trained, and are not in the run directory."""

    MODELS = {
        "net.so": PLUGIN,
        "net.pt": SCRIPT,
        "w.safetensors": {"name": "mlp", "hidden": [16], "init_from": "w.safetensors"},
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("train_first")
        case.setUp()
        case.train_first()
        cls.weights = (case.cwd / "first/best/model.safetensors").read_bytes()
        case.doCleanups()

    def train_first(self):
        self.write(experiment(run={"dir": "first", "device": "cpu"}))
        self.succeed("--quiet", "--trainers", "1")

    weights = b""

    def setUp(self):
        super().setUp()
        shutil.copy(BUILD / "tests/plugins/plugin_model.so", self.cwd / "net.so")
        shutil.copy(SOURCE / "examples/torchscript_model.pt", self.cwd / "net.pt")
        (self.cwd / "w.safetensors").write_bytes(self.weights)

    @staticmethod
    def replace(path):
        """By one with other bytes in it."""
        with open(path, "ab") as file:
            file.write(b"\0" * 8)

    def interrupted(self, model, folder):
        self.write(experiment(model=model, run={"dir": folder, "device": "cpu"}))
        code, _, _ = self.run_hopscotch(
            "run", "e.json", "--quiet", "--trainers", "1", env={"HOPSCOTCH_FAULT": "lap.record:2:kill"}
        )
        self.assertEqual(code, -9)

    def test_at_a_resumption(self):
        for name, model in self.MODELS.items():
            with self.subTest(file=name):
                folder = f"out-{name}"
                self.interrupted(model, folder)
                kept = (self.cwd / name).read_bytes()
                self.replace(self.cwd / name)
                code, _, err = self.run_hopscotch("run", "e.json", "--resume", "--trainers", "1")
                self.assertEqual(code, 2, err)
                if (
                    name != "w.safetensors"
                ):  # which has no room for other bytes behind its tensors, and is refused as damaged
                    self.assertIn(f"{name}: another file has this name (its hash was ", err)
                self.assertIn(name, err)
                (self.cwd / name).write_bytes(kept)
                code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--quiet", "--trainers", "1")
                self.assertEqual(code, 0, out + err)

    def test_other_weights_of_the_same_shape(self):
        self.interrupted(self.MODELS["w.safetensors"], "out")
        content = bytearray((self.cwd / "w.safetensors").read_bytes())
        content[-1] ^= 1
        (self.cwd / "w.safetensors").write_bytes(content)
        self.assertEqual(self.run_hopscotch("run", "e.json", "--resume", "--trainers", "1")[0], 2)

    def test_hosts_that_have_others(self):
        """Ranks in folders of their own stand for hosts."""
        for name, model in self.MODELS.items():
            with self.subTest(file=name):
                other = self.cwd / f"other-{name}"
                other.mkdir()
                content = bytearray((self.cwd / name).read_bytes())
                content[-1] ^= 1
                (other / name).write_bytes(content)
                self.write(
                    experiment(
                        model=model,
                        data={"path": str(self.cwd / "digits")},
                        run={"dir": str(self.cwd / f"out-{name}"), "device": "cpu"},
                    )
                )
                move = 'if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then cd "$0"; fi; exec "$@"'
                run = ["bash", "-c", move, str(other), BINARY, "run", str(self.cwd / "e.json")]
                done = subprocess.run(
                    [*MPIRUN, "-np", "3", *run], cwd=self.cwd, capture_output=True, text=True, timeout=RUN_LIMIT_S
                )
                self.assertIn(f"{name}: is another file on ", done.stderr)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertFalse((self.cwd / f"out-{name}").exists())

    def test_a_shard(self):
        for name in ("train-00003.h5", "valid-00000.h5"):
            with self.subTest(file=name):
                folder = f"out-{name}"
                self.interrupted({"name": "mlp", "hidden": [16]}, folder)
                kept = (self.cwd / "digits" / name).read_bytes()
                content = bytearray(kept)
                content[len(content) // 2] ^= 1
                (self.cwd / "digits" / name).write_bytes(content)
                once = name.startswith("valid") and not LONG
                for args in (("--resume",), ("--set", "run.dir=new"))[: 1 if once else 2]:
                    code, _, err = self.run_hopscotch("run", "e.json", *args, "--trainers", "1")
                    self.assertEqual(code, 2, err)
                    self.assertIn(f"digits/{name}: is not the file that dataset.json describes", err)
                (self.cwd / "digits" / name).write_bytes(kept)
                code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--quiet", "--trainers", "1")
                self.assertEqual(code, 0, out + err)


class Package(unittest.TestCase):
    def setUp(self):
        # Always the same folder: there ccache, where it is, knows the example again, which takes 25 s to compile.
        self.folder = BUILD / "tests/package"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.folder)
        self.prefix = self.folder / "prefix"
        self.program = self.prefix / "bin/hopscotch"
        self.run_here(CMAKE, "--install", BUILD, "--prefix", self.prefix)

    def run_here(self, *command):
        done = subprocess.run([str(part) for part in command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_an_installed_hopscotch_builds_the_example(self):
        launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if (ccache := shutil.which("ccache")) else []
        example, found = self.prefix / "share/hopscotch/examples", f"-DCMAKE_PREFIX_PATH={self.prefix}"
        model = {"name": "plugin", "file": "build/plugin_model.so", "dropout": 0.2}
        (self.folder / "e.json").write_text(json.dumps(experiment(model=model)))
        self.run_here(CMAKE, "-G", "Ninja", "-S", example, "-B", "build", found, *launcher)
        self.run_here(CMAKE, "--build", "build")
        shape = ["--shards", "4", "--valid", "0.2", "--shape", "1x8x8", "--label", "label"]
        self.run_here(self.program, "data", "import", "csv", SOURCE / "data/digits.csv", "--out", "digits", *shape)
        self.run_here(self.program, "run", "e.json", "--trainers", "1")
        self.completion_and_manual()
        self.no_library_of_the_build()

    def completion_and_manual(self):
        for name, words in (
            ("bash-completion/completions/hopscotch", ["completion", "bash"]),
            ("zsh/site-functions/_hopscotch", ["completion", "zsh"]),
            ("man/man1/hopscotch.1", ["man"]),
        ):
            self.assertEqual((self.prefix / "share" / name).read_text(), self.run_here(self.program, *words), name)

    def no_library_of_the_build(self):
        """When its folder is gone, someone else may put libraries there."""
        for file, holds in (
            ("bin/hopscotch-train", "libhopscotch_torch.so"),
            ("lib/hopscotch/libhopscotch_torch.so", "libc10.so"),
        ):
            file = self.prefix / file
            elf = self.run_here("readelf", "-d", file)
            places = re.search(r"R(?:UN)?PATH.*\[(.*)\]", elf)[1].split(":")
            self.assertEqual([place for place in places if pathlib.Path(place).is_relative_to(SOURCE)], [])
            self.assertTrue((file.parent / places[0].replace("$ORIGIN/", "") / holds).exists(), places)


if __name__ == "__main__":
    unittest.main()
