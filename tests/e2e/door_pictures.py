# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures whose truth is known, by seed: every pixel, class, split and name. For door_truth.py."""

import pathlib
import random
import tempfile

import numpy
from door_common import (
    Splits,
    Wrong,
    check_classes_without_rows,
    check_statistics,
    imported,
    predictions,
    require_told,
    require_untold,
    run,
    same_numbers,
    stored,
    train_a_little,
    works,
)
from door_picture import COLOUR_KINDS, GREY_KINDS, any_picture, brought_to, deep_picture

CLASSES = ["cat", "Dog", "10", "9", "a b", "50%", "Malmö", "日本", "x,y", "né", "ne\u0301", "it's", "#1", "-v", "valid_"]
NAMES = [
    "{n}",
    "img {n}",
    "é{n}",
    "50%{n}",
    "{n}.jpg",
    "a,b{n}",
    'q"{n}',
    "日本{n}",
    "-{n}",
    "#{n}",
    "IMG_{n:04d}",
    "l\nf{n}",
]
SPLIT_FOLDERS = {
    "none": [("", "train")],
    "train test": [("train", "train"), ("test", "test")],
    "all": [("train", "train"), ("val", "valid"), ("test", "test")],
    "odd case": [("Train", "train"), ("VALID", "valid")],
    "alone": [("train", "train")],
}
SPOILT = ["none"] * 12 + ["empty class", "nested", "outside", "sizes", "one class", "test class", "two of one split"]


