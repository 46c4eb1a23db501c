# SPDX-License-Identifier: Apache-2.0
"""Arrays whose truth is known, by seed: every number, label, class and split, of npy, npz, HDF5, IDX, CIFAR and token files.
numpy is the second opinion. For door_truth.py."""

import collections
import pathlib
import random
import tempfile

import door_binaries
import h5py
import numpy
from door_array_files import ARRAY_NAMES, FLOATS, INTEGERS, NPY_NAMES, SHAPES, Labels, features, name_of, write_h5, write_npy
from door_common import (
    Splits,
    Wrong,
    check_classes_without_rows,
    check_statistics,
    imported,
    predictions,
    require_told,
    require_untold,
    stored,
    train_a_little,
    works,
)

Part = collections.namedtuple("Part", "features labels split")  # split None: the training split of the source
KINDS = ["npy", "npy", "npz", "npz", "h5", "h5", "h5", "idx", "cifar", "tokens"]


class Arrays:
    """parts: rows as they must be stored; told, untold: the account; refused: why an import must not take it."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.parts, self.told, self.untold, self.options = [], [], [], []
        self.task, self.refused, self.class_names, self.outputs, self.categories = "classification", None, None, None, []
        self.kind = self.rng.choice(KINDS)

    def add(self, rows, labels, split):
        self.parts.append(Part(rows, labels, split))

    def write(self, folder):
        """The arguments of the import."""
        (folder / "files").mkdir()
        if self.kind in ("idx", "cifar", "tokens"):
            return getattr(door_binaries, self.kind)(self, folder / "files")
        return ["h5" if self.kind == "h5" else "npy", *self.containers(folder / "files"), *self.options]

    def containers(self, folder):
        rng = self.rng
        self.shape, rows = rng.choice(SHAPES), rng.randint(16, 80)
        if len(self.shape) < 2 and rng.random() < 0.04:
            self.shape, rows = (2,), rng.randint(4000, 9000)  # more than is read at once
        labels = Labels(rng, rows, self.kind == "h5" or rng.random() < 0.05)
        self.task, self.refused, self.labels_kind = labels.task, labels.refused, labels.kind
        self.options += labels.options
        self.dtype = rng.choice(INTEGERS + FLOATS * 2)
        arrays = [(features(rng, rows, self.shape, self.dtype), labels.values, None)]
        if rng.random() < 0.25:
            dtype = rng.choice([self.dtype, self.dtype, *INTEGERS, *FLOATS])
            count = rng.randint(8, rows)
            split = rng.choice(["test", "valid"])
            arrays.append((features(rng, count, self.shape, dtype), labels.values[:count], split))
        self.spoil(arrays)
        self.shaped()
        sources = getattr(self, f"write_{self.kind}")(folder, arrays)
        for part in arrays:
            self.add(self.laid_out(part[0]), part[1], part[2])
        self.expect(arrays)
        return sources

    def spoil(self, arrays):
        rng, values = self.rng, arrays[-1][0]
        if values.dtype.kind == "f" and rng.random() < 0.05:
            values.ravel()[rng.randrange(values.size)] = rng.choice([numpy.nan, numpy.inf, -numpy.inf])
            self.refused = "a feature is not a number"
        elif rng.random() < 0.04:
            self.refused = "a row has no label"
            arrays[-1] = (values, arrays[-1][1][:-1], arrays[-1][2])
        elif rng.random() < 0.04:
            self.refused = "there are no rows"
            arrays[-1] = (values[:0], arrays[-1][1][:0], arrays[-1][2])

    def shaped(self):
        """--shape, --channels and --vocabulary: where the channels of a row are."""
        rng, size = self.rng, int(numpy.prod(self.shape))
        self.given = self.shape or (1,)
        if rng.random() < 0.25:
            self.given = rng.choice([(size,), (1, 1, size), (1, size, 1), *([(size // 3, 1, 3)] if size % 3 == 0 else [])])
            self.options += ["--shape", "x".join(map(str, self.given))]
        channels = rng.choice(["auto", "auto", "first", "last"])
        if channels == "last" and len(self.given) != 3:
            channels = "auto"
        if channels != "auto" or rng.random() < 0.2:
            self.options += ["--channels", channels]
        few = len(self.given) == 3 and self.given[2] in (1, 3, 4) and self.given[0] not in (1, 3, 4)
        self.last = channels == "last" or (channels == "auto" and few)
        if rng.random() < (0.3 if self.dtype in ("|u1", "|b1", "|i1") else 0.03):
            self.categories = [1000]
            self.options += ["--vocabulary", 1000]

    def laid_out(self, values):
        values = values.reshape(len(values), *self.given)
        return values.transpose(0, 3, 1, 2) if self.last else values

    def maybe_fortran(self, array):
        if array.dtype == object:  # texts of npy are refused
            return array.astype("U")
        return numpy.asfortranarray(array) if self.rng.random() < 0.05 else array

    def write_npy(self, folder, arrays):
        rng, sources = self.rng, []
        for (rows, labels, split), names in zip(arrays, [rng.choice(NPY_NAMES if len(arrays) == 1 else NPY_NAMES[:2])] * 2):
            kind = "" if len(arrays) == 1 else f"_{split or 'train'}"
            names = [name.replace(".npy", kind + ".npy") for name in names]
            for name, array in zip(names, (rows, labels)):
                write_npy(rng, folder / name, self.maybe_fortran(array))
            named = names[1].startswith(("y", "labels", "Y"))
            sources += names if not named or rng.random() < 0.7 else names[::-1]
            self.told_rows(rows, names, split)
        return [f"files/{name}" for name in sources]

    def told_rows(self, rows, names, split):
        words = {None: "", "test": ", as the test split of the source", "valid": ", as the valid split of the source"}
        self.told.append(f"{len(rows)} rows of '{names[0]}' with the labels '{names[1]}'{words[split]}")

    def array_names(self, arrays, join):
        """Names that are found, or that options tell."""
        names = self.rng.choice(ARRAY_NAMES if len(arrays) == 1 else ARRAY_NAMES[:4])
        if names == ARRAY_NAMES[4]:
            self.options += ["--features", names[0], "--labels", names[1]]
        for rows, labels, split in arrays:
            used = names if len(arrays) == 1 else tuple(join(split or "train", name) for name in names)
            self.told_rows(rows, used, split)
            yield (used[0], rows), (used[1], labels)

    def write_npz(self, folder, arrays):
        join = self.rng.choice(["{1}_{0}", "{0}_{1}"]).format
        members = {}
        for pair in self.array_names(arrays, join):
            members.update((name, self.maybe_fortran(array)) for name, array in pair)
        self.rng.choice([numpy.savez, numpy.savez_compressed])(folder / "a 50%.npz", **members)
        return ["files/a 50%.npz"]

    def write_h5(self, folder, arrays):
        join = self.rng.choice(["{1}_{0}", "{0}/{1}"]).format
        with h5py.File(folder / "é.h5", "w", libver=self.rng.choice(["earliest"] * 4 + ["latest"])) as file:
            for pair in self.array_names(arrays, join):
                for name, array in pair:
                    write_h5(self.rng, file, name, array)
            if self.rng.random() < 0.3:
                file.create_dataset("notes", data="made by hand")
        return ["files/é.h5"]

    def expect(self, arrays):
        """What the account must say of these arrays."""
        types = {name_of(rows.dtype) for rows, _, _ in arrays}
        if self.kind == "h5":  # h5py stores bool as an enumeration
            types = {"int8" if name == "bool" else name for name in types}
        self.type = "uint8" if types == {"uint8"} else "float32"
        changed = sorted(types - {self.type})
        for name in changed:
            self.told.append(f"{name}")
        (self.told if changed else self.untold).append(f"become {self.type}" if changed else "features of ")
        (self.told if self.last else self.untold).append("channels were last (NHWC)")
        if self.categories:
            self.told.append("features are ids below 1000")


def exact(array):
    """Python's own integers, or float64."""
    return [int(v) if isinstance(v, bool) else v for v in array.ravel().tolist()]


