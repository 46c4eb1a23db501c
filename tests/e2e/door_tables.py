# SPDX-License-Identifier: Apache-2.0
"""Tables whose truth is known, by seed: every cell, type, class and header. `data import` reads them, h5py reads the
shards, and each value is compared; some are trained on, and `predict` of the file must agree with `predict` of the
dataset. A refusal does not count as a difference, a silent change does. For door_truth.py."""

import csv
import datetime
import gzip
import io
import os
import pathlib
import random
import sys
import tempfile

import numpy
from door_common import (
    Wrong,
    check_classes_without_rows,
    imported,
    predictions,
    run,
    same_numbers,
    stored,
    train_a_little,
    works,
)

try:
    import pyarrow
    import pyarrow.parquet

    os.environ.setdefault("HOPSCOTCH_PYTHON", sys.executable)
except ImportError:
    pyarrow = None

WORDS = [
    "Malmö",
    "süd",
    "a b",
    "x,y",
    'say "hi"',
    "plus;minus",
    "tab\there",
    "née",
    "O'Hara",
    "red",
    "blue",
    "=1+1",
    "%d",
    "yes",
]
WIDE = ["Łódź", "日本", "emoji 🙂", "ﬁ", "naïve"]  # beyond Latin-1
MISSING = ["", "NA", "?", "NULL", "#N/A", "nan"]
EPOCH = datetime.datetime(1970, 1, 1)


def numbers(rng):
    """A name, and a draw of cells as a file has them."""
    kinds = {
        "byte": lambda: str(rng.randint(0, 255)),
        "small": lambda: str(rng.randint(-5000, 5000)),
        "decimal": lambda: f"{rng.uniform(-10, 10):.{rng.randint(1, 4)}f}",
        "double": lambda: repr(rng.gauss(0, 1)),
        "seconds": lambda: str(1_700_000_000 + rng.randint(0, 100_000)),
        "nanoseconds": lambda: str(1_700_000_000_000_000_000 + rng.randint(0, 10_000)),
        "far": lambda: f"{1e9 + rng.uniform(0, 1):.6f}",
        "wide": lambda: str(rng.randint(-(10**15), 10**15)),
        "exponent": lambda: f"{rng.uniform(1, 9):.3e}",
        "signed": lambda: f"{rng.randint(-99, 99):+d}",
        "same": lambda: "7",
    }
    name = rng.choice(list(kinds))
    return name, kinds[name]


def date(rng):
    moment = EPOCH + datetime.timedelta(minutes=rng.randint(-(10**6), 3 * 10**7))
    return moment.strftime(rng.choice(["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:00", "%Y-%m-%dT%H:%M:00Z"]))


def days(text):
    moment = datetime.datetime.fromisoformat(text.removesuffix("Z"))
    return (moment - EPOCH).total_seconds() / 86400


def typed(kind, cells):
    """As Parquet has them: moments, integers, fractions, or else texts."""
    cells = [None if cell in MISSING else cell for cell in cells]
    told = [cell for cell in cells if cell is not None]
    if kind == "date":
        moment = [cell and datetime.datetime.fromisoformat(cell.removesuffix("Z")) for cell in cells]
        return pyarrow.array(moment, pyarrow.timestamp("us"))
    if kind in ("category", "code", "dropped") or any(cell[0] == "0" and cell.isdigit() and cell != "0" for cell in told):
        return pyarrow.array(cells, pyarrow.string())
    try:
        numbers = [None if cell is None else int(cell) for cell in cells]
        return pyarrow.array(numbers, pyarrow.uint64() if max(map(int, told), default=0) >= 2**63 else pyarrow.int64())
    except ValueError:
        pass
    try:
        return pyarrow.array([None if cell is None else float(cell) for cell in cells], pyarrow.float64())
    except ValueError:
        return pyarrow.array(cells, pyarrow.string())


