# SPDX-License-Identifier: Apache-2.0
"""What the three kinds of door_truth.py share: imports, reads shards with h5py, trains a little, compares predictions."""

import collections
import csv
import json
import math
import random
import subprocess

import h5py
import numpy

SPLITS = ("train", "valid", "test")
Row = collections.namedtuple("Row", "split shard at features label number name")


class Wrong(Exception):
    """A silent difference."""


def run(binary, folder, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def imported(binary, folder, *arguments):
    """None, or why the import refused."""
    code, out, err = run(binary, folder, "data", "import", *arguments, "--out", "out")
    if code == 2 and err.strip() and not out:
        return "refused: " + err.strip().split("\n")[-1]
    if code != 0:
        raise Wrong(f"exit code {code}: {err}{out}")
    return None


def texts(dataset):
    return bytes(dataset[:]).decode().split("\0")[:-1]


def stored(folder, exact=numpy.asarray):
    """The manifest, and every row; `exact` makes features of what h5py reads."""
    manifest = json.loads((folder / "out/dataset.json").read_text())
    with h5py.File(folder / "out/rows.h5") as file:
        numbers = iter(file["numbers"][:].tolist())
        names = iter(texts(file["names"]) if "names" in file else [""] * len(file["numbers"]))
    rows = []
    for split in SPLITS:
        for number, shard in enumerate(manifest[split]):
            with h5py.File(folder / "out" / shard["file"]) as file:
                pairs = zip(exact(file["features"][:]), file["labels"][:])
                rows += [
                    Row(split, number, at, features, label, next(numbers), next(names))
                    for at, (features, label) in enumerate(pairs)
                ]
    if sorted(row.number for row in rows) != list(range(len(rows))) and manifest["provenance"].get("missing") != "drop":
        raise Wrong(f"the rows of the source are {sorted(row.number for row in rows)}")
    return manifest, rows


def check_statistics(manifest, rows):
    """Mean and deviation of the training rows: by channel of an image, else by feature."""
    if manifest.get("categories"):
        return
    train = numpy.array([row.features for row in rows if row.split == "train"]).astype(numpy.float64)
    axes = (0, 2, 3) if train.ndim == 4 else 0
    spread = numpy.abs(train).max() + 1e-30
    for name, found in (("mean", train.mean(axis=axes)), ("stddev", train.std(axis=axes))):
        told = numpy.array(manifest[name])
        found = found.reshape(told.shape)
        known = found > 1e-6 * spread if name == "stddev" else numpy.full(found.shape, True)  # of a constant: any
        if not numpy.allclose(told[known], found[known], rtol=1e-4, atol=1e-6 * spread):
            raise Wrong(f"{name} is {told}, of the training rows {found}")


def check_classes_without_rows(manifest, rows):
    """The counts of each class, and the words about those that a split does not have."""
    names = manifest["class_names"] or [str(n) for n in range(manifest["outputs"])]
    for split, word in zip(SPLITS, ("training", "validation", "test")):
        if not manifest[split]:
            continue
        counts = [0] * len(names)
        for row in rows:
            if row.split == split:
                counts[row.label] += 1
        if manifest[f"{split}_counts"] != counts:
            raise Wrong(f"{split}_counts {manifest[f'{split}_counts']} instead of {counts}")
        missing = [f"'{name}'" for name, count in zip(names, counts) if count == 0]
        told = [text for text in manifest["decisions"] if text.startswith(f"no {word} row of class")]
        expected = ", ".join(missing[:10]) + (f", and {len(missing) - 10} more" if len(missing) > 10 else "")
        if bool(missing) != bool(told) or (missing and not told[0].endswith(f" {expected}")):
            raise Wrong(f"classes without {word} rows are {missing}; told: {told}")


class Splits:
    """Fractions for validation and test, drawn by seed; given: the splits that the source has."""

    def __init__(self, seed, given=(), stratify=True):
        rng = random.Random(f"splits {seed}")
        self.given, self.valid, self.test = set(given) - {None, "train"}, 0.2, 0.0
        self.options = ["--seed", rng.choice([0, 1, 2**63 - 1])]
        if rng.random() < 0.4:
            self.valid, self.test = rng.choice([(0.3, 0.2), (0.25, 0), (0.2, 0.5), (0.5, 0.3)])
            self.options += ["--valid", self.valid, "--test", self.test]
        self.stratified = stratify and rng.random() < 0.7
        if stratify and not self.stratified:
            self.options.append("--no-stratify")

    def check(self, rows, is_class):
        """As many rows as the fractions say, of those that the source gives to no other split; of each class its share."""
        free = [row for row in rows if row.split not in self.given]
        for split, fraction in (("valid", self.valid), ("test", self.test)):
            if split in self.given:
                continue
            drawn = [row for row in free if row.split == split]
            if len(drawn) != math.floor(len(free) * fraction + 0.5):
                raise Wrong(f"{len(drawn)} {split} rows, {fraction} of {len(free)}")
            for label in {int(row.label) for row in free} if is_class and self.stratified else ():
                share = fraction * sum(row.label == label for row in free)
                found = sum(row.label == label for row in drawn)
                if abs(found - share) > 1.5:  # validation took whole rows before test did
                    raise Wrong(f"{found} {split} rows of class {label} instead of {share:.1f}")


def require_told(manifest, *sentences):
    for sentence in sentences:
        if not any(sentence in told for told in manifest["decisions"]):
            raise Wrong(f"not told: {sentence!r}; told: {manifest['decisions']}")


def require_untold(manifest, sentence):
    if any(sentence in told for told in manifest["decisions"]):
        raise Wrong(f"told without a reason: {sentence!r}; told: {manifest['decisions']}")


def train_a_little(binary, folder, model, **train):
    """False if the numbers are too large to be learnt as they are."""
    experiment = {
        "name": "door",
        "data": {"path": "out"},
        "model": model,
        "train": {"epochs": 1, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.01}, **train},
        "search": {"procedure": "grid", "metric": "val_loss"},
        "space": {"train.optimizer.lr": [0.01]},
        "run": {"dir": "run", "device": "cpu"},
    }
    (folder / "e.json").write_text(json.dumps(experiment))
    code, out, err = run(binary, folder, "run", "e.json", "--quiet", "--trainers", "1")
    if code != 0 and "diverged" not in err:
        raise Wrong(f"run: {code}: {err}{out}")
    return code == 0


def works(binary, folder, *arguments):
    code, out, err = run(binary, folder, *arguments)
    if code != 0:
        raise Wrong(f"{' '.join(map(str, arguments))}: {code}: {err}{out}")


def predictions(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def same_numbers(row, other, columns, scale=1):
    for name in columns:
        a, b = float(row[name]), float(other[name])
        if abs(a - b) > 1e-4 * scale and not (math.isnan(a) and math.isnan(b)):
            raise Wrong(f"row {row}: {name} of the dataset {a}, of the file {b}")