class Check:
    def __init__(self, made, manifest, rows):
        self.made, self.manifest, self.rows = made, manifest, rows
        self.truth = [
            (part.features[i], part.labels[i], part.split) for part in made.parts for i in range(len(part.features))
        ]
        size = int(numpy.prod(manifest["shape"]))
        self.offsets = manifest.get("feature_offset") or [0] * size
        self.seen = collections.defaultdict(lambda: (set(), set()))  # by feature: exact and stored numbers
        self.targets = collections.defaultdict(lambda: (set(), set()))

    def all(self):
        made = self.made
        if made.refused:
            raise Wrong(f"accepted, though {made.refused}")
        if (self.manifest["task"], len(self.rows)) != (made.task, len(self.truth)):
            raise Wrong(f"{self.manifest['task']} of {len(self.rows)} rows, not {made.task} of {len(self.truth)}")
        if (self.manifest.get("categories") or []) != made.categories:
            raise Wrong(f"categories {self.manifest['categories']}")
        self.classes()
        for row in self.rows:
            self.row(row)
        self.losses()
        check_statistics(self.manifest, self.rows)
        if made.task == "classification":
            check_classes_without_rows(self.manifest, self.rows)
        require_told(self.manifest, *made.told)
        for words in made.untold:
            require_untold(self.manifest, words)

    def classes(self):
        """The names of the classes, if numbers from 0 up are not their own names."""
        if self.made.task != "classification":
            return
        labels = {exact(numpy.asarray(label))[0] for _, label, _ in self.truth}
        labels = {int(label) if isinstance(label, float) else label for label in labels}
        ordered = sorted(labels, key=lambda label: label.encode() if isinstance(label, str) else label)
        names = [] if ordered == list(range(len(ordered))) else [str(label) for label in ordered]
        wanted = names if self.made.class_names is None else self.made.class_names
        if self.manifest["class_names"] != wanted:
            raise Wrong(f"classes {self.manifest['class_names']} instead of {wanted}")
        if self.manifest["outputs"] != (self.made.outputs or len(ordered)):
            raise Wrong(f"{self.manifest['outputs']} outputs")

    def row(self, row):
        rows, label, split = self.truth[row.number]
        if row.split != (split or row.split) or (not split and any(row.split == part.split for part in self.made.parts)):
            raise Wrong(f"row {row.number} of {split or 'train'} is in {row.split}")
        if rows.shape != row.features.shape:
            raise Wrong(f"row {row.number} has shape {row.features.shape} instead of {rows.shape}")
        for at, (found, wanted) in enumerate(zip(exact(row.features), exact(rows))):
            self.number(row, at, found, wanted)
        self.label(row, label)

    def number(self, row, at, found, wanted):
        offset = self.offsets[at]
        if isinstance(wanted, int):
            same = found == int(found) and int(found) + int(offset) == wanted
        else:
            same = found == float(numpy.float32(wanted - offset))
        if not same:
            raise Wrong(f"row {row.number}, element {at}: {wanted!r} became {found!r} + {offset!r}")
        told_apart = at if len(self.manifest["shape"]) == 1 else 0
        self.seen[told_apart][0].add(wanted)
        self.seen[told_apart][1].add(found)

    def label(self, row, label):
        wanted = exact(numpy.asarray(label))
        if self.made.task == "classification":
            names = self.manifest["class_names"]
            if self.made.kind == "cifar":
                names = []
            found = names[row.label] if names else str(row.label)
            if found != (str(int(wanted[0])) if not isinstance(wanted[0], str) else wanted[0]):
                raise Wrong(f"row {row.number}: label {wanted[0]!r} became {found!r}")
        elif self.made.task == "language":
            if int(row.label) != wanted[0]:
                raise Wrong(f"row {row.number}: the next token is {wanted[0]}, not {row.label}")
        else:
            self.target(row, wanted)

    def target(self, row, wanted):
        """Stored in deviations from the mean, or as it is."""
        means, deviations = (
            self.manifest.get(f"target_{name}") or [start] * len(wanted) for name, start in (("mean", 0), ("stddev", 1))
        )
        if len(row.label) != len(wanted) or self.manifest["outputs"] != len(wanted):
            raise Wrong(f"{len(row.label)} targets instead of {len(wanted)}")
        for at, (found, value) in enumerate(zip(row.label.tolist(), wanted)):
            kept = numpy.float32((value - means[at]) / deviations[at])
            if abs(found - kept) > 1e-7 * abs(kept):
                raise Wrong(f"row {row.number}, target {at}: {value!r} became {found!r} instead of {kept!r}")
            self.targets[at][0].add(value)
            self.targets[at][1].add(found)

    def losses(self):
        """Offsets are told, and numbers that become equal are, too."""
        shifted = [(at, offset) for at, offset in enumerate(self.offsets) if offset]
        for at, offset in shifted[:10]:
            require_told(self.manifest, f"{int(offset)} from feature {at}")
        if not shifted:
            require_untold(self.manifest, "subtracted")
        lost = [len(after) / len(before) for before, after in self.seen.values()]
        large = max(len(before) for before, _ in self.seen.values()) > 1000  # of these, a sample is looked at
        if min(lost) < (0.9 if large else 1):
            require_told(self.manifest, "become equal to others")
        elif min(lost) == 1:
            require_untold(self.manifest, "become equal to others")
        for at, (before, after) in self.targets.items():
            if len(after) < len(before) * (0.9 if len(before) > 1000 else 1):
                require_told(self.manifest, f"target {at}: about")