class Pictures:
    """files: path in the folder -> (class, split, Picture), in the order of the import; junk: path -> bytes."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.options = []
        self.size = rng.choice([None, None, rng.randint(1, 12)])
        self.resize = "crop"
        if self.size:
            self.resize = rng.choice(["crop", "fit"])
            self.options += ["--size", self.size, "--resize", self.resize]
        self.colour = rng.choice(["auto", "auto", "grey", "rgb"])
        if self.colour != "auto" or rng.random() < 0.2:
            self.options += ["--colour", self.colour]
        self.depth = rng.choice(["eight"] * 5 + ["deep", "deep", "mixed"])
        low = rng.choice([0, 0, 300, 20000])
        self.range = (low, rng.choice([low + 1, low + 119, low + 4095, low + 32767, low + 32768, 65535]))
        self.kinds = GREY_KINDS if rng.random() < 0.35 else COLOUR_KINDS
        self.turned = rng.random() < 0.5
        self.common = (rng.randint(1, 12), rng.randint(1, 12))
        self.spoilt = rng.choice(SPOILT)
        self.files, self.junk, self.bad = {}, {}, []
        self.fill()
        self.spoil()
        self.add_junk()

    def picture(self):
        rng = self.rng
        height, width = (rng.randint(1, 20), rng.randint(1, 20)) if self.size else self.common
        orientation = rng.choice([None, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0, 9]) if self.turned else None
        if self.depth == "deep" or (self.depth == "mixed" and rng.random() < 0.3):
            if orientation is not None and 5 <= orientation <= 8:
                height, width = width, height
            return deep_picture(rng, (height, width), orientation, self.range, self.kinds is GREY_KINDS)
        return any_picture(rng, self.kinds, height, width, orientation)

    def file_name(self, number, data):
        rng = self.rng
        right = [".png", ".PNG", ".Png"] if data.startswith(b"\x89PNG") else [".jpg", ".jpeg", ".JPG", ".JPEG"]
        extension = rng.choice(right if rng.random() < 0.9 else [".png", ".jpg"])  # the first bytes tell the format
        return rng.choice(NAMES).format(n=number) + extension

    def fill(self):
        rng = self.rng
        self.classes = rng.sample(CLASSES, 1 if self.spoilt == "one class" else rng.randint(2, 4))
        self.folders = SPLIT_FOLDERS[rng.choice(["none", "none", "none", *SPLIT_FOLDERS])]
        self.apart = self.folders[0][0] != ""
        if not self.apart and self.spoilt != "one class" and rng.random() < 0.2:
            self.classes.append("test")  # a class of this name, since no folder is called train
        for folder, split in self.folders:
            classes = self.classes if split == "train" else rng.sample(self.classes, rng.randint(1, len(self.classes)))
            for label in classes:
                for number in range(rng.randint(5, 12)):
                    picture = self.picture()
                    path = "/".join(filter(None, (folder, label, self.file_name(number, picture.data))))
                    self.files[path] = (label, split, picture)

    def spoil(self):
        """What an import must refuse."""
        rng, folder = self.rng, self.folders[-1][0] + "/" if self.apart else ""
        label = rng.choice(self.classes)
        first = next(iter(self.files.values()))[2]
        if self.spoilt == "empty class":
            self.junk[f"{self.folders[0][0] or '.'}/empty/notes.txt"] = b"none"
        elif self.spoilt == "nested":
            self.junk[f"{self.folders[0][0] or '.'}/{label}/inner/a.png"] = first.data
        elif self.spoilt == "outside":
            self.junk[f"{folder}a.png"] = first.data
        elif self.spoilt == "sizes" and not self.size:
            height, width = self.common
            self.files[f"{self.folders[0][0] or '.'}/{label}/zz.png".removeprefix("./")] = (
                label,
                "train",
                any_picture(rng, ["L"], height + 1, width, None),
            )
        elif self.spoilt == "test class" and self.apart and len(self.folders) > 1:
            self.junk[f"{folder}unknown/a.png"] = first.data
        elif self.spoilt == "two of one split" and self.apart:
            self.junk["TRAIN/" + label + "/a.png"] = first.data
            self.junk["train/" + label + "/a0.txt"] = b""
        elif self.spoilt != "one class":
            self.spoilt = "none"

    def add_junk(self):
        rng = self.rng
        self.hidden = 0  # folders
        self.ignored = sum(path.endswith(".txt") for path in self.junk)
        some = next(iter(self.files.values()))[2].data
        places = [f"{folder}/{label}" if folder else label for folder, split in self.folders for label in self.classes[:1]]
        places = [place for place in places if any(path.startswith(place + "/") for path in self.files)]
        for name, data in (
            (".DS_Store", b"x"),
            (".hidden.png", some),
            ("notes.txt", b"x"),
            ("a.gif", some),
            ("a.png.bak", some),
            ("png", some),
            (".thumbs/a.png", some),
        ):
            if rng.random() < 0.15:
                self.junk[f"{rng.choice(places)}/{name}"] = data
                self.ignored += name[0] != "." or "/" not in name
                self.hidden += name.startswith(".thumbs/")
        self.skip_bad = rng.random() < 0.2
        if self.skip_bad:
            self.options.append("--skip-bad")
        if rng.random() < (0.5 if self.skip_bad else 0.05):
            self.bad = [
                f"{rng.choice(places)}/{name}" for name in rng.sample(["bad.png", "0.jpg", "z z.jpeg"], rng.randint(1, 3))
            ]
            for path in self.bad:
                self.junk[path] = rng.choice(
                    [b"", b"GIF89a....", some[: len(some) // 2], some[:40], some[: -len(some) // 3]]
                )
                self.files.pop(path, None)

    def write(self, folder):
        for path, data in [*self.junk.items(), *((path, entry[2].data) for path, entry in self.files.items())]:
            place = folder / "photos" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def in_order(self):
        """(path, class, split, picture) as the import numbers them: training first, then by path."""
        places = sorted((folder for folder, _ in self.folders), key=lambda name: name.encode())
        places.sort(key=lambda name: dict(self.folders)[name] != "train")

        def key(path):
            *above, label, name = path.split("/")
            return places.index(above[0] if above else ""), label.encode(), name.encode()

        return [(path, *self.files[path]) for path in sorted(self.files, key=key)]

    def must_refuse(self):
        return self.spoilt != "none" or (self.bad and not self.skip_bad)


class Check:
    def __init__(self, made, manifest, rows):
        self.made, self.manifest, self.rows = made, manifest, rows
        self.truth = made.in_order()
        self.channels = manifest["shape"][0]
        self.scale = manifest["provenance"].get("values_16_bit")

    def all(self):
        made = self.made
        if made.must_refuse():
            raise Wrong(f"accepted: {made.spoilt}, damaged: {made.bad}")
        if len(self.rows) != len(self.truth):
            raise Wrong(f"{len(self.rows)} rows of {len(self.truth)} pictures")
        classes = sorted({label for _, label, _, _ in self.truth}, key=lambda name: name.encode())
        if self.manifest["class_names"] != classes:
            raise Wrong(f"classes {self.manifest['class_names']} instead of {classes}")
        colour = any(picture.colour for *_, picture in self.truth)
        wanted = 3 if made.colour == "rgb" or (made.colour == "auto" and colour) else 1
        if self.channels != wanted and not made.bad:
            raise Wrong(f"{self.channels} channels instead of {wanted}")
        self.depth()
        for row in self.rows:
            self.row(row)
        check_statistics(self.manifest, self.rows)
        check_classes_without_rows(self.manifest, self.rows)
        self.account()

    def row(self, row):
        path, label, split, picture = self.truth[row.number]
        if row.name != path:
            raise Wrong(f"row {row.number} is {path!r}, named {row.name!r}")
        if self.manifest["class_names"][row.label] != label:
            raise Wrong(f"{path}: class {self.manifest['class_names'][row.label]!r}")
        drawn = split == "train" and row.split not in {of for _, of in self.made.folders if of != "train"}
        if row.split != split and not drawn:
            raise Wrong(f"{path}: in split {row.split}")
        pixels, tolerance = picture.pixels(self.channels, self.scale), picture.tolerance
        if self.made.size:
            pixels, tolerance = brought_to(pixels, self.made.size, self.made.resize), tolerance + 0.501
        found = row.features.transpose(1, 2, 0).astype(numpy.float64)
        if found.shape != pixels.shape:
            raise Wrong(f"{path}: {found.shape} instead of {pixels.shape}")
        apart = numpy.abs(found - pixels)
        if apart.max() > tolerance:
            at = numpy.unravel_index(apart.argmax(), apart.shape)
            raise Wrong(
                f"{path}: at {at} {found[at]} instead of {pixels[at]} ({picture.kind}, orientation {picture.orientation})"
            )

    def depth(self):
        """One scale for all where all pictures have 16 bits and a small range; else 257."""
        deep = [(split, picture) for _, _, split, picture in self.truth if picture.deep]
        if self.manifest["provenance"]["images_16_bit"] != len(deep):
            raise Wrong(f"images_16_bit {self.manifest['provenance']['images_16_bit']} instead of {len(deep)}")
        values = [picture.values for split, picture in deep if split == "train"]
        low, high = (min(v.min() for v in values), max(v.max() for v in values)) if values else (0, 0)
        scaled = len(deep) == len(self.truth) and 0 < high - low < 32768
        if self.scale != ([low, high] if scaled else None) and not self.made.bad:
            raise Wrong(f"values_16_bit {self.scale} of {low} to {high}")
        beyond = sum(v.min() < low or v.max() > high for v in (p.values for split, p in deep if split != "train"))
        if self.scale:
            require_told(self.manifest, f"images of 16 bits: their values {low} to {high} become 0 to 255")
            (require_told if beyond else require_untold)(self.manifest, f"beyond become 0 and 255 ({beyond or ''}")
        elif values:
            which = "images of 16 bits" if len(deep) == len(self.truth) else f"{len(deep)} of {len(self.truth)} images"
            require_told(self.manifest, which, f"their values {low} to {high} of 0 to 65535 are divided by 257")
        elif not deep:
            require_untold(self.manifest, "16 bits")

    def account(self):
        made, count = self.made, len(self.truth)
        turned = sum(2 <= picture.orientation <= 8 for *_, picture in self.truth)
        told = [f"{count} images in {len(self.manifest['class_names'])} classes, which the folders name"]
        told += ["3 channels (RGB)" if self.channels == 3 else "1 channel (grey)"]
        if made.size:
            sizes = [picture.pixels(self.channels).shape[:2] for *_, picture in self.truth]
            resized = sum(size != (made.size, made.size) for size in sizes)
            told += [f"{resized} image{' is' if resized == 1 else 's are'} brought to {made.size}x{made.size} pixels"]
        else:
            told += [f"all images have {made.common[1]}x{made.common[0]} pixels, as stored"]
        for number, one, many, words in (
            (turned, "image is", "images are", " turned upright"),
            (len(made.bad), "image is", "images are", " left out"),
            (made.ignored, "file is", "files are", " ignored: hidden"),
            (made.hidden, "folder is", "folders are", " ignored, with all"),
        ):
            if number:
                told.append(f"{number} {one if number == 1 else many}{words}")
            else:
                require_untold(self.manifest, words)
        if made.apart:
            told.append("the folders above the classes say which images")
        require_told(self.manifest, *told)


def check_predictions(binary, folder, made, check):
    """Trained a little: the folder and the dataset give the same predictions, picture by picture."""
    if not train_a_little(binary, folder, {"name": "mlp", "hidden": [4]}):
        return
    works(binary, folder, "predict", "run", "out", "--out", "known.csv")
    code, out, err = run(binary, folder, "predict", "run", "photos", "--out", "new.csv")
    if code == 2 and (made.bad or made.ignored or made.hidden) and "cannot be decoded" in err:
        return
    if code != 0:
        raise Wrong(f"predict photos: {code}: {err}{out}")
    new = {row["file"]: row for row in predictions(folder / "new.csv")}
    place = {(row.split, str(row.shard), str(row.at)): check.truth[row.number] for row in check.rows}
    for row in predictions(folder / "known.csv"):
        path, label = place[row["split"], row["shard"], row["row"]][:2]
        if (row["file"], row["label"]) != (path, label):
            raise Wrong(f"row {row}: is {path!r} of class {label!r}")
        same_numbers(row, new.pop(path), [name for name in row if name.startswith("p_")])
    extra = [path for path in new if path not in made.junk]
    if extra:
        raise Wrong(f"predictions of {extra}")


def try_seed(binary, seed, predict):
    """ "refused" with the reason, or "same"; raises Wrong."""
    made = Pictures(seed)
    with tempfile.TemporaryDirectory(prefix="hopscotch-door-") as name:
        folder = pathlib.Path(name)
        made.write(folder)
        source = made.rng.choice(["photos", "photos/", "./photos", "photos/../photos", folder / "photos"])
        shards = made.rng.choice([1, 1, 2])
        splits = Splits(seed, [split for _, split in made.folders])
        refused = imported(binary, folder, "images", source, "--shards", shards, *made.options, *splits.options)
        if refused:
            return refused
        check = Check(made, *stored(folder))
        check.all()
        splits.check(check.rows, True)
        if predict:
            check_predictions(binary, folder, made, check)
    return "same"
