# SPDX-License-Identifier: Apache-2.0
"""`hopscotch predict` of rows that no one imported. The oracle: the same rows in the dataset give the same predictions."""

import csv
import gzip
import io
import json
import random
import shutil
import struct
import subprocess
import zlib

from harness import Case, experiment

COLOURS = ["red", "blue", 'deep, "dark"']


def table(rows=240, seed=7):
    """Dictionaries: a number, a category, a number that is sometimes missing, and labels that follow from them."""
    rng = random.Random(seed)
    out = []
    for number in range(rows):
        age, colour = rng.randint(18, 80), rng.choice(COLOURS)
        income = "" if number % 9 == 0 else f"{rng.gauss(50, 10):.2f}"
        out.append(
            {
                "customer": f"c{number}, {colour}",
                "age": str(age),
                "colour": colour,
                "income": income,
                "bought": "yes" if (age > 45) != (colour == "red") else "no",
                "late": str(number % 2),
                "spent": str((age * 2 + len(colour)) / 100),
            }
        )
    return out


def text_of(rows, columns, header=True, delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    if header:
        writer.writerow(columns)
    writer.writerows([row[column] for column in columns] for row in rows)
    return out.getvalue()


# A TIFF block of one entry: the picture is to be turned by a quarter, clockwise.
LYING = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)