def check_predictions(binary, folder, check):
    """Trained a little: every prediction stands beside the label of its row in the source."""
    made = check.made
    if made.task == "language" or made.categories:
        return
    loss = {"regression": "mse", "multilabel": "bce_with_logits"}.get(made.task, "cross_entropy")
    if not train_a_little(binary, folder, {"name": "mlp", "hidden": [4]}, loss=loss):
        return
    works(binary, folder, "predict", "run", "out", "--out", "known.csv")
    place = {(row.split, str(row.shard), str(row.at)): row.number for row in check.rows}
    for row in predictions(folder / "known.csv"):
        number = place[row["split"], row["shard"], row["row"]]
        if int(row["source_row"]) != number:
            raise Wrong(f"row {row}: is row {number} of the source")
        wanted = exact(numpy.asarray(check.truth[number][1]))
        if made.task == "classification":
            name = made.class_names[wanted[0]] if made.class_names else wanted[0]
            if row["label"] != str(int(name) if isinstance(name, float) else name):
                raise Wrong(f"row {row}: label {name!r}")
            continue
        told = [float(cell) for column, cell in row.items() if column.startswith(("target_", "label_"))]
        scale = max(check.manifest.get("target_stddev") or [0]) * 1e-5
        if len(told) != len(wanted) or any(abs(a - b) > scale + 1e-5 * abs(b) for a, b in zip(told, wanted)):
            raise Wrong(f"row {row}: targets {wanted}")


def try_seed(binary, seed, predict):
    """ "refused" with the reason, or "same"; raises Wrong."""
    made = Arrays(seed)
    with tempfile.TemporaryDirectory(prefix="hopscotch-door-") as name:
        folder = pathlib.Path(name)
        arguments = made.write(folder)
        splits = Splits(seed, [part.split for part in made.parts], made.kind != "tokens")
        refused = imported(binary, folder, *arguments, "--shards", 1 + seed % 2, *splits.options)
        if refused:
            return refused
        check = Check(made, *stored(folder))
        check.all()
        splits.check(check.rows, made.task == "classification")
        if predict:
            check_predictions(binary, folder, check)
    return "same"
