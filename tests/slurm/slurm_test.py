# SPDX-License-Identifier: Apache-2.0
"""The templates of slurm/ on a real Slurm: a private one with two nodes on this machine (scripts/slurm_local.sh). What
happens to a job must not show in its result: the states are those of a plain run with threads. Exit code 77: Slurm is not
installed."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import BINARY, SOURCE, Case, experiment  # noqa: E402
from limits import RUN_LIMIT_S, WAIT_LIMIT_S  # noqa: E402

LOCAL = str(SOURCE / "scripts/slurm_local.sh")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"}
FOLDER = None  # of the private Slurm


def setUpModule():
    global FOLDER
    temporary = tempfile.TemporaryDirectory(prefix="hopscotch-slurm-")
    unittest.addModuleCleanup(temporary.cleanup)
    FOLDER = f"{temporary.name}/s"
    os.environ.update(HOPSCOTCH_SLURM=FOLDER, HOPSCOTCH_HOME=str(SOURCE))
    unittest.addModuleCleanup(subprocess.run, [LOCAL, "down"], check=True)
    subprocess.run([LOCAL, "up"], check=True)


def lasting(**changes):
    """Two trials of 8 laps, some 5 s with two trainers; states are saved several times a second. Balanced visits would
    follow the predicted costs, and plain() has others."""
    run = {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.2}
    return experiment(
        model={"name": "synthetic", "seconds_per_batch": 0.012, "parameters": 10000},
        train={"epochs": 8, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        strategy={"name": "mop", "visits": "in_order"},
        run=run,
        **changes,
    )


class Slurm(Case):
    def setUp(self):
        super().setUp()
        self.jobs = []
        self.addCleanup(lambda: self.jobs and self.slurm("scancel", *self.jobs))

    def slurm(self, *command, env=None):
        done = subprocess.run(
            [LOCAL, "run", *map(str, command)],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            env={**os.environ, **(env or {})},
        )
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        return done.stdout.strip()

    def submit(self, template, *args, options=("--ntasks=3",), env=None):
        job = self.slurm("sbatch", "--parsable", *options, SOURCE / "slurm" / template, "e.json", *args, env=env)
        self.jobs.append(job)
        return job

    def field(self, job, name):
        return re.search(rf"\b{name}=(\S+)", self.slurm("scontrol", "-o", "show", "job", job))[1]

    def output(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.cwd.glob("hopscotch-*.out")))

    def until(self, condition, what, seconds=WAIT_LIMIT_S):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.fail(f"no {what} within {seconds} s\n{self.slurm('squeue')}\n{self.slurm('sinfo')}\n{self.output()}")
            time.sleep(0.05)

    def until_saved(self, folder="out", times=1):
        """Until the run, started this many times, has finished a lap and saved a state since its last start."""

        def there():
            path = self.cwd / folder / "journal.jsonl"
            text = path.read_text() if path.exists() else ""
            newest = text.rpartition('"run_resumed"')[2]
            return text.count('"run_resumed"') == times - 1 and '"lap_done"' in newest and '"checkpoint"' in newest

        self.until(there, f"lap of start {times} in {folder}")

    def ended(self, job, state="COMPLETED", exit_code=0, restarts=(0,)):
        self.until(lambda: self.field(job, "JobState") in OVER, f"end of job {job}")
        self.assertEqual(self.field(job, "JobState"), state, self.output())
        self.assertIn(int(self.field(job, "Restarts")), restarts, self.output())
        if state != "CANCELLED":
            self.assertEqual(self.field(job, "ExitCode"), f"{exit_code}:0", self.output())

    def states(self, folder="out"):
        summary = self.summary(folder)
        self.assertEqual(summary["status"], "finished")
        return {trial["id"]: trial["state_hash"] for trial in summary["trials"]}

    def plain(self, *args):
        """The states of a plain run with threads. A synthetic model sleeps less here, which is not a part of its state."""
        synthetic = json.loads((self.cwd / "e.json").read_text())["model"]["name"] == "synthetic"
        faster = ["--set", "model.seconds_per_batch=0"] if synthetic else []
        self.succeed("--quiet", "--trainers", "2", "--overwrite", "--set", "run.dir=plain", *faster, *args)
        return self.states("plain")

    def resumed_as_if_undisturbed(self, job, folder="out"):
        self.ended(job, restarts=(1,))
        self.assertEqual(self.states(folder), self.plain())
        self.assertGreaterEqual(sum(line["event"] == "run_resumed" for line in self.journal(folder)), 1)

    def was_interrupted(self, signal_number, folder="out"):
        """The run has saved its trials and stopped by itself; no one killed it."""
        ends = [line for line in self.journal(folder) if line["event"] == "run_ended" and line["status"] == "interrupted"]
        self.assertEqual([line["reason"] for line in ends], [f"signal {signal_number}"], self.output())

    def kill_rank(self, job, rank):
        wanted = {f"SLURM_CONF={FOLDER}/slurm.conf".encode(), f"SLURM_JOB_ID={job}".encode(), f"PMIX_RANK={rank}".encode()}
        for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                found = wanted <= set(environ.read_bytes().split(b"\0"))
            except OSError:
                continue  # it has ended
            if found:
                os.kill(int(environ.parent.name), signal.SIGKILL)

    def program(self, name, text):
        """A stand-in for hopscotch, but for the dry run with which the scripts begin."""
        real = f'case "$*" in *--dry-run*) exec {BINARY} "$@";; esac'
        (self.cwd / name).write_text(f"#!/bin/sh\n{real}\n{text}\n")
        (self.cwd / name).chmod(0o755)
        return str(self.cwd / name)

    def begin(self, *args, options=("--ntasks=3",), env=None):
        self.write(lasting())
        job = self.submit("preemptible.sbatch", *args, options=options, env=env)
        self.until_saved()
        return job


class Undisturbed(Slurm):
    def test_every_template_is_accepted(self):
        self.write(lasting())
        for template in sorted((SOURCE / "slurm").glob("*.sbatch")):
            size = ["--nodes=2", "--ntasks=17"] if template.name == "cpu-multinode.sbatch" else []  # it asks for four nodes
            self.slurm("sbatch", "--test-only", *size, template, "e.json")

    def test_one_node_two_nodes_and_mpirun(self):
        self.write(experiment())
        jobs = [
            self.submit("cpu.sbatch", "--set=run.dir=cpu"),
            self.submit("gpu-multinode.sbatch", "--set", "run.dir=gpu", options=("--ntasks=5", "--ntasks-per-node=3")),
            self.submit(
                "cpu-multinode.sbatch",
                "--set",
                "run.dir=mpirun",
                options=("--nodes=2", "--ntasks=3", "--ntasks-per-node=2"),
                env={"HOPSCOTCH_LAUNCHER": "mpirun"},
            ),
        ]
        for job in jobs:
            self.ended(job)
        expected = self.plain()
        for folder in ("cpu", "gpu", "mpirun"):
            self.assertEqual(self.states(folder), expected)

    def test_the_dry_run_sees_the_trainers_of_the_job(self):
        """Two tasks are one trainer, to which a batch of one row can go; the cores of the host are more trainers."""
        train = {"epochs": 1, "batch_size": 1, "optimizer": {"name": "sgd", "lr": 0.1}}
        self.write(experiment(train=train, strategy={"name": "allreduce"}))
        self.ended(self.submit("cpu.sbatch", options=("--ntasks=2",)))
        shared = self.submit("cpu.sbatch", "--set=run.dir=shared", "--set=run.scheduler=shared", options=("--ntasks=2",))
        self.ended(shared, state="FAILED", exit_code=2)
        self.assertIn("a batch of 1 cannot be split among 2 trainers", self.output())

    def wrapped(self, line):
        job = self.slurm("sbatch", "--parsable", "--ntasks=3", "--output=hopscotch-%j.out", f"--wrap={line}")
        self.jobs.append(job)
        return job

    def test_tasks_that_do_not_find_each_other_are_refused(self):
        self.write(experiment())
        self.ended(self.wrapped(f"srun --mpi=none {BINARY} run e.json --trainers 1"), state="FAILED", exit_code=2)
        self.assertEqual(self.output().count("the launcher has started 3 processes, but MPI joins 1 of them"), 1)
        self.assertFalse((self.cwd / "out").exists())
        alone = f"{BINARY} run e.json --quiet --trainers 2"  # the batch script itself, and a step of one task
        self.ended(self.wrapped(f"{alone} && srun --mpi=none -n 1 {alone} --overwrite"))

    def test_a_folder_without_the_templates_help(self):
        self.write(experiment())
        lost = self.submit("cpu.sbatch", env={"HOPSCOTCH_HOME": ""})
        self.ended(lost, state="FAILED", exit_code=2)
        said = "/slurm; set HOPSCOTCH_HOME to the repository or its share/hopscotch\n"
        self.assertEqual(self.output(), f"no {self.cwd}{said}")

    def test_trainers_are_spread_evenly(self):
        # Rank 0 and four trainers on the first node, four on the second: trainer i, rank i + 1, has GPU i mod 4 for itself.
        self.write(experiment())
        where = self.program("where", 'echo "rank $PMIX_RANK on $SLURMD_NODENAME, fence ${SLURM_PMIX_FENCE:-}"')
        for launcher in ("srun", "mpirun"):
            job = self.submit(
                "gpu-multinode.sbatch",
                options=("--exclusive", "--ntasks-per-node=8", f"--output={launcher}.out"),
                env={"HOPSCOTCH": where, "HOPSCOTCH_LAUNCHER": launcher},
            )
            self.until(lambda: self.field(job, "JobState") in OVER, "end")
            found = re.findall(r"rank (\d) on (n\d), fence (.*)", (self.cwd / f"{launcher}.out").read_text())
            expected = {str(rank): "n1" if rank <= 4 else "n2" for rank in range(9)}
            self.assertEqual({rank: node for rank, node, _ in found}, expected, launcher)
            # PMIx of Slurm lets a rank go too early with another fence; mpirun has a PMIx of its own.
            self.assertEqual({fence for _, _, fence in found}, {"ring" if launcher == "srun" else ""}, launcher)


class Stopped(Slurm):
    """Slurm wants the job to stop."""

    def test_preempted(self):
        job = self.begin()
        self.jobs.append(self.slurm("sbatch", "--parsable", "--partition=high", "--nodes=2", "--exclusive", "--wrap=true"))
        self.resumed_as_if_undisturbed(job)
        self.was_interrupted(signal.SIGTERM)

    def test_warned_before_the_time_limit(self):
        self.write(lasting())
        jobs = {
            launcher: self.submit("preemptible.sbatch", "--set", f"run.dir={launcher}", env={"HOPSCOTCH_LAUNCHER": launcher})
            for launcher in ("srun", "mpirun")
        }
        for launcher, job in jobs.items():
            self.until_saved(launcher)
            self.slurm("scancel", "--batch", "--signal=USR1", job)  # what --signal=B:USR1@120 does
        for launcher, job in jobs.items():
            self.resumed_as_if_undisturbed(job, folder=launcher)
            self.was_interrupted(signal.SIGUSR1, folder=launcher)

    def test_cancelled(self):
        job = self.begin()
        self.slurm("scancel", job)
        self.ended(job, state="CANCELLED")
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(self.states(), self.plain())

    def test_array(self):
        self.write(lasting())
        array = self.submit("array.sbatch", options=("--ntasks=3", "--array=0-3"))
        folders = [f"runs/e-seed{seed}" for seed in range(4)]
        # The last task's job id is the array's: it must go back into the queue alone.
        self.until_saved(folders[3])
        self.slurm("scancel", "--batch", "--signal=USR1", f"{array}_3")
        for task in range(4):
            self.ended(f"{array}_{task}", restarts=(int(task == 3),))
        for seed, folder in enumerate(folders):
            self.assertEqual(self.states(folder), self.plain("--set", f"seed={seed}"))


class Lost(Slurm):
    """Something dies."""

    def test_lost_node(self):
        job = self.begin(options=("--nodes=2", "--ntasks=3", "--ntasks-per-node=2"))
        self.lose("n2")
        self.until(lambda: self.slurm("sinfo", "-h", "-n", "n2", "-p", "low", "-o", "%t").startswith("down"), "loss of n2")
        self.restore("n2")
        self.ended(job, restarts=(0, 1))  # 0: the other trainer has finished the run before Slurm missed the node
        self.assertEqual(self.states(), self.plain())
        self.assertIn("run_resumed", [line["event"] for line in self.journal()])

    def lose(self, node):
        """Slurm's daemons of a node go, as if its network did; the ranks stay. The tests that follow have the node again,
        whatever becomes of this one."""
        self.addCleanup(self.restore, node)
        os.kill(int(pathlib.Path(FOLDER, f"slurmd-{node}.pid").read_text()), signal.SIGKILL)
        of_node = os.path.realpath(f"{FOLDER}/slurmd-{node}.log")
        for log in pathlib.Path("/proc").glob("[0-9]*/fd/3"):
            with contextlib.suppress(
                FileNotFoundError, ProcessLookupError, PermissionError
            ):  # it has ended, or is another's
                if os.readlink(log) == of_node:
                    os.kill(int(log.parts[2]), signal.SIGKILL)

    def restore(self, node):
        subprocess.run([LOCAL, "start", node], check=True)

    def test_killed_ranks_and_the_limit_of_restarts(self):
        job = self.begin(env={"HOPSCOTCH_REQUEUES": "1"})
        self.kill_rank(job, 0)  # without rank 0 no job goes on
        self.until_saved(times=2)
        self.kill_rank(job, 0)
        self.ended(job, state="FAILED", exit_code=137, restarts=(1,))
        self.assertIn("not requeued (HOPSCOTCH_REQUEUES is 1)", self.output())
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(self.states(), self.plain())

    def test_what_would_only_crash_again_is_not_requeued(self):
        self.write(lasting())
        crash = self.submit("preemptible.sbatch", env={"HOPSCOTCH": self.program("crash", "kill -9 $$")})
        self.ended(crash, state="FAILED", exit_code=137)
        self.assertIn("it would only crash again", self.output())
        bad = self.submit("preemptible.sbatch", "--set", "train.epochs=none")
        self.ended(bad, state="FAILED", exit_code=2)
        # An orderly end that has saved nothing may be a signal at a bad time. A second one in a row has a cause that stays.
        end = f'HOPSCOTCH_FAULT=start.prepare:1:signal exec {BINARY} "$@"'
        idle = self.submit("preemptible.sbatch", env={"HOPSCOTCH": self.program("idle", end), "HOPSCOTCH_REQUEUES": "3"})
        self.ended(idle, state="FAILED", exit_code=75, restarts=(1,))
        self.assertIn("nothing was saved in this start (is the disk full", self.output())
        shutil.rmtree(self.cwd / "out")
        full = self.submit(
            "preemptible.sbatch", env={"HOPSCOTCH": self.program("full", "exit 75"), "HOPSCOTCH_REQUEUES": "1"}
        )
        self.ended(full, state="FAILED", exit_code=75)  # the journal did not even take its end
        self.plain()
        changed = self.submit(
            "preemptible.sbatch", "--set", "run.dir=plain"
        )  # another experiment in the folder of a finished run
        self.ended(changed, state="FAILED", exit_code=2)

    def test_an_mpirun_that_outlives_a_finished_run_is_ended(self):
        self.write(lasting())
        hangs = self.program(
            "hangs",
            """mkdir -p out && echo '{\n  "status": "finished"\n}' > out/summary.json &&
                                            echo '{"event":"run_ended"}' >> out/journal.jsonl && exec sleep 1000""",
        )
        self.ended(self.submit("preemptible.sbatch", env={"HOPSCOTCH": hangs, "HOPSCOTCH_LAUNCHER": "mpirun"}))


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        print(f"skipped: no {', '.join(missing)} here; `scripts/slurm_local.sh up` installs Slurm where it may")
        sys.exit(77)
    unittest.main(verbosity=2)
