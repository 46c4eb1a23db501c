# SPDX-License-Identifier: Apache-2.0
"""model.cache_frozen: the frozen layers at the start of a network compute each row once."""

from harness import LONG, known
from resume_test import Disturbed

# What an experiment with this strategy needs beside it.
BESIDE = {"group_all_reduce": {"group_size": 2}}


class FrozenLayers(Disturbed):
    def setUp(self):
        super().setUp()
        self.succeed_with("first", {"channels": [4, 6], "dropout": 0.1})

    def succeed_with(self, folder, model, *args, np=None, **run):
        document = {
            "name": "frozen",
            "seed": 3,
            "data": {"path": "digits"},
            "model": {"name": "cnn", **model},
            "train": {"epochs": 2, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
            "space": {"train.optimizer.lr": [0.03, 0.1]},
            "run": {"dir": folder, "device": "cpu", **run.pop("in_run", {})},
            **run,
        }
        self.write(document)
        return self.succeed(*args, np=np)[1]

    def cached(self, folder, *args, np=None, **run):
        model = {
            "channels": [4, 6],
            "dropout": 0.1,
            "init_from": "first/best/model.safetensors",
            "init_mode": "head",
            "freeze": ["layers.*"],
            "cache_frozen": True,
        }
        return self.succeed_with(folder, model, *args, np=np, **run)

    def test_same_bits_on_any_trainers(self):
        told = "computed more than once"
        self.assertNotIn(told, self.cached("one", "--trainers", "1"))
        expected = self.outcome("one")
        self.cached("ranks", np=4)
        self.assertEqual(self.outcome("ranks"), expected)
        # No two shards fit: each is computed again and again.
        self.assertIn(told, self.cached("tight", "--trainers", "2", in_run={"state_memory": "1kB"}))
        self.assertEqual(self.outcome("tight"), expected)
        code, out, err = self.run_hopscotch("replay", "one")
        self.assertEqual((code, err), (0, ""), out)

    def test_the_best_model_is_whole(self):
        self.cached("out")
        summary = self.summary()
        best = summary["trials"][summary["best_trial"]]["best"]
        code, out, err = self.run_hopscotch("predict", "out", "digits", "--split", "valid", "--out", "p.csv")
        self.assertEqual(code, 0, err)
        self.assertIn(f"accuracy {best['val_accuracy']:.4f}", out)
        self.assertGreater(best["val_accuracy"], 0.5)

    def test_every_strategy_trains_on_cached_layers(self):
        for name in known("strategy", "name"):
            if not LONG and name in ("sequential", "mop"):
                continue  # of the test above
            with self.subTest(strategy=name):
                self.cached(name, "--trainers", "2", strategy={"name": name, **BESIDE.get(name, {})})
                trials = self.summary(name)["trials"]
                self.assertEqual({trial["status"] for trial in trials}, {"finished"})
                self.assertGreater(max(trial["best"]["val_accuracy"] for trial in trials), 0.5)

    def test_the_dry_run_offers_it(self):
        model = {"init_from": "first/best/model.safetensors", "channels": [4, 6], "freeze": ["layers.*"]}
        for cached, said in ((False, "once, with model.cache_frozen"), (True, "compute each row once")):
            self.write(
                {
                    "name": "frozen",
                    "data": {"path": "digits"},
                    "model": {"name": "cnn", **model, **({"cache_frozen": True} if cached else {})},
                    "train": {"epochs": 1},
                    "space": {"train.optimizer.lr": [0.1]},
                    "run": {"dir": "dry"},
                }
            )
            code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
            self.assertEqual((code, err), (0, ""), out)
            self.assertIn(said, " ".join(out.split()))

    def test_what_it_needs(self):
        def refused(change):
            document = {
                "name": "frozen",
                "data": {"path": "digits"},
                "model": {"name": "cnn", "channels": [4, 6], "cache_frozen": True, **change.pop("model", {})},
                "train": {"epochs": 1},
                "space": {"train.optimizer.lr": [0.1]},
                "run": {"dir": "dry"},
            }
            for section, keys in change.items():
                document[section] = {**document[section], **keys}
            self.write(document)
            code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
            self.assertEqual(code, 2, out)
            return err

        weights = {"init_from": "first/best/model.safetensors"}
        self.assertIn("/model/cache_frozen: needs freeze", refused({"model": weights}))
        self.assertIn(
            "/model/cache_frozen: the first layer trains (layers.0.conv.weight)",
            refused({"model": {**weights, "freeze": ["layers.1.*"]}}),
        )
        self.assertIn(
            "/model/cache_frozen: data.augment changes the rows",
            refused({"model": {**weights, "freeze": ["layers.*"]}, "data": {"augment": [{"name": "flip"}]}}),
        )
