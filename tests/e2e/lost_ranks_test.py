# SPDX-License-Identifier: Apache-2.0
"""What a killed, stopped or ended rank does to a job of each strategy that cannot go on without it: an error names it, never
a hang."""

import contextlib
import os
import signal
import unittest
import unittest.mock

import faults_test
from harness import LONG, RECOVERY, Case, experiment
from limits import SILENCE_S
from strategies_test import ONE_OF_EACH


class LostRanks(Case):
    def begin_all(self, strategies=ONE_OF_EACH, laps=1, **run):
        """One endless job of each strategy, side by side, each past this many laps."""
        jobs = []
        for i, strategy in enumerate(strategies):
            self.write(
                experiment(
                    model={"name": "synthetic", "seconds_per_batch": 0.005, "parameters": 10000},
                    train={"epochs": 5000, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                    strategy=strategy,
                    run={"dir": f"out{i}", "device": "cpu", **run},
                ),
                f"e{i}.json",
            )
            with unittest.mock.patch.dict(os.environ, faults_test.PATIENT):
                jobs.append(self.start("run", f"e{i}.json", np=4 if LONG else 3))
        for i, process in enumerate(jobs):
            journal = self.cwd / f"out{i}/journal.jsonl"
            self.wait_for(
                lambda: journal.exists() and journal.read_text().count('"lap_done"') >= laps,
                f"{laps} laps were done",
                process,
            )
        return jobs

    def end_all(self, jobs, disturb):
        """What each job wrote after it was disturbed; all are disturbed at once, and wait for their ends side by side."""
        for process in jobs:
            disturb(process)
        said = []
        for i, process in enumerate(jobs):
            out, err = self.end_of(process, f"out{i}")
            self.assertNotEqual(process.returncode, 0, out + err)
            said.append(out + err)
        return said

    def test_killed_trainer(self):
        jobs = self.begin_all()
        victims = {process: self.pid_of_rank(process, 2) for process in jobs}
        for said in self.end_all(jobs, lambda process: os.kill(victims[process], signal.SIGKILL)):
            self.assertRegex(said, r"\brank 2\b")

    def test_stopped_trainer(self):
        strategies = [each for each in ONE_OF_EACH if each["name"] != "task_parallel"]  # that one goes on without it
        strategies = strategies if LONG else strategies[::3]  # in which trainers wait for each other, and for a server
        # Seconds of laps: rank 0 hears twice a second what others are at.
        jobs = self.begin_all(strategies, laps=10, silence_s=SILENCE_S)
        victims = {process: self.pid_of_rank(process, 2) for process in jobs}
        try:
            texts = self.end_all(jobs, lambda process: os.kill(victims[process], signal.SIGSTOP))
        finally:
            for victim in victims.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        for i, said in enumerate(texts):
            self.assertRegex(
                said,
                r"rank 2 \(.+, pid \d+\) has been silent for \d+ s .*; it was last seen "
                r"(computing|waiting|validating).* in trial \d+, epoch \d+, shard -?\d+",
                strategies[i],
            )
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted")

    def test_signal(self):
        strategies = ONE_OF_EACH if LONG else ONE_OF_EACH[1:3]
        jobs = self.begin_all(strategies)
        self.end_all(jobs, lambda process: process.send_signal(signal.SIGTERM))
        for i, strategy in enumerate(strategies):
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted", strategy)


class Ended(Case):
    """With the default of run.silence_s: the end of a process on the same host is an event, and no one waits for silence."""

    launcher_options = RECOVERY  # mpirun leaves the others alone: they must notice by themselves
    begin = faults_test.Faults.begin

    def killed(self, rank, *args):
        process = self.begin(*args, np=3)
        os.kill(self.pid_of_rank(process, rank), signal.SIGKILL)
        out, err = self.end_of(process)
        self.assertNotIn("has been silent", out + err)
        return out + err

    def test_a_trainer_that_the_job_needs(self):
        said = self.killed(2, "--set", 'strategy={"name": "allreduce"}')
        self.assertRegex(said, r"rank 2 \(.+, pid \d+\) is lost: its process has ended")
        self.assertEqual(self.summary()["status"], "interrupted")

    def test_rank_0(self):
        said = self.killed(0)
        for rank in (1, 2):
            self.assertRegex(said, rf"rank {rank} \(.+\): rank 0 is lost: its process has ended")


if __name__ == "__main__":
    unittest.main()
