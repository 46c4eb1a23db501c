# SPDX-License-Identifier: Apache-2.0
"""hopscotch plan: its numbers against closed forms and against a run, and its errors."""

import json
import math
import re
import unittest

from harness import Case, experiment, strict_json
from stored import machine

ROW_S, STEP_S, VALIDATION_S, BYTES_PER_S = 0.001, 0.01, 0.1, 125e6
COSTS = ("--seconds-per-row", "0.001", "--seconds-per-step", "0.01", "--seconds-per-validation", "0.1")
PARAMETERS = 1000


def synthetic(**changes):
    return experiment(
        model={"name": "synthetic", "seconds_per_batch": STEP_S, "parameters": PARAMETERS},
        search={"procedure": "grid", "metric": "val_loss"},
        space={"train.optimizer.lr": [0.01, 0.02, 0.03, 0.04]},
        train={"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        **changes,
    )


class Plan(Case):
    def planned(self, *args):
        code, out, err = self.run_hopscotch("plan", "e.json", *args)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def rows_of(self, *args):
        """The document, and the rows of its first number of trainers by strategy."""
        document = strict_json(self.planned(*args, "--json"))
        return document, {row["strategy"]: row for row in document["plans"][0]["strategies"]}

    def shards_rows(self):
        return [shard["rows"] for shard in json.loads((self.cwd / "digits/dataset.json").read_text())["train"]]

    def test_dry_run_plan_and_run_agree(self):
        """Where no result decides the numbers are those of the run, and bounds of them elsewhere."""
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.5}}
        early = {"early_stopping": {"patience": 1}}
        cases = [
            ({"procedure": "asha", "trials": 2, "min_epochs": 1}, {}, "2 trials, 28 epochs in all"),
            ({"procedure": "asha", "trials": 27, "min_epochs": 1}, {}, "27 trials, between 81 and 593 epochs in all"),
            ({"procedure": "successive_halving", "trials": 9}, {}, None),
            ({"procedure": "hyperband", "trials": 12}, {}, None),
            ({"procedure": "pbt", "population": 3, "interval": 9}, {}, "3 trials, 81 epochs in all"),
            ({"procedure": "random", "trials": 9, "budget": {"epochs": 60}}, {}, "3 trials, 81 epochs in all"),
            ({"procedure": "tpe", "trials": 9, "budget": {"epochs": 60}}, {}, "3 trials, 81 epochs in all"),
            ({"procedure": "random", "trials": 3}, early, "3 trials, at most 81 epochs in all"),
            ({"procedure": "tpe", "trials": 3, "budget": {"target": 0.5}}, {}, "at most 3 trials, at most 81 epochs in all"),
        ]
        for search, more, said in cases:
            with self.subTest(search=search, **more):
                train = {"epochs": 27, "batch_size": 120, "optimizer": {"name": "sgd", "lr": 0.1}, **more}
                self.write(experiment(search=search, space=space, train=train, model={"name": "mlp", "hidden": [4]}))
                sums = r"(at most )?(\d+) trials, (?:between (\d+) and |(at most ))?(\d+) epochs in all"
                dry = re.search(sums, self.succeed("--dry-run", "--overwrite", "--trainers", "2")[0])
                self.assertEqual(re.search(sums, self.planned("--trainers", "2"))[0], dry[0])
                self.assertIn(said, (dry[0], None))
                self.succeed("--quiet", "--overwrite", "--trainers", "2")
                trials = self.summary()["trials"]
                epochs = sum(trial["epochs"] for trial in trials)
                some, most_trials, least, less, most = dry.groups()
                (self.assertLessEqual if some else self.assertEqual)(len(trials), int(most_trials))
                self.assertLessEqual(epochs, int(most))
                self.assertGreaterEqual(epochs, int(least or 0 if less or least else most))

    def test_groups_are_proposed_where_they_pay(self):
        """Two trials on four trainers: where half a batch takes half the time, and on fast links. Never with four trials."""
        document = synthetic()
        document["space"] = {"train.optimizer.lr": [0.01, 0.02]}
        self.write(document)

        def with_costs(step="0", latency="0.1ms", validation="0"):
            costs = ("--seconds-per-row", "0.01", "--seconds-per-step", step, "--seconds-per-validation", validation)
            return ("--trainers", "4", "--latency", latency, *costs)

        note = r"2 trials on 4 trainers: strategy.group_size (\d+) would take ([0-9.]+)s instead of ([0-9.]+)s"
        out = self.planned(*with_costs())
        self.assertRegex(out, note)
        size, seconds, seconds_now = re.search(note, out).groups()
        self.assertEqual(size, "2")
        shards_s = 0.01 * sum(self.shards_rows())
        self.assertAlmostEqual(float(seconds_now), shards_s, delta=0.1 * shards_s)
        self.assertAlmostEqual(float(seconds), shards_s / 2, delta=0.1 * shards_s)
        for dear in ({"step": "3"}, {"latency": "100ms"}):
            self.assertNotRegex(self.planned(*with_costs(**dear)), "strategy.group_size", dear)
        self.assertIn("group_size 2 would take 8m28s instead of 16m55s", self.planned(*with_costs(validation="1000")))
        document["strategy"] = {"name": "mop", "group_size": 2}
        self.write(document)
        _, rows = self.rows_of(*with_costs())
        self.assertAlmostEqual(rows["mop"]["makespan_s"], float(seconds), delta=0.02 * float(seconds))
        self.write(synthetic())
        self.assertNotRegex(self.planned(*with_costs()), "strategy.group_size")

    def test_rows_are_the_closed_forms(self):
        self.write(synthetic())
        before = self.listing()
        link = ("--bandwidth", "1gbit", "--latency", "1ms")
        document, rows = self.rows_of("--trainers", "4", *COSTS, *link, "--price", "2")
        shards = self.shards_rows()
        steps = sum(math.ceil(count / 32) for count in shards)
        work_s = 4 * (steps * STEP_S + sum(shards) * ROW_S + VALIDATION_S)
        self.assertAlmostEqual(document["work_s"], work_s, places=6)
        self.assertAlmostEqual(rows["sequential"]["makespan_s"], work_s, places=6)
        mop = rows["mop"]
        self.assertAlmostEqual(mop["makespan_s"], work_s / 4, delta=0.01 * work_s)
        self.assertAlmostEqual(mop["makespan_over_bound"], mop["makespan_s"] / (work_s / 4), places=6)
        self.assertAlmostEqual(mop["price"], 4 * 2 * mop["makespan_s"] / 3600, places=9)
        # A quarter of each batch: the trainer with most rows sets the pace, and every step ends with a ring of four.
        fullest = max(sum(shards[trainer::4]) for trainer in range(4))
        steps = 3 * math.ceil(max(shards) / 8)
        weights = 4 * PARAMETERS
        ring_s = 2 * 3 * 0.001 + 2 * 3 / 4 * weights / BYTES_PER_S
        expected_s = 4 * (steps * STEP_S + fullest * ROW_S + VALIDATION_S / 4 + steps * ring_s)
        self.assertAlmostEqual(rows["allreduce"]["makespan_s"], expected_s, delta=0.005 * expected_s)
        self.assertEqual(rows["allreduce"]["network_bytes"], 4 * steps * 2 * 3 * weights)
        self.assertEqual([point["trainers"] for point in document["curve"]], [1, 2, 3, 4, 6, 8, 12])
        self.assertEqual(self.listing(), before)

    def test_like_predicts_the_run(self):
        self.write(synthetic())
        for strategy, trainers in (("mop", 4), ("allreduce", 2)):
            self.succeed("--quiet", "--trainers", str(trainers), "--strategy", strategy, "--set", f'run.dir="{strategy}"')
            summary = self.summary(strategy)
            _, rows = self.rows_of("--trainers", str(trainers), "--like", strategy, "--latency", "0.1ms")
            with self.subTest(strategy):
                self.assertAlmostEqual(
                    rows[strategy]["makespan_s"], summary["makespan_s"], delta=0.3 * summary["makespan_s"]
                )
                moved = summary["bytes"]["state"] + summary["bytes"]["gradient"]
                self.assertEqual(rows[strategy]["network_bytes"], moved)

    def test_hops_of_a_dispatched_policy(self):
        """They depend on timing, so they are simulated."""
        space = {"train.optimizer.lr": [0.001 * n for n in range(1, 17)]}
        self.write(synthetic(strategy={"name": "mop", "policy": "random"}) | {"space": space})
        self.succeed("--quiet", "--trainers", "4", "--set", "train.batch_size=64")
        _, rows = self.rows_of("--trainers", "4", "--like", "out")
        moved = self.summary()["bytes"]["state"]
        self.assertAlmostEqual(rows["mop"]["network_bytes"], moved, delta=0.4 * moved)

    def test_trainers_beyond_the_shards_hold_replicas(self):
        """Whatever strategy the experiment names."""
        space = {"train.optimizer.lr": [0.001 * n for n in range(1, 33)]}
        makespans = []
        for strategy in ("mop", "allreduce"):
            self.write(synthetic(strategy={"name": strategy}) | {"space": space})
            document, rows = self.rows_of("--trainers", "18", *COSTS)  # 12 shards
            makespans.append(rows["mop"]["makespan_s"])
            self.assertLess(rows["mop"]["makespan_s"], 0.9 * document["work_s"] / 12)
        self.assertAlmostEqual(makespans[0], makespans[1], delta=0.1 * makespans[0])

    def test_a_steps_own_cost_counts_once(self):
        """In the seconds of another run, for trials that it has not trained."""
        self.write(synthetic())
        self.succeed("--quiet", "--trainers", "2")
        self.write(synthetic() | {"space": {"train.optimizer.lr": [0.05, 0.06, 0.07, 0.08]}})
        plain, _ = self.rows_of("--trainers", "2", "--like", "out")
        split, _ = self.rows_of("--trainers", "2", "--like", "out", "--seconds-per-step", "0.004")
        self.assertAlmostEqual(plain["work_s"], split["work_s"], delta=0.02 * plain["work_s"])

    def test_costs_of_another_step_are_named(self):
        self.write(experiment())
        self.succeed("--quiet", "--trainers", "2", "--set", "train.engine=torch")
        words = "measured with another train.engine"
        like = ("--trainers", "2", "--like", "out", "--set")
        self.assertNotIn(words, self.planned(*like, "train.engine=torch"))
        if "avx2" in machine():
            self.assertIn(words, self.planned(*like, "train.engine=lean"))

    def test_names_what_it_was_not_told(self):
        self.write(synthetic())
        out = self.planned("--simulate")
        for words in ("bandwidth not given: 10 Gbit/s; --bandwidth sets it", "trainers not given", "seconds not known"):
            self.assertIn(f"assumed: {words}", out)
        self.assertRegex(out, r"\nmop +\d\.\d{3} W ")
        self.assertRegex(out, r"\ntrainer 0  [0-3+.]{20,}\n")
        self.assertNotIn("price", out)
        told = self.planned("--trainers", "2", "--bandwidth", "1gbit", "--latency", "0", *COSTS)
        self.assertNotIn("assumed", told)

    def test_all_bad_flags_at_once(self):
        self.write(synthetic())
        number = "not a number (0 or more); write for example 0.002"
        self.refuse(
            '--trainers: "0" is not a number of trainers (1 to 100000); write for example 2,4,8\n'
            '--bandwidth: "10" is not a bandwidth; write for example 1gbit, 100mbit or 12.5GB/s\n'
            '--latency: "soon" is not a duration; write for example 0.1ms, 20us or 1s\n'
            f'--price: "-1" is {number}\n'
            "--set train.epochs=0: must be at least 1 (got 0)",
            *("plan", "e.json", "--trainers", "0", "--bandwidth", "10", "--latency", "soon", "--price", "-1"),
            *("--set", "train.epochs=0"),
        )


if __name__ == "__main__":
    unittest.main()
