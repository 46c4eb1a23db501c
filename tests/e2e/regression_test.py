# SPDX-License-Identifier: Apache-2.0
"""Regression as users have it: targets of any scale. The oracle: the same targets on another scale."""

import csv
import random

from harness import Case, experiment, strict_json

SCALE = 1024.0  # a power of two: standardised targets keep their bits


def table(scale, offset=0.0, rows=400, seed=3):
    rng = random.Random(seed)
    lines = ["size,rooms,price"]
    for _ in range(rows):
        size, rooms = rng.randint(20, 200), rng.randint(1, 6)
        price = (size * 0.75 + rooms * 8 + rng.randint(-8, 8) * 0.25) * scale + offset
        lines.append(f"{size},{rooms},{price!r}")
    return "\n".join(lines) + "\n"


class Regression(Case):
    def run_on(self, name, text, loss="mse", **train):
        self.imported_from(text, "--regression", "--label", "price", out=name)
        self.write(
            experiment(
                data={"path": name},
                model={"name": "mlp", "hidden": [16]},
                train={
                    "epochs": 8,
                    "batch_size": 16,
                    "loss": loss,
                    "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9},
                    **train,
                },
                search={"procedure": "grid", "metric": "val_r2"},
                space={"train.optimizer.lr": [0.02, 0.05]},
                run={"dir": f"out-{name}", "device": "cpu"},
            )
        )
        out, _ = self.succeed("--quiet", "--trainers", "2")
        return out, self.hashes(f"out-{name}"), self.summary(f"out-{name}")

    def predictions(self, name, rows):
        code, out, err = self.run_hopscotch("predict", f"out-{name}", rows, "--out", "p.csv")
        self.assertEqual((code, err), (0, ""), out)
        with open(self.cwd / "p.csv", newline="") as file:
            return [float(row["prediction_price"]) for row in csv.DictReader(file)]

    def test_the_scale_of_the_targets_changes_no_bit(self):
        small, small_hashes, small_summary = self.run_on("small", table(1.0))
        large, large_hashes, large_summary = self.run_on("large", table(SCALE))
        self.assertEqual(small_hashes, large_hashes)
        for a, b in zip(small_summary["trials"], large_summary["trials"], strict=True):
            self.assertEqual(a["best"]["val_r2"], b["best"]["val_r2"])
            self.assertEqual(a["best"]["val_loss"], b["best"]["val_loss"])
            for metric in ("val_mae", "val_rmse"):
                self.assertEqual(a["best"][metric] * SCALE, b["best"][metric])
        self.assertGreater(max(trial["best"]["val_r2"] for trial in large_summary["trials"]), 0.9)
        self.assertRegex(large, r"rank trial +val_r2 epoch +val_mae")
        self.assertNotIn("worse than the mean", large)
        of_small, of_large = self.predictions("small", "small.csv"), self.predictions("large", "large.csv")
        for a, b in zip(of_small, of_large, strict=True):
            self.assertAlmostEqual(a * SCALE, b, delta=abs(b) * 1e-5)
        self.assertGreater(max(of_large), 100 * SCALE, "predictions are prices")

    def test_an_offset_that_float32_could_not_hold(self):
        _, _, summary = self.run_on("far", table(2.0**-10, offset=1e6))
        best = max(summary["trials"], key=lambda trial: trial["best"]["val_r2"])["best"]
        self.assertGreater(best["val_r2"], 0.9)
        self.assertLess(best["val_mae"], 0.03, "in the units of the source")
        for value in self.predictions("far", "far.csv"):
            self.assertAlmostEqual(value, 1e6, delta=1)

    def test_losses_of_regression(self):
        for loss in ("huber", "mae", "quantile"):
            _, _, summary = self.run_on(loss, table(1000.0), loss)
            self.assertGreater(max(trial["best"]["val_r2"] for trial in summary["trials"]), 0.7, loss)
        _, _, low = self.run_on("low", table(1000.0), "quantile", quantile=0.1)
        _, _, high = self.run_on("high", table(1000.0), "quantile", quantile=0.9)
        self.assertLess(sum(self.predictions("low", "low.csv")), sum(self.predictions("high", "low.csv")))

    def test_a_trial_that_is_worse_than_the_mean_is_named(self):
        lines = ["a,price"] + [f"{n % 7},{n * 37 % 11}" for n in range(60)]  # noise
        self.imported_from("\n".join(lines) + "\n", "--regression", out="noise")
        self.write(
            experiment(
                data={"path": "noise"},
                model={"name": "mlp", "hidden": [64]},
                train={"epochs": 1, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0}},  # as it was drawn
                search={"procedure": "grid", "metric": "val_loss"},
                space={"train.optimizer.lr": [0, 0.001]},
            )
        )
        out, _ = self.succeed("--quiet", "--trainers", "1")
        r2 = [trial["best"]["val_r2"] for trial in self.summary()["trials"] if trial["best"]]
        worse = sum(value < 0 for value in r2)
        self.assertGreater(worse, 0)
        self.assertIn(f"{worse} of {len(r2)} trials predict worse than the mean of the targets (val_r2 below 0)", out)

    def test_targets_as_they_are(self):
        self.imported_from(table(1000.0), "--regression", "--no-standardise", out="raw")
        self.assertNotIn("target_mean", strict_json((self.cwd / "raw/dataset.json").read_text()))

    def test_init_searches_by_r2(self):
        self.imported_from(table(1000.0), "--regression", out="house")
        code, out, err = self.run_hopscotch("init", "house")
        self.assertEqual((code, err), (0, ""))
        self.assertIn('"metric": "val_r2"', out)
