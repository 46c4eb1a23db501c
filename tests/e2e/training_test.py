# SPDX-License-Identifier: Apache-2.0
"""Ways to train, and kinds of data and networks, as a user asks for them in the experiment: each run replays."""

import random

from harness import SOURCE, Case, and_long, experiment


def train(**changes):
    return {"epochs": 3, "batch_size": 16, "optimizer": {"name": "adam", "lr": 0.01}, **changes}


EVERYTHING = {  # at once, on images
    "data": {
        "path": "photos",
        "augment": ["flip", {"name": "crop", "padding": 2}, {"name": "cutout", "size": 4}],
        "cache": "window",
        "shuffle_rows": 16,
    },
    "model": {"name": "cnn", "channels": [4, 8], "dropout": 0.2},
    "train": train(
        epochs=3,
        batch_size=8,
        accumulate=2,
        ema=0.9,
        clip_norm=1.0,
        optimizer={"name": "adamw", "lr": 0.01, "weight_decay": 0.01, "decay": "weights"},
        schedule={"name": "plateau", "factor": 0.5, "patience": 0, "threshold": 0.5},
    ),
}


def search(metric):
    return {"procedure": "grid", "metric": metric}


class Training(Case):
    def check_predict(self, data, metrics, split="valid"):
        """predict gets the run's numbers again, from the stored weights."""
        code, out, err = self.run_hopscotch("predict", "out", data, "--split", split, "--out", "p.csv")
        self.assertEqual((code, err), (0, ""))
        for name, value in metrics.items():
            self.assertIn(f", {name} {value:.4f}", out)

    def best(self, summary, *names):
        best = summary["trials"][summary["best_trial"]]["best"]
        return {name: best["val_" + name] for name in names}

    def test_early_stopping(self):
        _, summary = self.trained(
            train={"epochs": 8, "early_stopping": {"patience": 2}}, space={"train.optimizer.lr": [0, 0.1]}
        )
        stopped, other = summary["trials"]
        self.assertEqual(
            (stopped["status"], stopped["epochs"], stopped["best"]["epoch"], stopped["last"]["epoch"]), ("stopped", 3, 0, 2)
        )
        self.assertEqual(
            stopped["reason"], f"no better val_accuracy for 2 epochs (best {stopped['best']['val_accuracy']:.4g} in epoch 0)"
        )
        self.assertGreater(other["epochs"], 3)
        ended = {line["trial"]: line for line in self.journal() if line["event"] == "trial_ended"}
        self.assertEqual([ended[0][key] for key in ("status", "reason", "epochs")], ["stopped", stopped["reason"], 3])
        self.assertEqual(summary["status"], "finished")

    def test_plateau(self):
        _, summary = self.trained(
            train={
                "epochs": 4,
                "optimizer": {"name": "sgd", "lr": 0.1},
                "schedule": {"name": "plateau", "factor": 0.5, "patience": 0, "threshold": 0.9},
            },
            space={"train.batch_size": [16, 32]},
        )
        # val_loss never falls to a tenth: from the second epoch on every epoch halves the rate for the next one.
        for trial in range(2):
            laps = sorted((lap for lap in self.laps() if lap["trial"] == trial), key=lambda lap: lap["epoch"])
            self.assertEqual([lap["lr"] for lap in laps], [0.1, 0.1, 0.05, 0.025])
        self.assertEqual(summary["status"], "finished")

    def import_photos(self):
        images = str(SOURCE / "tests/data/cifar")
        cuts = ("--shards", "4", "--size", "16", "--test", "0.1")
        self.run_hopscotch("data", "import", "images", images, "--out", "photos", *cuts)

    def test_everything_at_once_on_images(self):
        self.import_photos()
        wanted, summary = self.trained("--trainers", "1", **EVERYTHING)
        self.assertEqual(len(wanted), 2 * 3 * 4)
        self.check_predict("photos", self.best(summary, "loss", "accuracy", "f1"))  # the weights that ema averaged
        self.check_predict("photos", {name: summary["test"][name] for name in ("loss", "accuracy", "f1")}, "test")
        for name, np, args in (("threads", None, ("--trainers", "3")), ("ranks", 3, ())):
            self.write(experiment(**EVERYTHING, run={"dir": name, "device": "cpu"}))
            self.succeed("--quiet", *args, np=np)
            self.assertEqual(self.hashes(name), wanted)
            self.assertEqual(self.summary(name)["test"], summary["test"])
        # Every one of them matters: without it the weights are others.
        for path, value in and_long(
            [("data.augment", "[]"), ("data.shuffle_rows", "0"), ("train.accumulate", "1")],
            [("train.clip_norm", "null"), ("model.dropout", "0"), ("train.optimizer.decay", '"all"')],
        ):
            self.succeed(
                "--quiet", "--set", 'run.dir="less"', "--set", f"{path}={value}", "--set", "train.epochs=1", "--overwrite"
            )
            self.assertTrue(all(self.hashes("less")[key] != wanted[key] for key in self.hashes("less")), path)

    def numbers(self, columns, row, *args):
        draw = random.Random(7)
        self.imported_from(columns + "\n" + "".join(",".join(map(str, row(draw))) + "\n" for _ in range(400)), *args)

    def test_regression(self):
        def row(draw):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            return a, b, 2 * a - b

        self.numbers("a,b,y", row, "--regression", "--test", "0.1")
        _, summary = self.trained(
            data={"path": "table"}, train=train(loss="huber", huber_delta=0.5), search=search("val_r2")
        )
        self.assertEqual(summary["mode"], "max")
        self.assertGreater(self.best(summary, "r2")["r2"], 0.7)
        self.assertEqual(summary["trials"][0]["best"]["val_accuracy"], None)
        self.check_predict("table", self.best(summary, "loss", "mae", "r2"))
        self.check_predict("table", {name: summary["test"][name] for name in ("loss", "mae", "r2")}, "test")
        _, summary = self.trained("--overwrite", data={"path": "table"}, train=train(loss="huber"), search=search("val_mae"))
        self.assertEqual(summary["mode"], "min")
        self.assertEqual(self.best(summary, "mae")["mae"], min(trial["best"]["val_mae"] for trial in summary["trials"]))

    def test_multilabel(self):
        def row(draw):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            return a, b, int(a > 0), int(b > 0), int(a + b > 0)

        self.numbers("a,b,p,q,s", row, "--multilabel", "--label", "p", "--label", "q", "--label", "s")
        _, summary = self.trained(data={"path": "table"}, train=train(class_weights=[1, 2, 1]), search=search("val_f1"))
        self.assertGreater(self.best(summary, "f1")["f1"], 0.8)
        self.assertEqual(summary["trials"][0]["best"]["val_top5"], None)
        self.check_predict("table", self.best(summary, "loss", "accuracy", "f1", "auc"))
        self.assertIn(",target_q,prediction_q,", (self.cwd / "p.csv").read_text().splitlines()[0])

    def test_wide_and_deep_on_hashed_categories(self):
        def row(draw):
            city, colour = draw.choice("abcde"), draw.choice(["red", "blue"])
            return city, colour, draw.gauss(0, 1), "yes" if (city in "ace") != (colour == "red") else "no"

        self.numbers("city,colour,size,y", row, "--hash-buckets", "16")
        _, summary = self.trained(
            data={"path": "table"},
            model={"name": "wide_and_deep", "embedding": 4, "hidden": [8]},
            train=train(),
            search=search("val_auc"),
        )
        # No single category tells anything (0.5): only their product does.
        self.assertGreater(self.best(summary, "auc")["auc"], 0.9)
        self.check_predict("table", self.best(summary, "loss", "accuracy", "auc"))

    def test_lstm_on_sequences(self):
        def row(draw):
            kind = draw.randrange(2)
            return *(2 * kind - 1 + draw.gauss(0, 1) for _ in range(8)), kind

        self.numbers(",".join(f"x{i}" for i in range(8)) + ",y", row, "--shape", "4x2")
        _, summary = self.trained(
            data={"path": "table"}, model={"name": "lstm", "hidden": 8}, train=train(), search=search("val_auc")
        )
        best = max(trial["best"]["val_auc"] for trial in summary["trials"])
        self.assertGreater(best, 0.9)
        self.assertEqual((summary["metric"], summary["mode"], self.best(summary, "auc")["auc"]), ("val_auc", "max", best))
        self.check_predict("table", self.best(summary, "loss", "accuracy", "auc"))

    def test_gpt_on_text(self):
        (self.cwd / "book.txt").write_text("the quick brown fox jumps over the lazy dog. " * 200)
        code, out, err = self.run_hopscotch(
            "data", "import", "tokens", "book.txt", "--out", "book", "--shards", "2", "--context", "16"
        )
        self.assertEqual((code, err), (0, ""))
        self.assertIn("language, 256 tokens", out)
        _, summary = self.trained(
            data={"path": "book"},
            model={"name": "gpt", "layers": 1, "width": 16, "heads": 2},
            train=train(),
            search=search("val_perplexity"),
            space={"train.optimizer.lr": [0.003, 0.01]},
        )
        self.assertEqual(summary["mode"], "min")
        self.assertLess(self.best(summary, "perplexity")["perplexity"], 3)  # 256 at the start
        self.check_predict("book", self.best(summary, "loss", "accuracy", "perplexity"))
