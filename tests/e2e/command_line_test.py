# SPDX-License-Identifier: Apache-2.0
"""The options of `run`, what it prints, and the shipped experiments."""

import pathlib
import re
import shutil
import subprocess
import unittest

from harness import BINARY, LONG, SOURCE, Case, experiment, known, strict_json
from stored import machine


class CommandLine(Case):
    def setUp(self):
        super().setUp()
        self.write(experiment())

    def test_more_trainers_than_shards(self):
        _, err = self.succeed("--trainers", "14")
        notes = [line[9:] for line in err.splitlines() if " warning " in line]
        self.assertEqual(
            notes,
            [
                "warning 14 trainers but 12 shards: trainers 12-13 (ranks 13-14) will be idle (86 % busy in all): "
                "use 1, 2, 3, 4, 6 or 12 trainers, or import with 14, 28 or 42 shards"
            ],
        )
        self.assertEqual(self.summary()["status"], "finished")

    def test_batch_larger_than_a_shard(self):
        _, err = self.succeed("--trainers", "2", "--set", "train.batch_size=500")
        self.assertIn(
            "warning batch_size 500 is larger than a shard (119 rows): such a unit is one step with all rows of the shard\n",
            err,
        )

    def test_one_process_under_the_launcher(self):
        out, err = self.succeed(np=1)
        self.assertRegex(
            err,
            r"info one process under the launcher: trainers run as threads of it \(mpirun -np N\+1 for N trainer "
            r"processes\)\n",
        )
        self.assertIn("finished in ", out)

    def test_dry_run_writes_nothing(self):
        before = self.listing()
        for np in (None, 3) if LONG else (3,):
            out, _ = self.succeed("--dry-run", np=np)
            self.assertIn("work         48 units, ", out)
            self.assertIn("dry run: nothing was written or trained\n", out)
            self.assertEqual(self.listing(), before)

    @unittest.skipUnless("avx2" in machine(), "a CPU with AVX2")
    def test_dry_run_says_the_step(self):
        own, torch, bf16 = "Hopscotch's own on CPUs", "LibTorch's", "(train.precision is bf16)"
        for space, setting, step in (
            ({"train.batch_size": [16, 32]}, "train.engine=auto", own),
            ({"train.batch_size": [16, 32]}, "train.engine=torch", f"{torch} (train.engine is torch)"),
            ({"train.precision": ["fp32", "bf16"]}, "seed=1", f"{own} for 1 trial, {torch} for 1 trial {bf16}"),
        ):
            self.write(experiment(space=space))
            out, _ = self.succeed("--dry-run", "--trainers", "2", "--set", setting)
            self.assertIn(f"\nstep         {step}\n", out)

    def test_dry_run_predicts_the_storage(self):
        """Within a tenth of what the run then takes; a state of Adam is three times its weights, and counters."""
        out, _ = self.succeed("--dry-run", "--trainers", "2", "--set", 'train.optimizer={"name": "adam", "lr": 0.01}')
        said = dict(re.findall(r"(checkpoints|units|journal, trace and events|best model) ([0-9.]+ k?B)", out))
        predicted = {key: float(text.split()[0]) * (1000 if "kB" in text else 1) for key, text in said.items()}
        self.succeed("--quiet", "--trainers", "2", "--set", 'train.optimizer={"name": "adam", "lr": 0.01}')
        sizes = {path.name: path.stat().st_size for path in (self.cwd / "out").rglob("*") if path.is_file()}
        self.assertAlmostEqual(predicted["units"] / sizes["units-1.bin"], 1, delta=0.1)
        self.assertAlmostEqual(predicted["best model"] / sizes["model.safetensors"], 1, delta=0.3)
        lines = sum(sizes[name] for name in ("journal.jsonl", "metrics.jsonl", "trace.json"))
        lines += sum(path.stat().st_size for path in (self.cwd / "out/tb").rglob("events.*"))
        # Trainers that wait have more lines in the trace.
        self.assertAlmostEqual(predicted["journal, trace and events"] / lines, 1, delta=0.4)
        state = max(trial["state_bytes"] for trial in self.laps())
        trials = len(self.summary()["trials"])
        self.assertAlmostEqual(
            predicted["checkpoints"] / ((2 * trials + 2 + 1) * state), 1, delta=0.01
        )  # 2 trainers write one more each

    def test_dry_run_finds_the_largest_state(self):
        """Momentum has a slot as large as the weights, whatever its value; without it there is none."""

        def checkpoints(momentum):
            out, _ = self.succeed("--dry-run", "--trainers", "2", "--set", f"space.train.optimizer.momentum={momentum}")
            return float(re.search(r"checkpoints ([0-9.]+) kB", out)[1])

        self.assertGreater(checkpoints("[0.9]"), 1.9 * checkpoints("[0]"))
        some = checkpoints("[0.5, 0.9]")
        self.assertEqual(checkpoints("[0, 0.9]"), some)
        self.assertEqual(checkpoints("[0.9, 0]"), some)

    def test_a_disk_that_is_too_small(self):
        search = {"procedure": "random", "trials": 20000, "in_flight": 20000}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.1}}
        self.write(experiment(model={"name": "mlp", "hidden": [6000, 6000]}, search=search, space=space))
        out, _ = self.succeed("--dry-run", "--trainers", "2")
        self.assertRegex(out, r"warning      run.dir out needs about [0-9.]+ TB, and its file system has [0-9.]+ .B \(")

    def test_quiet(self):
        for np in (None, 3):
            out, err = self.succeed("--quiet", "--overwrite", np=np)
            self.assertEqual(err, "")
            self.assertIn("run directory: out\n", out)
        first = self.summary()
        (self.cwd / "out/best/model.json").unlink()
        _, err = self.succeed("--overwrite")  # replaces a run
        self.assertIn("100%", err)
        self.assertEqual(
            [trial["state_hash"] for trial in self.summary()["trials"]], [trial["state_hash"] for trial in first["trials"]]
        )
        self.assertTrue((self.cwd / "out/best/model.json").exists())
        self.assertEqual(sum(line["event"] == "run_ended" for line in self.journal()), 1)

    def test_set(self):
        self.succeed("--quiet", "--set", "train.epochs=3", "--set", 'space={"train.optimizer.lr":[0.05]}')
        self.assertEqual(
            [(trial["epochs"], trial["config"]) for trial in self.summary()["trials"]], [(3, {"train.optimizer.lr": 0.05})]
        )

    def strategy_that_ran(self, *args):
        self.succeed("--quiet", "--overwrite", "--trainers", "2", *args)
        return strict_json((self.cwd / "out/experiment.json").read_text())["experiment"]["strategy"]

    def test_strategy_comes_before_the_settings(self):
        self.assertEqual(
            self.strategy_that_ran("--set", "strategy.algorithm=deterministic", "--strategy", "allreduce"),
            {"name": "allreduce", "algorithm": "deterministic"},
        )
        for setting, problem in (
            (
                "algorithm=deterministc",
                'unknown value "deterministc" (known: ring, deterministic); did you mean "deterministic"?',
            ),
            ("every=2", 'every belongs to model_averaging (the name here is "allreduce"); leave it out'),
        ):
            self.refuse(
                f"--set strategy.{setting}: {problem}",
                "run",
                "e.json",
                "--strategy",
                "allreduce",
                "--set",
                f"strategy.{setting}",
            )

    def test_strategy_keeps_the_section_of_its_name(self):
        averaging = {"name": "model_averaging", "every": 2}
        self.write(experiment(strategy=averaging))
        self.assertEqual(self.strategy_that_ran("--strategy", "model_averaging"), averaging)
        self.assertEqual(self.strategy_that_ran("--strategy", "sequential"), {"name": "sequential"})
        self.write(experiment(strategy={"policy": "planned"}))
        self.assertEqual(self.strategy_that_ran("--strategy", "mop"), {"policy": "planned"})

    def test_strategy_named_twice(self):
        self.strategy_that_ran("--strategy", "sequential", "--set", "strategy.name=sequential")
        for setting, other in (
            ("strategy.name=mop", "mop"),
            ('strategy={"name":"allreduce","algorithm":"ring"}', "allreduce"),
            ("strategy={}", "mop"),
        ):
            self.refuse(
                f'--strategy says "sequential" and --set says "{other}" (strategy.name); leave one of them out',
                "run",
                "e.json",
                "--strategy",
                "sequential",
                "--set",
                setting,
            )
        self.refuse(
            f'strategy "" is unknown (known: {", ".join(known("strategy", "name"))})', "run", "e.json", "--strategy", ""
        )

    def test_idle_trainers_beside_a_server(self):
        dedicated = ("--dry-run", "--strategy", "parameter_server", "--set", "strategy.placement=dedicated")
        out, _ = self.succeed(*dedicated, "--trainers", "15")
        self.assertIn(
            "note         trainer 14 (rank 15) only serves; without it: 14 trainers but 12 shards: trainers 12-13 (ranks "
            "13-14) "
            "will be idle (86 % busy in all): use 1, 2, 3, 4, 6 or 12 trainers, or import with 14, 28 or 42 shards\n",
            out,
        )
        out, _ = self.succeed(*dedicated, "--trainers", "16", "--set", "strategy.servers=2")
        self.assertIn("note         trainers 14-15 (ranks 15-16) only serve; without them: 14 trainers but ", out)
        out, _ = self.succeed(*dedicated, "--trainers", "13")
        self.assertNotIn("note", out)

    def test_result_says_what_moved(self):
        for strategy, trainers, moved in (
            ("mop", "2", r"\d+ hops in finished laps, \d+\.\d MB of states"),
            ("allreduce", "2", r"\d+\.\d MB of gradients"),
            ("parameter_server", "2", r"\d+\.\d MB of gradients and parameters"),
            ("model_averaging", "2", r"\d+\.\d MB of parameters"),
            ("task_parallel", "2", r"\d+\.\d MB of rows"),
        ):
            with self.subTest(strategy):
                out, _ = self.succeed("--quiet", "--overwrite", "--trainers", trainers, "--strategy", strategy)
                self.assertRegex(out, rf"\): 48 units, {moved} moved\n")
        out, _ = self.succeed("--quiet", "--overwrite", "--trainers", "1", "--strategy", "allreduce")
        self.assertRegex(out, r"\): 48 units\n")
        self.assertNotIn("waited for each other", out)

    def test_narrow_terminal(self):
        for columns in ("40", "120"):
            code, out, err = self.run_hopscotch("run", "e.json", "--overwrite", env={"COLUMNS": columns})
            self.assertEqual(code, 0)
            table = out.split("finished in ")[0].splitlines()
            best = next(number for number, line in enumerate(table) if line.startswith("best: trial "))
            self.assertRegex(" ".join(" ".join(table[3:best]).split()), r"^trial \d is .* trial \d.*( noise |$)")
            progress = [line for line in err.splitlines() if " info " not in line]
            self.assertGreater(len(err.splitlines()), len(progress), "how the trials were planned")
            for line in table + progress:
                self.assertLessEqual(len(line), int(columns), line)

    def test_shipped_experiments_dry_run(self):
        files = sorted((SOURCE / "configs").glob("*.json"))
        self.assertGreaterEqual(len(files), 4)
        files = [file for file in files if LONG or not file.name.startswith("compare-")]  # scripts/compare.sh runs those
        for file in files:
            with self.subTest(file.name):
                code, out, err = self.run_hopscotch("run", str(file), "--dry-run", "--set", 'data.path="digits"')
                self.assertEqual((code, err), (0, ""))
                self.assertIn("dry run: nothing was written or trained\n", out)

    def test_synthetic_says_so(self):
        self.write(experiment(model={"name": "synthetic", "seconds_per_batch": 0, "parameters": 100}))
        out, err = self.succeed("--trainers", "2")
        self.assertIn("SYNTHETIC model", out)
        self.assertIn("the model is synthetic", err)
        self.assertIs(self.summary()["synthetic"], True)

    def test_version_and_help(self):
        self.assertRegex(
            self.run_hopscotch("--version")[1],
            r"\Ahopscotch \d+\.\d+\.\d+ \(.+\)\nLibTorch .+ build\n(CUDA .+, NCCL \d.+\n)?\Z",
        )
        code, out, _ = self.run_hopscotch("run", "--help")
        self.assertEqual(code, 0)
        for option in ("--set", "--trainers", "--dry-run", "--overwrite", "--quiet", "--resume"):
            self.assertIn(option, out)

    def test_words_that_an_option_does_not_take(self):
        for words, said in (
            (["ctl", "run", "status", "--timeout", "-1"], "hopscotch ctl: --timeout: -1 is not a number above 0 (see:"),
            (["ctl", "run", "status", "--timeout", "soon"], "hopscotch ctl: --timeout: soon is not a number above 0 (see:"),
            (
                ["predict", "run", "new.csv", "--out", "p.csv", "--ensemble", "0"],
                "--ensemble: Value 0 not in range 1 to 1000",
            ),
            (["run", "e.json", "--trainers", "two"], "hopscotch run: Could not convert: --trainers = two"),
            (["run", "e.json", "--processes", "3"], "hopscotch run: --processes requires --dry-run (see:"),
            (["export"], "Usage: hopscotch export [OPTIONS] SUBCOMMAND"),
            (["bench", "schedule"], "bench schedule is not available in this version"),
        ):
            code, _, err = self.run_hopscotch(*words)
            self.assertEqual(code, 2, words)
            self.assertIn(said, err)

    def test_an_output_that_is_cut_off_is_an_error(self):
        for words in (["--help"], ["init", "--help"], ["models"], ["schema"]):  # of both programs, short and long
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run([BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "not written in full \\(No space left on device\\); |cannot write to file")
        with open("/dev/full", "w") as full:  # a run's directory has everything
            words = [BINARY, "run", "e.json", "--quiet", "--trainers", "2"]
            self.assertEqual(subprocess.run(words, cwd=self.cwd, stdout=full).returncode, 0)
        self.assertEqual(self.summary()["status"], "finished")

    def test_what_the_programs_load(self):
        def libraries(program):
            out = subprocess.run([program], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True).stdout
            return {line.split()[0] for line in out.splitlines()}

        program = pathlib.Path(BINARY).resolve()
        self.assertEqual([name for name in libraries(program) if name.startswith(("libmpi", "libtorch"))], [])
        if "CPU build" in self.run_hopscotch("--version")[1]:
            self.assertNotIn("libtorch_cpu.so", libraries(program.with_name("hopscotch-train")))

    def test_a_program_without_the_other_says_so(self):
        shutil.copy(BINARY, self.cwd / "hopscotch")
        self.assertIn("Train every trial", self.run_program("--help").stdout)
        alone = self.run_program("run", "e.json")
        self.assertEqual(alone.returncode, 1)
        self.assertRegex(
            alone.stderr, r"/hopscotch-train: cannot be started \(No such file or directory\); install hopscotch "
        )

    def run_program(self, *args):
        return subprocess.run([self.cwd / "hopscotch", *args], cwd=self.cwd, capture_output=True, text=True)


if __name__ == "__main__":
    unittest.main()
