# SPDX-License-Identifier: Apache-2.0
"""What a killed, stopped or ended rank does to a job of each strategy: the job goes on without it, or an error names the rank, and
never a hang."""
import os
import signal
import time
import unittest
import unittest.mock

import faults_test
import resume_test
from harness import RECOVERY, Case, experiment
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
            out, err = process.communicate(timeout=3 * faults_test.LIMIT_S)
            self.assertNotEqual(process.returncode, 0, out + err)
            said.append(out + err)
        self.assertLessEqual(time.monotonic() - begin, faults_test.LIMIT_S)
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
        for i, said in enumerate(all_said):
            self.assertRegex(said, r"rank 2 \(.+, pid \d+\) has been silent for \d+ s .*; it was last seen "
                                   r"(computing|waiting|validating).* in trial \d+, epoch \d+, shard -?\d+", ONE_OF_EACH[i])
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted")

    def test_signal(self):
        jobs = self.begin_all(silence_s=60)
        for process in jobs:
            process.send_signal(signal.SIGTERM)
        self.ends(jobs)
        for i in range(len(jobs)):
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted", ONE_OF_EACH[i])


class Survivors(resume_test.Disturbed):
    """Where the bits do not depend on the number of trainers, the others go on, in the same job, and nothing shows in the result."""
    launcher_options = RECOVERY
    pid_of_rank = faults_test.Faults.pid_of_rank

    def begin(self, folder, strategy):
        document = resume_test.disturbed(folder, strategy=strategy)
        document["run"].update({"silence_s": 2, "checkpoint_every_s": 0.2})
        self.write(document)
        process = self.start("run", "e.json", "--quiet", np=5)
        self.wait_for_event(process, folder=folder)
        return process

    def finished(self, process, folder, expected, lost):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertEqual(self.outcome(folder), expected)
        self.assertEqual(sorted(loss["trainer"] for loss in self.summary(folder)["lost"]), lost)
        for trainer in lost:
            self.assertRegex(err, rf"rank {trainer + 1} \(.*the job goes on without it")

    def test_killed_trainers(self):
        for number, (strategy, ranks) in enumerate([("mop", [2]), ("mop", [4, 1]), ("task_parallel", [3]), ("sequential", [1])]):
            with self.subTest(strategy=strategy, ranks=ranks):
                expected = self.undisturbed(f"quiet{number}", strategy={"name": strategy})
                process = self.begin(f"out{number}", {"name": strategy})
                for rank in ranks:
                    os.kill(self.pid_of_rank(process, rank), signal.SIGKILL)
                self.finished(process, f"out{number}", expected, sorted(rank - 1 for rank in ranks))
                code, out, err = self.run_hopscotch("replay", f"out{number}")
                self.assertEqual((code, err), (0, ""), out)

    def test_stopped_trainer_wakes(self):
        expected = self.undisturbed("quiet", strategy={"name": "mop"})
        process = self.begin("out", {"name": "mop"})
        victim = self.pid_of_rank(process, 2)
        os.kill(victim, signal.SIGSTOP)
        try:
            self.wait_for_event(process, "trainer_lost")
        finally:
            os.kill(victim, signal.SIGCONT)
        self.finished(process, "out", expected, [1])

    def test_all_trainers(self):
        # This mpirun returns 0 even if a rank asked for another code: the status in summary.json counts.
        process = self.begin("out", {"name": "mop"})
        for rank in (1, 2, 3, 4):
            os.kill(self.pid_of_rank(process, rank), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertIn("no trainer is left", err)
        self.assertEqual(self.summary()["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
