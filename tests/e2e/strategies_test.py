# SPDX-License-Identifier: Apache-2.0
"""Every strategy through the binary: runs replay, lost and stopped ranks are named within the deadline, a signal ends in order."""
import os
import signal
import time
import unittest
import unittest.mock

import faults_test
from harness import Case, experiment

STRATEGIES = [
    {"name": "allreduce"},
    {"name": "allreduce", "algorithm": "deterministic", "batch": "per_worker"},
    {"name": "model_averaging", "every": 3, "outer": {"lr": 0.7, "momentum": 0.9, "nesterov": True}},
    {"name": "parameter_server"},
    {"name": "parameter_server", "mode": "async", "servers": 1},
    {"name": "parameter_server", "mode": "ssp", "staleness": 2, "placement": "dedicated"},
    {"name": "task_parallel"},
    {"name": "task_parallel", "data": "remote"},
]


ONE_OF_EACH = [STRATEGIES[0], *STRATEGIES[2:5], STRATEGIES[7]]


class Replays(Case):
    def test_every_strategy_replays(self):
        for strategy, np in [(each, None) for each in STRATEGIES] + [(each, 4) for each in ONE_OF_EACH]:
            with self.subTest(strategy=strategy, np=np):
                self.write(experiment(strategy=strategy))
                self.succeed("--quiet", "--overwrite", *(() if np else ("--trainers", "3")), np=np)
                code, out, err = self.run_hopscotch("replay", "out")
                self.assertEqual((code, err), (0, ""), out)
                summary = self.summary()
                self.assertEqual((summary["strategy"], summary["exact"]), (strategy["name"], strategy["name"] == "task_parallel"))
                self.assertGreater(summary["trials"][1]["best"]["val_accuracy"], 0.6)

    def test_replay_notices_a_change(self):
        self.write(experiment(strategy=STRATEGIES[0]))
        self.succeed("--quiet", "--trainers", "2")
        document = (self.cwd / "out/experiment.json").read_text()
        (self.cwd / "out/experiment.json").write_text(document.replace('"seed": 42', '"seed": 43'))
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 1, out + err)
        self.assertIn("2 of 2 trials differ from the journal of out", err)


    def test_replay_of_a_lap_that_now_diverges(self):
        self.write(experiment(strategy=STRATEGIES[0]))
        self.succeed("--quiet", "--trainers", "2")
        for name in ("experiment.json", "journal.jsonl"):
            path = self.cwd / "out" / name
            path.write_text(path.read_text().replace("0.03", "1e38"))
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 1, out + err)
        self.assertIn("1 of 2 trials differ from the journal of out", err)


class SlowRanks(Case):
    def test_who_waits_for_a_slow_trainer_is_not_stalled(self):
        # The fast trainer waits some 4 s for the mean; the limits are 1 s on rank 0 and 3 s on trainers.
        self.write(experiment(model={"name": "synthetic", "seconds_per_batch": 0.02, "parameters": 1000},
                              train={"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                              space={"train.optimizer.lr": [0.1]},
                              strategy={"name": "model_averaging"},
                              run={"dir": "out", "device": "cpu", "stall_s": 1, "deadline_s": 2, "inject": ["slow:rank=2,factor=10"]}))
        self.succeed("--quiet", "--trainers", "2")


class LostRanks(Case):
    pid_of_rank = faults_test.Faults.pid_of_rank

    def begin_all(self, deadline_s):
        """One endless job of each strategy, side by side, each past its first lap."""
        jobs = []
        for i, strategy in enumerate(ONE_OF_EACH):
            self.write(experiment(model={"name": "synthetic", "seconds_per_batch": 0.005, "parameters": 10000},
                                  train={"epochs": 5000, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                                  strategy=strategy, run={"dir": f"out{i}", "device": "cpu", "deadline_s": deadline_s}), f"e{i}.json")
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
        jobs = self.begin_all(deadline_s=60)
        for process in jobs:
            os.kill(self.pid_of_rank(process, 2), signal.SIGKILL)
        for said in self.ends(jobs):
            self.assertRegex(said, r"\brank 2\b")

    def test_stopped_trainer(self):
        jobs = self.begin_all(deadline_s=3)
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
            self.assertEqual(self.summary(f"out{i}")["status"], "failed")

    def test_signal(self):
        jobs = self.begin_all(deadline_s=60)
        for process in jobs:
            process.send_signal(signal.SIGTERM)
        self.ends(jobs)
        for i in range(len(jobs)):
            self.assertEqual(self.summary(f"out{i}")["status"], "interrupted", ONE_OF_EACH[i])


if __name__ == "__main__":
    unittest.main()
