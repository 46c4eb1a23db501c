# SPDX-License-Identifier: Apache-2.0
"""Settings of training, augmentation, networks and weights that cannot be: told at their place in the experiment."""

import json

from harness import Case, experiment


class BadSettings(Case):
    def refused(self, blamed, message, space='"train.optimizer.lr": [0.1]', **sections):
        """blamed: the text in the experiment, one section a line, that the message points at (its first occurrence)."""
        lines = {"data": {"path": "digits"}, "model": {"name": "mlp", "hidden": [16]}, "train": {"epochs": 1}, **sections}
        text = "{\n" + "".join(f'  "{name}": {json.dumps(section)},\n' for name, section in lines.items())
        text += f'  "space": {{ {space} }},\n  "run": {{ "dir": "out" }}\n}}\n'
        self.write(text)
        before = text[: text.index(blamed)]
        place = f"e.json:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        self.refuse(f"{place}: {message}", "run", "e.json")

    def data(self, blamed, message, **keys):
        self.refused(blamed, message, data={"path": "digits", **keys})

    def model(self, blamed, message, **keys):
        self.refused(blamed, message, model={"name": "mlp", "hidden": [16], **keys})

    def train(self, blamed, message, **keys):
        self.refused(blamed, message, train={"epochs": 1, **keys})

    def test_augment(self):
        self.data(
            '"flpi"',
            '/data/augment/0: unknown value "flpi" (known: flip, crop, cutout); did you mean "flip"?',
            augment=["flpi"],
        )
        self.data(
            "4}",
            '/data/augment/1/size: size belongs to cutout (the name here is "crop"); leave it out',
            augment=["flip", {"name": "crop", "size": 4}],
        )
        self.data(
            '{"name": "crop"',
            "/data/augment/1: padding must be at least 0 and below the side of an image, 8 (got 8)",
            augment=["flip", {"name": "crop", "padding": 8}],
        )

    def test_augment_without_images(self):
        self.imported_from("a,b,label\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)))
        self.refused(
            '"flip"',
            "/data/augment/0: augments images only (the dataset's rows have 1 dimension); leave it out, or import the "
            "dataset with a shape CxHxW",
            data={"path": "table", "augment": ["flip"]},
        )

    def test_augment_in_the_space(self):
        self.refused(
            '["flop"]',
            '/space/data.augment: /data/augment/0: unknown value "flop" (known: flip, crop, cutout); did you mean "flip"?',
            '"data.augment": [["flip"], ["flop"]]',
        )
        self.refused(
            '{"name": "crop"',
            "/data/augment/0: padding must be at least 0 and below the side of an image, 8 (got 9)",
            '"data.augment": [["flip"], [{"name": "crop", "padding": 9}]]',
        )

    def test_losses(self):
        misfit = "/train/loss: bce_with_logits does not fit the dataset (it has classes); use cross_entropy"
        self.train('"bce_with_logits"', misfit, loss="bce_with_logits")
        self.refused('"bce_with_logits"', misfit, '"train.loss": ["cross_entropy", "bce_with_logits"]')
        self.train(
            '"bce"',
            '/train/loss: unknown value "bce" (known: cross_entropy, bce_with_logits, mse, huber, mae, quantile)',
            loss="bce",
        )
        self.train(
            "1}",
            '/train/huber_delta: huber_delta belongs to huber (the loss here is "cross_entropy"); leave it out',
            huber_delta=1,
        )

    def test_class_weights(self):
        self.train(
            "[1, 2, 3]",
            "/train/class_weights: has 3 numbers (the dataset has 10 outputs); give one for each",
            class_weights=[1, 2, 3],
        )
        self.train("[0, 0]", "/train/class_weights: element 0 must be greater than 0 (got 0)", class_weights=[0, 0])
        self.write(experiment())
        self.refuse(
            "--set train.class_weights=[1,2]: has 2 numbers (the dataset has 10 outputs); give one for each",
            "run",
            "e.json",
            "--set",
            "train.class_weights=[1,2]",
        )

    def test_numbers_out_of_range(self):
        self.train("7}", "/train/ema: must be at least 0 and below 1 (got 7)", ema=7)
        self.train("0}", "/train/accumulate: must be at least 1 (got 0)", accumulate=0)
        self.train("0}", "/train/clip_norm: must be greater than 0 (got 0)", clip_norm=0)
        self.train(
            '{"min_delta"',
            "/train/early_stopping/patience: missing (required); say after how many epochs without an improvement "
            "a trial ends",
            early_stopping={"min_delta": 7},
        )
        self.train(
            "7}",
            "/train/schedule/factor: must be greater than 0 and below 1 (got 7)",
            schedule={"name": "plateau", "factor": 7},
        )

    def test_weights_that_do_not_fit(self):
        self.model(
            '["layers',
            "/model/freeze: needs init_from (frozen parameters are not trained, so they need values); name a file",
            freeze=["layers.0.*"],
        )
        self.model(
            '"none.safetensors"',
            "/model/init_from: none.safetensors: cannot be opened; check the path",
            init_from="none.safetensors",
        )
        (self.cwd / "short.safetensors").write_bytes(bytes([9] + [0] * 7) + b"{}")
        self.model(
            '"short.safetensors"',
            "/model/init_from: short.safetensors: not a valid safetensors file (its header claims 9 bytes, the "
            "file has 10); write it again",
            init_from="short.safetensors",
        )

    def test_freezing_what_is_not_there(self):
        self.write(experiment(train={"epochs": 1}))
        self.succeed("--quiet", "--set", 'run.dir="first"')
        file = "first/best/model.safetensors"
        self.model(
            '["layer.*"]',
            '/model/freeze: "layer.*" matches no parameter (they are called layers.0.*, layers.1.*); choose from these',
            init_from=file,
            freeze=["layer.*"],
        )
        self.model(
            '["*"]',
            "/model/freeze: every parameter is frozen (nothing is left to train); freeze fewer",
            init_from=file,
            freeze=["*"],
        )
        self.refused(
            f'"{file}"',
            f"/model/init_from: {file}: other shapes: layers.0.bias ([16] in the file, [8] here), layers.0.weight "
            "([16, 64] in the file, [8, 64] here), layers.1.weight ([10, 16] in the file, [10, 8] here)",
            model={"name": "mlp", "hidden": [8], "init_from": file},
        )

    def test_networks_that_do_not_fit(self):
        for blamed, message, model in (
            (
                '"imgenet"',
                '/model/stem: unknown value "imgenet" (known: imagenet, cifar); did you mean "imagenet"?',
                {"name": "resnet18", "stem": "imgenet"},
            ),
            (
                '"wide_and_deep"',
                "/model/name: wide_and_deep needs at least one categorical feature (the dataset has numbers only); use "
                "mlp, or import with --hash-buckets",
                {"name": "wide_and_deep"},
            ),
            (
                '"gpt"',
                "/model/name: gpt needs a dataset of the task language (this one's is classification); use another model",
                {"name": "gpt"},
            ),
            (
                "3}",
                "/model/patch: 3 does not divide the images' sides (they are 8x8); choose another patch",
                {"name": "vit", "patch": 3},
            ),
        ):
            self.refused(blamed, message, model=model)

    def test_metrics_that_are_not_there(self):
        self.refused(
            '"val_r2"',
            '/search/metric: val_r2 needs targets (the loss is cross_entropy); use "val_loss" with mode "min"',
            search={"procedure": "grid", "metric": "val_r2"},
        )
        self.refused(
            '"val_auc"',
            '/search/metric: val_auc needs two classes or a multilabel dataset (this one has 10 classes); use "val_f1"',
            search={"procedure": "grid", "metric": "val_auc"},
        )

    def test_metrics_of_tokens(self):
        (self.cwd / "book.txt").write_text("to be or not to be " * 100)
        self.run_hopscotch("data", "import", "tokens", "book.txt", "--out", "book", "--shards", "2", "--context", "16")
        for metric, message in (
            ("val_f1", 'val_f1 is not measured on tokens; use "val_perplexity"'),
            ("val_auc", 'val_auc needs two classes or a multilabel dataset (this one has 256 tokens); use "val_perplexity"'),
        ):
            self.refused(
                f'"{metric}"',
                f"/search/metric: {message}",
                data={"path": "book"},
                model={"name": "gpt"},
                search={"procedure": "grid", "metric": metric},
            )

    def test_a_metric_that_the_validation_rows_cannot_give(self):
        """No trial could have it, whatever it learns; so nothing is trained."""
        for name, rows, options, metric, why in (
            ("rare", [f"{n},{'rare' if n == 7 else 'usual'}" for n in range(40)], (), "val_auc", "class 'rare'"),
            ("none", [f"{n},{int(n == 7)}" for n in range(40)], (), "val_f1", "class '1'"),
            ("labels", [f"{n},{int(n == 7)}" for n in range(40)], ("--multilabel",), "val_auc", None),
        ):
            with self.subTest(name):
                self.imported_from("a,y\n" + "\n".join(rows) + "\n", *options, out=name)
                counts = json.loads((self.cwd / name / "dataset.json").read_text())["valid_counts"]
                self.assertIn(0, counts, "the one row is for training")
                found = f"no validation row has the {why}" if why else "no label is true in some validation rows and false"
                text = "{" + f'"data": {{"path": "{name}"}}, "model": {{"name": "mlp", "hidden": [4]}},\n'
                text += '"train": {"epochs": 1}, "space": {"train.optimizer.lr": [0.1]}, "run": {"dir": "out"},\n'
                self.write(text + f'"search": {{"procedure": "grid", "metric": "{metric}"}}}}')
                code, out, err = self.run_hopscotch("run", "e.json")
                self.assertEqual((code, out), (2, ""))
                self.assertIn(f"e.json:3:43: /search/metric: {metric} cannot be computed ({found}", err)
                self.assertFalse((self.cwd / "out").exists())
                code, _, err = self.run_hopscotch("run", "e.json", "--dry-run", "--set", 'search.metric="val_loss"')
                self.assertEqual(code, 0, err)