class Table:
    """Columns by name: kind, and a cell a row. The first is a number of the row."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.rows = rng.randint(24, 160)
        self.words = WORDS + (WIDE if rng.random() < 0.5 else [])
        self.options = []
        self.columns = {"row": ("number", [str(n) for n in range(self.rows)])}
        for number in range(rng.randint(1, 5)):
            self.add(f"{rng.choice(['x', 'größe', 'a b', 'q,r', 'n'])}{number}")
        self.add_label()
        self.header = rng.random() < 0.8
        self.spoil()
        self.describe_file()

    def add(self, name):
        rng, kind = self.rng, self.rng.choice(["number"] * 3 + ["category"] * 2 + ["date", "code", "dropped"])
        if kind == "number":
            draw = numbers(rng)[1]
        elif kind == "category":
            some = rng.sample(self.words, rng.randint(2, 5))
            draw = lambda: rng.choice(some)  # noqa: E731
        elif kind == "date":
            draw = lambda: date(rng)  # noqa: E731
            self.options += ["--date", name]
        elif kind == "code":
            some = ["007", "7", "02134", "2134"]
            draw = lambda: rng.choice(some)  # noqa: E731
            self.options += ["--type", f"{name}=category"]
        else:
            draw = lambda: f"id-{rng.random()}"  # noqa: E731
            self.options += ["--drop", name]
        self.columns[name] = (kind, [draw() for _ in range(self.rows)])

    def add_label(self):
        rng = self.rng
        kind = rng.choice(["words", "zero up", "integers", "codes", "big", "targets", "targets"])
        if kind == "targets":
            scale, offset = 10 ** rng.uniform(-3, 7), rng.choice([0, 1e6, -1e5])
            cells = [repr(rng.gauss(0, 1) * scale + offset) for _ in range(self.rows)]
            self.options += ["--regression"]
        else:
            some = {
                "words": rng.sample(self.words, 3),
                "zero up": ["0", "1", "2"],
                "integers": ["-7", "3", "10"],
                "codes": ["02134", "2134", "00"],
                "big": [str(2**53), str(2**53 + 1), str(2**64 - 1)],
            }[kind]
            cells = [*some, *(rng.choice(some) for _ in range(self.rows - 3))]
        self.task = "regression" if kind == "targets" else "classification"
        self.label_kind = kind
        self.columns["y"] = ("label", cells)
        self.options += ["--label", "y"]

    def spoil(self):
        """Cells without a value, which are filled or whose rows are left out."""
        rng = self.rng
        self.missing = rng.choice(["none", "none", "mean", "drop"])
        if self.missing == "none":
            return
        self.options += ["--missing", self.missing]
        for name, (kind, cells) in self.columns.items():
            if name != "row" and kind != "label" and rng.random() < 0.5:
                for at in rng.sample(range(self.rows), rng.randint(1, self.rows // 8)):
                    cells[at] = rng.choice(MISSING)

    def describe_file(self):
        rng = self.rng
        self.delimiter = rng.choice([",", ",", ";", "\t", "|"])
        if self.delimiter != ",":
            self.options += ["--delimiter", "tab" if self.delimiter == "\t" else self.delimiter]
        text = io.StringIO()
        writer = csv.writer(
            text,
            delimiter=self.delimiter,
            quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
            lineterminator=rng.choice(["\n", "\r\n"]),
        )
        if self.header:
            writer.writerow(self.columns)
        else:  # columns have numbers then
            places = list(self.columns)
            for at, option in enumerate(self.options):
                name, equals, kind = option.rpartition("=")
                if self.options[at - 1] in ("--date", "--drop", "--label"):
                    self.options[at] = str(places.index(option))
                elif self.options[at - 1] == "--type":
                    self.options[at] = str(places.index(name)) + equals + kind
        writer.writerows(zip(*(cells for _, cells in self.columns.values())))
        self.text = text.getvalue()
        self.encoding = "utf-8"
        if self.words is WORDS or all(ord(c) < 256 for c in self.text):
            self.encoding = rng.choice(["utf-8", "latin-1"])
        if self.encoding == "latin-1":
            self.options += ["--encoding", "latin-1"]
        self.told_header = rng.random() < 0.5
        if self.told_header:
            self.options += ["--header", "yes" if self.header else "no"]
        self.cells = {name: list(cells) for name, (_, cells) in self.columns.items()}

    def write(self, folder):
        if pyarrow and self.header and self.seed % 4 == 3:
            return self.write_parquet(folder / "t.parquet")
        data = self.text.encode(self.encoding)
        if self.encoding == "utf-8" and self.rng.random() < 0.2:
            data = b"\xef\xbb\xbf" + data
        path = folder / ("t.csv.gz" if self.rng.random() < 0.2 else "t.csv")
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    def write_parquet(self, path):
        """Half of the tables leave to the file which columns are dates, and texts of digits."""
        if self.seed % 8 == 3:
            pairs = list(zip(["", *self.options], [*self.options, ""]))
            known = ("--date", "--type")
            self.options = [word for before, word in pairs[:-1] if before not in known and word not in known]
        arrays = {name: typed(self.columns[name][0], cells) for name, cells in self.cells.items()}
        pyarrow.parquet.write_table(pyarrow.table(arrays), path, row_group_size=self.rows // 3)
        return path

    def kept(self):
        """Numbers of the rows that the import keeps."""
        looked_at = [cells for kind, cells in self.columns.values() if kind != "dropped"]
        return [n for n in range(self.rows) if self.missing != "drop" or not any(cells[n] in MISSING for cells in looked_at)]


class Check:
    def __init__(self, table, manifest, rows):
        self.table, self.manifest, self.rows = table, manifest, rows
        offsets = manifest.get("feature_offset") or [0] * len(rows[0].features)
        self.features = [row.features + offsets for row in rows]
        self.plain = [row.features for row in rows]
        self.offsets = offsets
        self.said = manifest["decisions"]
        self.number_of = [int(features[0]) for features in self.features]

    def name(self, column):
        return column if self.table.header else f"column {list(self.table.columns).index(column)}"

    def all(self):
        table, kept = self.table, self.table.kept()
        header = self.manifest["provenance"]["header"]
        if header != table.header:
            raise Wrong(f"header {header}")
        if self.number_of != [row.number for row in self.rows]:
            raise Wrong("rows.h5 has other numbers")
        if sorted(self.number_of) != kept:
            raise Wrong(f"rows {sorted(self.number_of)[:5]}... instead of {kept[:5]}...")
        at = 0
        for column, (kind, cells) in table.columns.items():
            if kind in ("number", "date"):
                self.numbers(column, at, [cells[n] for n in self.number_of], days if kind == "date" else float)
                at += 1
            elif kind in ("category", "code"):
                at += self.category(column, at, [cells[n] for n in self.number_of])
            elif kind == "label":
                self.labels([cells[n] for n in self.number_of])
        if at != len(self.plain[0]):
            raise Wrong(f"{len(self.plain[0])} features instead of {at}")
        if table.task == "classification":
            check_classes_without_rows(self.manifest, self.rows)

    def mentions(self, column, words):
        return any(text.startswith(f"column '{self.name(column)}':") and words in text for text in self.said)

    def numbers(self, column, at, cells, value_of):
        exact, rounded = set(), set()
        for row, cell in enumerate(cells):
            if cell in MISSING:
                continue
            integer = value_of is float and cell.lstrip("+-").isdigit()
            truth = int(cell) - int(self.offsets[at]) if integer else value_of(cell) - self.offsets[at]
            found = self.plain[row][at]
            if found != numpy.float32(truth) and abs(found - truth) > 1e-9 * max(1, abs(truth)):
                raise Wrong(f"{column}, row {self.number_of[row]}: {cell} became {found!r} + {self.offsets[at]!r}")
            exact.add(int(cell) if integer else value_of(cell))
            rounded.add(found)
        if len(rounded) < len(exact) and not self.mentions(column, "become equal"):
            raise Wrong(f"{column}: {len(exact)} values became {len(rounded)} without a word")
        missing = sum(cell in MISSING for cell in self.table.columns[column][1])
        if self.table.missing == "mean" and missing and not self.mentions(column, f"{missing} missing cell"):
            raise Wrong(f"{column}: {missing} missing cells are not told")

    def category(self, column, at, cells):
        known = sorted({cell for cell in self.kept_cells(column) if cell not in MISSING}, key=lambda text: text.encode())
        names = self.manifest["provenance"]["features"][at : at + len(known)]
        if names != [f"{self.name(column)}={text}" for text in known]:
            raise Wrong(f"{column}: {names} instead of {known}")
        for row, cell in enumerate(cells):
            expected = [float(cell == text) for text in known]
            if list(self.plain[row][at : at + len(known)]) != expected:
                raise Wrong(f"{column}, row {self.number_of[row]}: {cell!r} became {self.plain[row][at : at + len(known)]}")
        if not self.mentions(column, f"category, {len(known)} values"):
            raise Wrong(f"{column}: {len(known)} values are not told")
        return len(known)

    def kept_cells(self, column):
        return [self.table.columns[column][1][n] for n in self.table.kept()]

    def labels(self, cells):
        names = self.manifest["class_names"]
        for label, cell, number in zip((row.label for row in self.rows), cells, self.number_of):
            if self.table.task == "classification":
                found = names[label] if names else str(label)
                if found != cell:
                    raise Wrong(f"label of row {number}: {cell!r} became {found!r}")
                continue
            mean, deviation = self.manifest["target_mean"][0], self.manifest["target_stddev"][0]
            if abs(float(label[0]) * deviation + mean - float(cell)) > 1e-6 * deviation + 1e-12 * abs(mean):
                raise Wrong(f"target of row {number}: {cell} became {label[0] * deviation + mean!r}")


def check_predictions(binary, folder, table, check):
    """Trained a little: the file and the dataset give the same predictions, row by row."""
    if not train_a_little(binary, folder, {"name": "mlp", "hidden": [4]}):
        return
    works(binary, folder, "predict", "run", "out", "--out", "known.csv")
    source = next(folder.glob("t.[cp]*")).name
    identity = "row" if table.header else "0"
    code, out, err = run(binary, folder, "predict", "run", source, "--out", "new.csv", "--id", identity)
    if code == 2 and table.missing == "drop" and "no value here" in err:
        return  # rows without a value have no prediction
    if code != 0:
        raise Wrong(f"predict {source}: {code}: {err}{out}")
    compare_predictions(folder, check)


def compare_predictions(folder, check):
    known = predictions(folder / "known.csv")
    new = {int(row[next(iter(row))]): row for row in predictions(folder / "new.csv")}
    place = {(row.split, str(row.shard), str(row.at)): row.number for row in check.rows}
    columns = [name for name in known[0] if name.startswith(("p_", "prediction_"))]
    for row in known:
        number = place[row["split"], row["shard"], row["row"]]
        if int(row["source_row"]) != number:
            raise Wrong(f"row {row}: is row {number} of the source")
        scale = check.manifest["target_stddev"][0] if any(name.startswith("prediction_") for name in columns) else 1
        same_numbers(row, new[number], columns, scale)


def try_seed(binary, seed, predict):
    """ "refused" with the reason, or "same"; raises Wrong."""
    table = Table(seed)
    with tempfile.TemporaryDirectory(prefix="hopscotch-door-") as name:
        folder = pathlib.Path(name)
        path = table.write(folder)
        refused = imported(binary, folder, "csv", path.name, "--shards", "2", *table.options)
        if refused:
            return refused
        check = Check(table, *stored(folder, lambda features: features.astype(numpy.float64)))
        check.all()
        if predict:
            check_predictions(binary, folder, table, check)
    return "same"
