# SPDX-License-Identifier: Apache-2.0
"""`hopscotch init`: the experiment of each kind of dataset is accepted as it is, and finds something."""

import random
import re
import unittest

from harness import Case, strict_json


class Init(Case):
    def started(self, dataset):
        (self.cwd / "first.json").unlink(missing_ok=True)
        code, out, err = self.run_hopscotch("init", dataset, "--out", "first.json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "first.json\nnext: hopscotch run first.json --dry-run\n")
        text = (self.cwd / "first.json").read_text()
        (self.cwd / "first.json").unlink()
        self.assertEqual(self.run_hopscotch("init", dataset), (0, text, ""))
        (self.cwd / "first.json").write_text(text)
        code, out, err = self.run_hopscotch("run", "first.json", "--dry-run", "--trainers", "2")
        self.assertEqual((code, err), (0, ""), out + text)
        return text

    def model(self, text):
        return re.search(r'"model": \{ "name": "(\w+)"', text)[1]

    def imported_table(self, out, *options):
        rng = random.Random(5)
        rows = [f"{rng.random():.3f},{rng.choice('xyz')},{rng.choice(['no', 'yes'])}" for _ in range(80)]
        self.imported_from("a,b,y\n" + "\n".join(rows) + "\n", *options, out=out)

    def test_digits_are_learned_without_an_edit(self):
        text = self.started("digits")
        self.assertEqual(self.model(text), "mlp" if "of 64," in text else "lenet")
        code, out, err = self.run_hopscotch("run", "first.json", "--quiet", "--trainers", "2", "--set", "search.trials=9")
        self.assertEqual(code, 0, err + out)
        summary = strict_json((self.cwd / "runs/digits/summary.json").read_text())
        self.assertGreater(summary["trials"][summary["best_trial"]]["best"]["val_accuracy"], 0.9)

    def test_each_kind_of_dataset(self):
        for out, options, model, word in (
            ("plain", (), "mlp", "val_accuracy"),
            ("hashed", ("--hash-buckets", "10"), "wide_and_deep", "val_accuracy"),
            ("all", ("--valid", "0"), "mlp", '"folds": 2'),
        ):
            with self.subTest(out):
                self.imported_table(out, *options)
                text = self.started(out)
                self.assertEqual(self.model(text), model)
                self.assertIn(word, text)

    def test_targets(self):
        for out, option, loss, metric in (
            ("numbers", "--regression", "mse", "val_r2"),
            ("flags", "--multilabel", "bce_with_logits", "val_loss"),
        ):
            with self.subTest(out):
                rng = random.Random(6)
                rows = [f"{rng.random():.3f},{rng.randrange(2)},{rng.randrange(2)}" for _ in range(80)]
                self.imported_from("a,b,y\n" + "\n".join(rows) + "\n", option, out=out)
                text = self.started(out)
                self.assertIn(f'"loss": "{loss}"', text)
                self.assertIn(f'"metric": "{metric}"', text)

    def test_images(self):
        """cnn for pictures, with augmentation where they have colours."""
        rng = random.Random(7)
        for sides, model in (((3, 20, 20), "cnn"), ((1, 12, 12), "lenet"), ((3, 64, 64), "resnet18")):
            with self.subTest(sides=sides):
                size = sides[0] * sides[1] * sides[2]
                out = "x".join(map(str, sides))
                rows = [",".join(str(rng.randrange(256)) for _ in range(size)) + f",{n % 2}" for n in range(24)]
                header = ",".join(f"p{n}" for n in range(size)) + ",label\n"
                self.imported_from(header + "\n".join(rows) + "\n", "--shape", out, "--valid", "0.25", out=out)
                text = self.started(out)
                self.assertEqual(self.model(text), model)
                self.assertEqual("augment" in text, sides[0] == 3)

    def test_what_cannot_be(self):
        code, _, err = self.run_hopscotch("init", "nowhere")
        self.assertEqual(code, 2)
        self.assertIn("nowhere: no such dataset directory", err)
        (self.cwd / "mine.json").write_text("mine")
        self.refuse(
            "--out mine.json: exists (it may have been edited); name another file, or remove it",
            *("init", "digits", "--out", "mine.json"),
        )

    def test_a_file_that_people_edit(self):
        """Comments and last commas are accepted in experiments; errors name the right place."""
        (self.cwd / "e.json").write_text('// mine\n{\n  "name": "a",  // b, }\n  "seeed": 3,\n}\n')
        code, _, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("e.json:4:3: /seeed", err)


if __name__ == "__main__":
    unittest.main()