def png(pixels, depth=8, exif=None):
    """Of rows of grey pixels."""
    raw = b"".join(b"\0" + b"".join(pixel.to_bytes(depth // 8, "big") for pixel in row) for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), depth, 0, 0, 0, 0)
    about = chunk(b"IHDR", head) + (chunk(b"eXIf", exif) if exif else b"")
    return b"\x89PNG\r\n\x1a\n" + about + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


class NewRows(Case):
    def trained(self, text, *options, model=None, loss=None):
        """Imports, trains a little, and predicts the whole dataset."""
        self.imported_from(text, *options)
        train = {"epochs": 2, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.05}, **({"loss": loss} if loss else {})}
        self.write(
            experiment(
                data={"path": "table"},
                model=model or {"name": "mlp", "hidden": [8]},
                train=train,
                space={"train.optimizer.lr": [0.05]},
            )
        )
        self.succeed("--quiet", "--trainers", "2")
        self.predict("table", "known.csv")

    def predict(self, rows, out="p.csv", *options):
        code, said, err = self.run_hopscotch("predict", "out", rows, "--out", out, *options)
        self.assertEqual((code, err), (0, ""), said)
        return self.read(out)

    def read(self, name):
        with open(self.cwd / name, newline="") as file:
            return list(csv.DictReader(file))

    def same_as_known(self, rows, column):
        """In any order: the import shuffles. Batches are cut elsewhere, so the last digits may differ."""
        known = sorted(float(row[column]) for row in self.read("known.csv"))
        self.assertEqual(len(rows), len(known))
        self.assertGreater(len({f"{value:.4f}" for value in known}), 5)
        for new, old in zip(sorted(float(row[column]) for row in rows), known):
            self.assertAlmostEqual(new, old, delta=1e-4 * max(1, abs(old)))

    def refused(self, rows, *options):
        code, out, err = self.run_hopscotch("predict", "out", rows, "--out", "p.csv", *options)
        self.assertEqual((code, out), (2, ""), err)
        self.assertFalse((self.cwd / "p.csv").exists())
        self.assertFalse((self.cwd / "p.csv.tmp").exists())
        return err

    def test_a_table_of_numbers_and_categories(self):
        rows = table()
        self.trained(text_of(rows, ["age", "colour", "income", "bought"]), "--missing", "mean", "--label", "bought")
        # Other columns, another order, no label.
        (self.cwd / "new.csv").write_text(text_of(rows, ["spent", "customer", "income", "colour", "age"]))
        found = self.predict("new.csv", "p.csv", "--id", "customer")
        self.assertEqual(list(found[0]), ["customer", "prediction", "probability", "p_no", "p_yes"])
        self.assertEqual([row["customer"] for row in found], [row["customer"] for row in rows])
        self.same_as_known(found, "p_yes")
        numbered = self.predict("new.csv")
        self.assertEqual([row["row"] for row in numbered], [str(n) for n in range(len(rows))])
        self.assertEqual([row["p_yes"] for row in numbered], [row["p_yes"] for row in found])
        # The run directory alone knows the mapping.
        shutil.rmtree(self.cwd / "table")
        self.assertEqual(self.predict("new.csv"), numbered)

    def test_predictions_of_a_dataset_are_joined_to_the_source(self):
        rows = {row["customer"]: row for row in table()}
        text = text_of(rows.values(), ["customer", "age", "colour", "income", "bought"])
        (self.cwd / "new.csv").write_text(text)
        for named in (("--id", "customer"), ("--drop", "customer")):
            shutil.rmtree(self.cwd / "table", ignore_errors=True)
            shutil.rmtree(self.cwd / "out", ignore_errors=True)
            self.trained(text, "--missing", "mean", "--label", "bought", *named)
            known = self.read("known.csv")
            key = "customer" if named[0] == "--id" else "source_row"
            self.assertEqual(list(known[0])[:5], ["split", "shard", "row", key, "label"])
            self.assertEqual(len({row[key] for row in known}), len(rows))
            customers = list(rows)
            for row in known:
                customer = row["customer"] if key == "customer" else customers[int(row["source_row"])]
                self.assertEqual(row["label"], rows[customer]["bought"])
            # The column that named the rows at the import does so again.
            options = [] if named[0] == "--id" else ["--id", "customer"]
            new = {row["customer"]: row for row in self.predict("new.csv", "p.csv", *options)}
            for row in known:
                customer = row["customer"] if key == "customer" else customers[int(row["source_row"])]
                self.assertAlmostEqual(float(row["p_yes"]), float(new[customer]["p_yes"]), delta=1e-4)

    def test_everything_wrong_is_said_at_once(self):
        rows = table(60)
        self.trained(text_of(rows, ["age", "colour", "income", "bought"]), "--missing", "mean", "--label", "bought")
        (self.cwd / "typo.csv").write_text(
            text_of(rows, ["age", "colour", "income"]).replace("age,", "agee,").replace("income", "x")
        )
        self.assertEqual(
            self.refused("typo.csv"),
            "typo.csv: has no column 'age' (the model was trained with it); did you mean 'agee'?\n"
            "typo.csv: has no column 'income' (the model was trained with it)\n"
            "add the columns, or choose --missing mean (the mean of the training rows, and no category)\n",
        )
        self.assertEqual(len(self.predict("typo.csv", "p.csv", "--missing", "mean")), 60)
        (self.cwd / "p.csv").unlink()
        (self.cwd / "bad.csv").write_text("age,colour,income\n40,red,1\nold,green,\n41,green,2\n1e99,gr,3\n")
        self.assertEqual(
            self.refused("bad.csv", "--missing", "error"),
            "bad.csv:3: column 'age' has a cell that is not a finite float32 number (2 in all); correct it\n"
            "bad.csv:3: column 'income' has no value here (1 missing in all); fill it in, or choose --missing mean\n"
            "bad.csv:5: column 'colour' has 'gr' (the training rows did not; 1 in all); correct it, or choose --unseen "
            "none\n"
            "bad.csv:3: column 'colour' has 'green' (the training rows did not; 2 in all); correct it, or choose --unseen "
            "none\n",
        )
        (self.cwd / "unseen.csv").write_text("age,colour,income\n40,green,1\n40,,1\n")
        known, none = self.predict("unseen.csv", "p.csv", "--unseen", "none")
        self.assertEqual(known["p_yes"], none["p_yes"])
        (self.cwd / "p.csv").unlink()
        self.assertIn("unseen.csv:2: 2 cells (the first record has 3)", self.refused(self.ragged()))
        self.assertIn("--id custmer: no such column", self.refused("unseen.csv", "--id", "custmer"))
        self.assertIn("nowhere.csv: does not exist", self.refused("nowhere.csv"))
        self.assertIn("--split valid: unseen.csv is not a dataset directory", self.refused("unseen.csv", "--split", "valid"))
        self.assertIn("table is a dataset directory", self.refused("table", "--id", "age"))

    def test_another_delimiter_than_at_the_import(self):
        rows, columns = table(60), ["age", "colour", "income"]
        self.trained(text_of(rows, [*columns, "bought"]), "--missing", "mean", "--label", "bought")
        self.same_as_known(self.predict_text(text_of(rows, columns)), "p_yes")
        for delimiter, name in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
            (self.cwd / "p.csv").unlink()
            (self.cwd / "new.csv").write_text(text_of(rows, columns, delimiter=delimiter))
            shown = delimiter.join(columns)
            for options in ((), ("--missing", "mean")):  # which would predict every row from nothing
                self.assertEqual(
                    self.refused("new.csv", *options),
                    f"new.csv: has one column, '{shown}' (cells are separated by ','); choose --delimiter {name}\n",
                )
            self.same_as_known(self.predict("new.csv", "p.csv", "--delimiter", name.strip("'")), "p_yes")
        (self.cwd / "p.csv").unlink()
        self.assertIn("--delimiter ';;': must be one character", self.refused("new.csv", "--delimiter", ";;"))
        self.assertIn("table is a dataset directory", self.refused("table", "--delimiter", ";"))

    def test_another_delimiter_without_a_header(self):
        rows, columns = table(60), ["age", "bought", "income"]
        text = text_of(rows, columns, header=False, delimiter=";")
        self.trained(text, "--missing", "mean", "--label", "1", "--header", "no", "--delimiter", ";")
        (self.cwd / "new.csv").write_text(text.replace(";", ","))
        self.assertIn("(cells are separated by ';'); choose --delimiter ','", self.refused("new.csv"))
        self.same_as_known(self.predict("new.csv", "p.csv", "--delimiter", ","), "p_yes")

    def predict_text(self, text):
        (self.cwd / "new.csv").write_text(text)
        return self.predict("new.csv")

    def ragged(self):
        folder = self.cwd / "ragged"
        folder.mkdir()
        (folder / "unseen.csv").write_text("age,colour,income\n40,red\n")
        return "ragged/unseen.csv"

    def test_hashed_categories_and_targets(self):
        rows = table()
        columns = ["age", "colour", "income", "late"]
        options = ("--hash-buckets", "50", "--missing", "mean", "--regression", "--label", "spent", "--label", "late")
        self.trained(
            text_of(rows, [*columns, "spent"]), *options, model={"name": "wide_and_deep", "hidden": [8]}, loss="mse"
        )
        (self.cwd / "new.csv").write_text(text_of(rows, ["income", "colour", "age"]))
        found = self.predict("new.csv")
        self.assertEqual(list(found[0]), ["row", "prediction_spent", "prediction_late"])
        self.same_as_known(found, "prediction_spent")

    def test_without_a_header(self):
        rows = table()
        columns = ["age", "bought", "income"]
        self.trained(text_of(rows, columns, header=False), "--missing", "mean", "--label", "1", "--header", "no")
        for kept in (columns, ["age", "income"]):
            (self.cwd / "new.csv").write_text(text_of(rows, kept, header=False))
            self.same_as_known(self.predict("new.csv"), "p_yes")
        (self.cwd / "new.csv").write_text("1,2,3,4\n")
        (self.cwd / "p.csv").unlink()
        self.assertIn("new.csv: has 4 columns (the model was trained with 2, and 1 of labels", self.refused("new.csv"))

    def test_images(self):
        rng = random.Random(3)
        for label in ("cat", "dog"):
            for number in range(24):
                side = rng.randint(6, 12)
                pixels = [[rng.randrange(128) + (90 if label == "dog" else 0) for _ in range(side)] for _ in range(side + 2)]
                path = self.cwd / "photos" / label / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(pixels))
        command = ("data", "import", "images", "photos", "--out", "table", "--shards", "2", "--size", "8")
        code, _, err = self.run_hopscotch(*command)
        self.assertEqual(code, 0, err)
        self.write(
            experiment(data={"path": "table"}, model={"name": "mlp", "hidden": [8]}, space={"train.optimizer.lr": [0.03]})
        )
        self.succeed("--quiet", "--trainers", "2")
        self.predict("table", "known.csv")
        found = self.predict("photos")
        names = sorted(str(path.relative_to(self.cwd / "photos")) for path in (self.cwd / "photos").rglob("*.png"))
        self.assertEqual([row["file"] for row in found], names)
        self.same_as_known(found, "p_dog")
        known = {row["file"]: row for row in self.read("known.csv")}
        for row in found:
            self.assertAlmostEqual(float(row["p_dog"]), float(known[row["file"]]["p_dog"]), delta=1e-4)
        self.assertEqual(self.predict("photos/cat/3.png")[0]["p_dog"], found[names.index("cat/3.png")]["p_dog"])
        (self.cwd / "p.csv").unlink()
        (self.cwd / "photos/cat/3.png").write_bytes(b"no image")
        self.assertIn("photos/cat/3.png: ", self.refused("photos"))
        self.assertIn(
            "--id, --missing, --unseen and --delimiter are for the columns of a CSV file",
            self.refused("photos", "--id", "x"),
        )

    def test_images_of_16_bits_that_lie_on_their_side(self):
        rng = random.Random(4)
        for label in ("cat", "dog"):
            for number in range(24):
                pixels = [[rng.randrange(60) + (60 if label == "dog" else 0) for _ in range(7)] for _ in range(5)]
                path = self.cwd / "photos" / label / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(pixels, 16, LYING))
        code, said, err = self.run_hopscotch("data", "import", "images", "photos", "--out", "table", "--shards", "2")
        self.assertEqual(code, 0, err)
        self.assertIn("48 images are turned upright, as their EXIF orientation says", said)
        self.assertRegex(said, r"images of 16 bits: their values \d to 1\d\d become 0 to 255, one scale for all images")
        self.assertEqual(json.loads((self.cwd / "table/dataset.json").read_text())["shape"], [1, 7, 5])
        self.write(
            experiment(data={"path": "table"}, model={"name": "mlp", "hidden": [8]}, space={"train.optimizer.lr": [0.03]})
        )
        self.succeed("--quiet", "--trainers", "2")
        self.predict("table", "known.csv")
        self.same_as_known(self.predict("photos"), "p_dog")
        (self.cwd / "p.csv").unlink()
        (self.cwd / "photos/cat/3.png").write_bytes(png([[9] * 7] * 5, 8, LYING))
        self.assertIn("photos/cat/3.png: fewer than 16 bits a value", self.refused("photos"))

    def test_a_packed_table_has_its_own_name_in_errors(self):
        self.trained(text_of(table(), ["age", "bought"]), "--label", "bought")
        for text in ('"age\n', 'age\n"3\n'):
            (self.cwd / "new.csv.gz").write_bytes(gzip.compress(text.encode()))
            self.assertRegex(self.refused("new.csv.gz"), r"^new\.csv\.gz:\d")

    def test_a_model_that_does_not_know_its_import(self):
        self.trained(text_of(table(60), ["age", "bought"]))
        path = self.cwd / "out/best/model.json"
        about = json.loads(path.read_text())
        del about["model"]["import"]
        path.write_text(json.dumps(about))
        (self.cwd / "new.csv").write_text("age\n3\n")
        self.assertIn("a source that its best/model.json does not name", self.refused("new.csv"))
        self.assertEqual(len(self.predict("table")), 60)

    def test_datasets_with_other_offsets(self):
        def rows(first):
            return [
                {"count": str(1_700_000_000_000 + first + n * 37 % 11), "kind": ("yes", "no")[n % 3 == 0]} for n in range(60)
            ]

        columns = ["count", "kind"]
        for normalise in (True, False):
            with self.subTest(normalise=normalise):
                self.imported_from(text_of(rows(0), columns), out="table")
                self.write(
                    experiment(
                        data={"path": "table", "normalise": normalise},
                        model={"name": "mlp", "hidden": [8]},
                        train={"epochs": 2, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.01}},
                        space={"train.optimizer.lr": [0.01]},
                    )
                )
                self.succeed("--quiet", "--trainers", "2")
                later = text_of(rows(20), columns)
                self.imported_from(later, out="later")
                offsets = [
                    json.loads((self.cwd / name / "dataset.json").read_text())["feature_offset"]
                    for name in ("table", "later")
                ]
                self.assertEqual(offsets[1][0] - offsets[0][0], 20)
                self.predict("later", "known.csv")
                (self.cwd / "new.csv").write_text(later)
                self.same_as_known(self.predict("new.csv"), "p_yes")
                for name in ("table", "later", "out"):
                    shutil.rmtree(self.cwd / name)

    def inspect_tells_all(self, dataset):
        _, inspected, _ = self.run_hopscotch("data", "inspect", dataset)
        for sentence in json.loads((self.cwd / dataset / "dataset.json").read_text())["decisions"]:
            self.assertIn(sentence, inspected)

    def test_what_the_import_decided_is_obeyed(self):
        rows = [
            {
                "id": f"u{n}",
                "when": f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}T{n % 24:02d}:00",
                "count": str(1_700_000_000_000 + 7 * (n * 37 % 101)),
                "stadt": ("Malmö", "Göteborg", "Malmø")[n % 3],
                "kind": ("süd", "nord")[n % 3 == 0],
            }
            for n in range(120)
        ]
        columns = list(rows[0])
        (self.cwd / "table.csv").write_bytes(text_of(rows, columns).replace(",", ";").encode("latin-1"))
        options = ["--drop", "id", "--date", "when", "--delimiter", ";", "--encoding", "latin-1", "--label", "kind"]
        code, out, err = self.run_hopscotch(
            "data", "import", "csv", "table.csv", "--out", "table", "--shards", "2", *options
        )
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("column 'count': 1700000000000 is subtracted, as float32 has 24 bits", out)
        self.inspect_tells_all("table")
        self.write(experiment(data={"path": "table"}, space={"train.optimizer.lr": [0.05]}))
        self.succeed("--quiet", "--trainers", "2")
        self.predict("table", "known.csv")
        new = text_of(rows, columns[:-1]).replace(",", ";").encode("latin-1")
        (self.cwd / "new.csv").write_bytes(new)
        found = self.predict("new.csv", "p.csv", "--id", "id")
        self.same_as_known(found, "p_süd")
        # A pipe and a packed file are as good as a file.
        with open(self.cwd / "new.csv.gz", "wb") as file:
            file.write(gzip.compress(new))
        self.assertEqual(self.predict("new.csv.gz", "p.csv", "--id", "id"), found)
        done = subprocess.run(
            [*self.command(["predict", "out", "/dev/stdin", "--out", "p.csv", "--id", "id"], None)],
            cwd=self.cwd,
            input=new,
            capture_output=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("p.csv"), found)
