# SPDX-License-Identifier: Apache-2.0
"""Every strategy through the binary: runs replay, and who waits for a slow trainer is not taken for stalled."""

import re
import unittest

from harness import LONG, Case, every, experiment, owners
from limits import PATIENCE

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
ALL = every("strategy", "name", STRATEGIES, without=("mop", "sequential"))  # the other suites replay these two
TOGETHER = owners("strategy", "scale_lr", name="mop")  # their bits depend on the number of trainers


class Replays(Case):
    def test_every_strategy_replays(self):
        threads = [each for each in ALL if LONG or each not in ONE_OF_EACH]
        for strategy, np in [(each, None) for each in threads] + [(each, 3) for each in ONE_OF_EACH]:
            with self.subTest(strategy=strategy, np=np):
                self.write(experiment(strategy=strategy))
                self.succeed("--quiet", "--overwrite", *(() if np else ("--trainers", "3")), np=np)
                code, out, err = self.run_hopscotch("replay", "out")
                self.assertEqual((code, err), (0, ""), out)
                summary = self.summary()
                self.assertEqual(
                    (summary["strategy"], summary["exact"]), (strategy["name"], strategy["name"] not in TOGETHER)
                )
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
            path.write_text(
                re.sub(r"(?<=[\[:, ])0\.03(?=[\]},\s])", "1e38", path.read_text())
            )  # whole numbers, not digits of times
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 1, out + err)
        self.assertIn("1 of 2 trials differ from the journal of out", err)


class SlowRanks(Case):
    def test_who_waits_for_a_slow_trainer_is_not_stalled(self):
        # The fast trainer waits some 10 s for the mean; the limits are 3 s on rank 0 and 6 s on trainers. A batch of the
        # slow one takes 0.5 s.
        self.write(
            experiment(
                model={"name": "synthetic", "seconds_per_batch": 0.05 * PATIENCE, "parameters": 1000},
                train={"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                space={"train.optimizer.lr": [0.1]},
                strategy={"name": "model_averaging"},
                run={
                    "dir": "out",
                    "device": "cpu",
                    "stall_s": 3 * PATIENCE,
                    "deadline_s": 3 * PATIENCE,
                    "inject": ["slow:rank=2,factor=10"],
                },
            )
        )
        self.succeed("--quiet", "--trainers", "2")


if __name__ == "__main__":
    unittest.main()
