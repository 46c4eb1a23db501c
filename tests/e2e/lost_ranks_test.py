# SPDX-License-Identifier: Apache-2.0
"""What a killed, stopped or ended rank does to a job of each strategy that cannot go on without it: an error names it, never a hang."""
import os
import signal
import time
import unittest
import unittest.mock

import faults_test
from harness import Case, end_of_job, experiment
from strategies_test import ONE_OF_EACH


class LostRanks(Case):
    pid_of_rank = faults_test.Faults.pid_of_rank

    def begin_all(self, silence_s, strategies=ONE_OF_EACH):
        """One endless job of each strategy, side by side, each past its first lap."""
        jobs = []
        for i, strategy in enumerate(strategies):
            self.write(experiment(model={"name": "synthetic", "seconds_per_batch": 0.005, "parameters": 10000},
                                  train={"epochs": 5000, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                                  strategy=strategy, run={"dir": f"out{i}", "device": "cpu", "silence_s": silence_s}), f"e{i}.json")
            with unittest.mock.patch.dict(os.environ, faults_test.PATIENT):
                jobs.append(self.start("run", f"e{i}.json", np=4))
        for i, process in enumerate(jobs):
            journal = self.cwd / f"out{i}/journal.jsonl"
            self.wait_for(lambda: journal.exists() and "lap_done" in journal.read_text(), "a lap was done", process)
        return jobs

    def ends(self, jobs):
        begin = time.monotonic()
        said = []
        for process in jobs:
            out, err = end_of_job(process, timeout=2 * faults_test.MPIRUN_LIMIT_S)
            self.assertNotEqual(process.returncode, 0, out + err)
            said.append(out + err)
        self.assertLessEqual(time.monotonic() - begin, faults_test.MPIRUN_LIMIT_S)  # five jobs on perhaps two cores
        return said

    def test_killed_trainer(self):
        jobs = self.begin_all(silence_s=60)
        for process in jobs:
            os.kill(self.pid_of_rank(process, 2), signal.SIGKILL)
        for said in self.ends(jobs):
            self.assertRegex(said, r"\brank 2\b")

    def test_stopped_trainer(self):
        jobs = self.begin_all(3, [each for each in ONE_OF_EACH if each["name"] != "task_parallel"])  # that one goes on without it
        victims = [self.pid_of_rank(process, 2) for process in jobs]
        for victim in victims:
            os.kill(victim, signal.SIGSTOP)
        try:
            all_said = self.ends(jobs)
        finally:
            for victim in victims:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        silent = r"rank 2 \(.+, pid \d+\) has been silent for \d+ s "
        at_work = silent + r".*; it was last seen (computing|waiting|validating).* in trial \d+, epoch \d+, shard -?\d+"
        self.assertRegex("\n".join(all_said), at_work)  # not of each: one may have been stopped between two laps
        for i, said in enumerate(all_said):
            self.assertRegex(said, silent, ONE_OF_EACH[i])
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted")

    def test_signal(self):
        jobs = self.begin_all(silence_s=60)
        for process in jobs:
            process.send_signal(signal.SIGTERM)
        self.ends(jobs)
        for i in range(len(jobs)):
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted", ONE_OF_EACH[i])


if __name__ == "__main__":
    unittest.main()
