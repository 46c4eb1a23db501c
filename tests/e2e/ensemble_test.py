# SPDX-License-Identifier: Apache-2.0
"""`hopscotch predict --ensemble K`: the mean answer of the K best trials, computed here from the predictions of each."""

import csv
import math
import random

from harness import Case, experiment

LR = {"train.optimizer.lr": [0, 0.01, 0.1]}


class Ensemble(Case):
    def predict(self, *args, out="p.csv"):
        code, said, err = self.run_hopscotch("predict", "out", "digits", "--split", "valid", "--out", out, *args)
        self.assertEqual(code, 0, err)
        with open(self.cwd / out, newline="") as file:
            return list(csv.DictReader(file)), said, err

    def ranked(self):
        """The trials by their metric, best first."""
        summary = self.summary()
        sign = -1 if summary["mode"] == "max" else 1
        return sorted(range(len(summary["trials"])), key=lambda i: sign * summary["trials"][i]["best"][summary["metric"]])

    def train(self, **changes):
        self.write(experiment(space=LR, run={"dir": "out", "device": "cpu", "keep_best": "trial"}, **changes))
        self.succeed("--quiet", "--trainers", "2")

    def check_means(self, columns, tolerance=1e-5):
        """Of the two best of three trials."""
        best = self.ranked()[:2]
        alone = [self.predict("--trial", str(trial))[0] for trial in best]
        together, said, err = self.predict("--ensemble", "2")
        self.assertEqual(err, "", "run.keep_best stores the weights: nothing is trained again")
        self.assertEqual(len(together), len(alone[0]))
        for rows in zip(together, *alone):
            for column in columns:
                values = [float(row[column]) for row in rows]
                self.assertAlmostEqual(values[0], sum(values[1:]) / 2, delta=tolerance * max(1, abs(values[0])))
        return together, said

    def test_classes(self):
        self.train()
        rows, said = self.check_means([f"p_{i}" for i in range(10)])
        correct = sum(row["label"] == row["prediction"] for row in rows) / len(rows)
        loss = -sum(math.log(float(row["p_" + row["label"]])) for row in rows) / len(rows)
        self.assertIn(f"{len(rows)} rows, loss {loss:.4f}, accuracy {correct:.4f}, ", said)
        only = self.predict("--ensemble", "1", out="one.csv")[1]
        self.assertEqual(only.replace("one.csv", "p.csv"), self.predict()[1])
        self.too_many()

    def too_many(self):
        code, _, err = self.run_hopscotch("predict", "out", "digits", "--ensemble", "4", "--out", "none.csv")
        self.assertEqual(code, 2)
        self.assertIn("--ensemble 4: out has only 3 trials with a finite val_accuracy; ask for fewer", err)
        code, _, err = self.run_hopscotch("predict", "out", "digits", "--ensemble", "2", "--trial", "0", "--out", "none.csv")
        self.assertEqual(code, 2)
        self.assertIn("--ensemble excludes --trial", err)
        self.assertFalse((self.cwd / "none.csv").exists())

    def table(self, kind, targets):
        """120 rows of two columns, and of these targets."""
        rng = random.Random(3)
        lines = ["a,b," + ",".join(f"t{i}" for i in range(len(targets)))]
        for _ in range(120):
            a, b = rng.gauss(0, 1), rng.gauss(0, 1)
            lines.append(",".join([f"{a:.4f}", f"{b:.4f}", *(f"{target(a, b):.4g}" for target in targets)]))
        (self.cwd / "t.csv").write_text("\n".join(lines) + "\n")
        labels = [word for i in range(len(targets)) for word in ("--label", f"t{i}")]
        arguments = ("t.csv", "--out", "table", "--shards", "2", "--valid", "0.3", kind, *labels)
        code, _, err = self.run_hopscotch("data", "import", "csv", *arguments)
        self.assertEqual(code, 0, err)

    def trained_on_table(self, loss):
        train = {"epochs": 2, "batch_size": 8, "loss": loss, "optimizer": {"name": "sgd", "lr": 0.1}}
        self.write(
            experiment(
                data={"path": "table"},
                model={"name": "mlp", "hidden": [8]},
                train=train,
                space=LR,
                search={"procedure": "grid", "metric": "val_loss", "mode": "min"},
            )
        )
        code, _, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2")
        self.assertEqual(code, 0, err)

    def test_what_cannot_be_trained_again(self):
        self.write(experiment(space=LR, strategy={"name": "allreduce"}))
        self.succeed("--quiet", "--trainers", "2")
        code, _, err = self.run_hopscotch("predict", "out", "digits", "--ensemble", "2", "--out", "none.csv")
        self.assertEqual(code, 2)
        self.assertIn("allreduce trained it on several trainers (predict could only train it again on one); run the", err)
        self.assertIn('run.keep_best "trial"', err)

    def test_clones(self):
        """A trial of pbt is trained again from the state that it took over."""
        self.write(
            experiment(
                seed=5,
                train={"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                space={"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.5, "log": True}},
                search={"procedure": "pbt", "population": 4, "quantile": 0.5},
            )
        )
        self.succeed("--quiet", "--trainers", "2")
        self.assertIn('"clone_of"', (self.cwd / "out/journal.jsonl").read_text())
        for trial in range(4):
            rows, _, _ = self.predict("--trial", str(trial))
            best = self.summary()["trials"][trial]["best"]
            correct = sum(row["label"] == row["prediction"] for row in rows) / len(rows)
            self.assertAlmostEqual(correct, best["val_accuracy"], delta=1e-9)

    def means_of_table(self, loss):
        self.trained_on_table(loss)
        best = self.ranked()[:2]
        found = []
        for arguments in (("--ensemble", "2"), *(("--trial", str(trial)) for trial in best)):
            code, _, err = self.run_hopscotch("predict", "out", "t.csv", "--out", "p.csv", *arguments)
            self.assertEqual(code, 0, err)
            with open(self.cwd / "p.csv", newline="") as file:
                found.append([[float(value) for value in list(row.values())[1:]] for row in csv.DictReader(file)])
        self.assertEqual(len(found[0]), 120)
        for together, *alone in zip(*found):
            for value, *values in zip(together, *alone):
                self.assertAlmostEqual(value, sum(values) / 2, delta=1e-5)

    def test_numbers(self):
        self.table("--regression", [lambda a, b: a + b, lambda a, b: a * b])
        self.means_of_table("mse")

    def test_flags(self):
        self.table("--multilabel", [lambda a, b: a > 0, lambda a, b: b > a])
        self.means_of_table("bce_with_logits")

    def test_copies_of_the_best_configuration_come_first(self):
        self.train(search={"procedure": "grid", "repeats": 2})
        groups = sorted(self.summary()["groups"], key=lambda group: -group["mean"])
        alone = [self.predict("--trial", str(trial))[0] for trial in groups[0]["trials"]]
        together = self.predict("--ensemble", "2")[0]
        for rows in zip(together, *alone):
            values = [float(row["p_0"]) for row in rows]
            self.assertAlmostEqual(values[0], sum(values[1:]) / 2, delta=1e-5)
