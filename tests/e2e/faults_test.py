# SPDX-License-Identifier: Apache-2.0
"""Signals and lost trainers: a run ends soon, says why, and never hangs."""

import os
import shutil
import signal
import subprocess
import unittest
import unittest.mock

from harness import BINARY, MPIRUN, RECOVERY, SOURCE, Case, experiment
from limits import PATIENCE, RUN_LIMIT_S, SILENCE_S

# mpirun kills each rank that is left this many seconds after it passed a signal on: 1 by default, which a busy machine may
# need for anything.
PATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": f"{10 * PATIENCE:.0f}"}
RESUMABLE = 75


class Faults(Case):
    def begin(self, *args, np=None, deadline_s=60, batch_s=0.005, wait_for="lap_done"):
        """A run that would last minutes, once its first lap is in the journal."""
        self.write(
            experiment(
                model={"name": "synthetic", "seconds_per_batch": batch_s, "parameters": 10000},
                train={"epochs": 500, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                run={"dir": "out", "device": "cpu", "deadline_s": deadline_s},
            )
        )
        process = self.start("run", "e.json", *args, np=np)
        self.wait_for_event(process, wait_for)
        return process

    def ended(self, process):
        out, err = self.end_of(process)
        self.assertNotEqual(process.returncode, 0, out + err)
        return out + err

    def interrupted_at_once(self, process):
        """What is there even if mpirun kills every rank a second after it passed the signal on."""
        self.ended(process)
        summary = self.summary()
        self.assertEqual(summary["status"], "interrupted")
        self.assertEqual({trial["status"] for trial in summary["trials"]}, {"interrupted"})

    def interrupted(self, process):
        self.interrupted_at_once(process)
        last = self.journal()[-1]
        self.assertEqual((last["event"], last["status"]), ("run_ended", "interrupted"))
        self.assertEqual(sum(line["event"] == "run_ended" for line in self.journal()), 1)
        self.assertRegex(last["reason"], r"^signal \d+$")
        return last["reason"]

    def test_sigterm_and_sigint_with_threads(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            process = self.begin("--trainers", "2", "--overwrite")
            process.send_signal(number)
            self.assertEqual(self.interrupted(process), f"signal {number.value}")
            self.assertEqual(process.returncode, RESUMABLE)
            (self.cwd / "out/journal.jsonl").unlink()

    def test_sigterm_to_mpirun(self):
        with unittest.mock.patch.dict(os.environ, PATIENT):
            process = self.begin(np=3)
        process.send_signal(signal.SIGTERM)
        self.interrupted(process)
        self.assertEqual(len(self.summary()["peak_rss_bytes"]), 3)  # the trainers have said goodbye

    def test_sigterm_to_mpirun_within_a_long_batch(self):
        # The trainers would leave after their batch; mpirun kills everyone long before.
        with unittest.mock.patch.dict(os.environ, PATIENT):
            process = self.begin(np=3, batch_s=3600, wait_for="lap_released")
        process.send_signal(signal.SIGTERM)
        self.interrupted_at_once(process)

    def test_sigusr1_within_a_long_batch(self):
        # run.grace_s is over before the batch is.
        for np, threads in ((None, ("--trainers", "2")), (3, ())):
            process = self.begin(
                *threads, "--overwrite", "--set", "run.grace_s=1", np=np, batch_s=3600, wait_for="lap_released"
            )
            process.send_signal(signal.SIGUSR1)
            self.interrupted(process)
            if np is None:
                self.assertEqual(process.returncode, RESUMABLE)
            (self.cwd / "out/journal.jsonl").unlink()

    def test_a_signal_while_the_job_starts(self):
        """Before LibTorch is loaded, and while rank 0 reads its files. No rank dies of it, and nothing is trained."""
        self.write(experiment())
        for fault, np in (
            ("start.program:1:signal", None),
            ("start.prepare:1:signal", None),
            ("start.program:1:signal", 3),  # to every rank, as mpirun and srun do
            ("start.prepare:1:signal:0,start.program:1:signal:2", 3),
        ):
            with self.subTest(fault=fault, np=np):
                shutil.rmtree(self.cwd / "out", ignore_errors=True)
                threads = () if np else ("--trainers", "2")
                code, out, err = self.run_hopscotch("run", "e.json", *threads, np=np, env={"HOPSCOTCH_FAULT": fault})
                self.assertEqual(code, RESUMABLE, out + err)
                self.assertEqual([line["event"] for line in self.journal()][-1], "run_ended")
                self.assertEqual((self.summary()["status"], self.summary()["reason"]), ("interrupted", "signal 10"))
                self.assertEqual((self.laps(), self.summary()["units"]), ([], 0))
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(self.summary()["status"], "finished")

    def test_a_signal_while_a_resumed_job_starts(self):
        """What earlier jobs have trained stays."""
        self.write(experiment())
        last = {"HOPSCOTCH_FAULT": "lap.record:3:signal"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2", env=last)
        self.assertEqual(code, RESUMABLE, out + err)
        trained = self.laps()
        early = {"HOPSCOTCH_FAULT": "start.prepare:1:signal"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2", "--resume", env=early)
        self.assertEqual((code, self.laps()), (RESUMABLE, trained), out + err)
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(len(self.laps()), 4)

    def launched(self, *args, fault=""):
        """The code of scripts/launch.sh, where mpirun says 0 (Open MPI 4) or what it likes."""
        line = [SOURCE / "scripts/launch.sh", *MPIRUN, *RECOVERY, "-np", "3", "--", "e.json", "--quiet", *args]
        env = {**os.environ, "HOPSCOTCH": BINARY, "HOPSCOTCH_FAULT": fault}
        return subprocess.run(line, cwd=self.cwd, env=env, capture_output=True, text=True, timeout=RUN_LIMIT_S)

    def test_launch_gives_the_code_of_the_job_under_recovery(self):
        self.write(experiment())
        self.assertEqual(self.launched("--set", "train.epochs=none").returncode, 2)
        self.assertEqual(self.launched(fault="lap.record:1:signal:0").returncode, RESUMABLE)
        self.assertEqual(self.launched("--resume").returncode, 0)
        self.assertEqual(self.launched("--resume").returncode, 0, "nothing is left to do")
        self.assertEqual(self.launched().returncode, 2, "the directory exists")
        diverges = ("--overwrite", "--set", "space.train.optimizer.lr=[1e30]")
        self.assertEqual(self.launched(*diverges).returncode, 1)

    def test_launch_does_not_take_the_status_of_an_earlier_job(self):
        self.write(experiment())
        self.succeed("--quiet", "--trainers", "2")
        done = self.launched("--overwrite", fault="start.welcome:1:kill:1")  # the dry run does not get there
        self.assertNotIn(done.returncode, (0, 2), done.stderr)

    def test_second_sigint_ends_at_once(self):
        process = self.begin("--trainers", "2", batch_s=3600, wait_for="lap_released")
        process.send_signal(signal.SIGINT)
        self.wait_for(lambda: (self.cwd / "out/summary.json").exists(), "a first summary", process)
        process.send_signal(signal.SIGINT)
        self.interrupted_at_once(process)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_interrupted_run_replays(self):
        process = self.begin("--trainers", "2", "--set", "model.seconds_per_batch=0.001")
        process.send_signal(signal.SIGTERM)
        self.interrupted(process)
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 0, err + out)

    def test_killed_trainer(self):
        process = self.begin(np=3)
        os.kill(self.pid_of_rank(process, 2), signal.SIGKILL)
        self.assertRegex(self.ended(process), r"\brank 2\b")

    def test_stopped_trainers(self):
        # The first is taken for lost, and the job goes on without it; then none is left.
        process = self.begin("--set", f"run.silence_s={SILENCE_S:g}", np=3)
        os.kill(self.pid_of_rank(process, 1), signal.SIGSTOP)
        self.wait_for_event(process, "trainer_lost")
        victim = self.pid_of_rank(process, 2)
        os.kill(victim, signal.SIGSTOP)
        try:
            said = self.ended(process)
        finally:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertRegex(said, r"rank 2 \(.+, pid \d+\) has been silent for \d+ s")
        self.assertEqual(self.summary()["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
