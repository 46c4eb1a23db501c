# SPDX-License-Identifier: Apache-2.0
"""Parquet tables at the door: pyarrow writes them, `data import csv` and `predict` read them, and each stored value is
compared with what was written. The program that converts them may be absent, old, broken, silent or slow."""

import datetime
import decimal
import gzip
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import unittest

from door_common import predictions, stored, train_a_little
from harness import BINARY, Case
from limits import RUN_LIMIT_S, WAIT_LIMIT_S

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None

ROWS = 40
WORDS = ["?", "NA", "NaN", "nan", "NAN", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NULL", "null", "Null", "#NULL!"]
EPOCH = datetime.datetime(1970, 1, 1)


def every(make):
    return [make(n) for n in range(ROWS)]


class ParquetCase(Case):
    def setUp(self):
        super().setUp()
        (self.cwd / "tmp").mkdir()
        self.env = {"HOPSCOTCH_PYTHON": sys.executable, "TMPDIR": str(self.cwd / "tmp")}

    def write_table(self, name="t.parquet", columns=None, **options):
        table = columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns)
        pyarrow.parquet.write_table(table, self.cwd / name, **options)

    def run_import(self, *args, out="out"):
        done = self.run_hopscotch("data", "import", "csv", *args, "--out", out, "--shards", "2", env=self.env)
        self.assertEqual(list((self.cwd / "tmp").iterdir()), [])
        return done

    def imported_rows(self, *args):
        """The manifest, and the rows by their number in the source."""
        code, out, err = self.run_import(*args)
        self.assertEqual((code, err), (0, ""), out)
        manifest, rows = stored(self.cwd)
        return manifest, sorted(rows, key=lambda row: row.number)

    def refused(self, message, *args):
        code, out, err = self.run_import(*args)
        self.assertEqual((err, out, code), (message + "\n", "", 2))
        self.assertFalse((self.cwd / "out").exists())


@unittest.skipUnless(pyarrow, "needs pyarrow, which scripts/setup.sh installs")
class Tables(ParquetCase):
    def columns(self, *args, **columns):
        """The manifest, and by column: the numbers as they are stored, and with the offset as integers."""
        self.write_table(columns={**columns, "y": every(lambda n: "ab"[n % 2])}, row_group_size=7)
        manifest, rows = self.imported_rows("t.parquet", *args)
        offsets = manifest.get("feature_offset") or [0] * len(rows[0].features)
        places = {name: manifest["provenance"]["features"].index(name) for name in columns}
        numbers = {name: [float(row.features[at]) for row in rows] for name, at in places.items()}
        integers = {name: [int(number) + int(offsets[places[name]]) for number in numbers[name]] for name in columns}
        return manifest, numbers, integers

    def test_integers_are_exact(self):
        kinds = {"int64": 2**53 + 1, "uint64": 2**64 - ROWS, "int32": -(2**31), "int8": -20}
        columns = {kind: every(lambda n, first=first: first + n) for kind, first in kinds.items()}
        columns["least"] = every(lambda n: n - 2**63)
        arrays = {name: pyarrow.array(cells, getattr(pyarrow, name, pyarrow.int64)()) for name, cells in columns.items()}
        self.assertEqual(self.columns(**arrays)[2], columns)

    def test_fractions_are_those_that_were_written(self):
        fractions = every(lambda n: (n * 7 % 11) / 7 * 10.0 ** (n % 5 - 2))
        columns = {
            "single": pyarrow.array(fractions, pyarrow.float32()),
            "double": pyarrow.array(fractions, pyarrow.float64()),
            "half": pyarrow.array(fractions, pyarrow.float32()).cast(pyarrow.float16()),
            "decimals": pyarrow.array(every(lambda n: decimal.Decimal(n) / 8), pyarrow.decimal128(38, 9)),
        }
        expected = {name: array.cast(pyarrow.float32()).to_pylist() for name, array in columns.items()}
        self.assertEqual(self.columns(**columns)[1], expected)

    def test_moments_are_days_in_utc(self):
        moments = every(lambda n: EPOCH + datetime.timedelta(hours=7 * n, seconds=n))
        dates = every(lambda n: (EPOCH + datetime.timedelta(days=n)).date())
        ns = pyarrow.array(moments, pyarrow.timestamp("ns"))
        manifest, found, _ = self.columns(
            ns=ns,
            s=ns.cast(pyarrow.timestamp("s")),
            zone=ns.cast(pyarrow.timestamp("us", "Europe/Stockholm")),
            date32=pyarrow.array(dates, pyarrow.date32()),
            date64=pyarrow.array(dates, pyarrow.date64()),
        )
        self.assertEqual(manifest["provenance"]["dates"], list(found))
        self.assertIn("dates of Parquet are dates: 'ns', 's', 'zone', 'date32', 'date64'", manifest["decisions"])
        days = [(moment - EPOCH).total_seconds() / 86400 for moment in moments]
        for name, numbers in found.items():
            for number, day in zip(numbers, every(float) if name.startswith("date") else days):
                self.assertAlmostEqual(number, day, delta=1e-5)

    def test_texts_stay_texts(self):
        digits = every(lambda n: f"0213{n % 3}" if n % 4 else "7")
        texts, integers = pyarrow.array(digits), pyarrow.array(every(lambda n: n % 3 - 1))
        columns = {
            "text": texts,
            "large": texts.cast(pyarrow.large_string()),
            "coded": texts.dictionary_encode(),
            "flag": every(lambda n: n % 3 == 0),
            "grade": integers,
            "y": every(lambda n: n % 2),
        }
        table = pyarrow.table(columns)
        grade = {"name": "grade", "field_name": "grade", "pandas_type": "categorical"}
        about = {"pandas": json.dumps({"index_columns": [], "columns": [grade]})}
        self.write_table(columns=table.replace_schema_metadata(about))
        manifest, _ = self.imported_rows("t.parquet")
        zips = ["02130", "02131", "02132", "7"]
        expected = {"text": zips, "large": zips, "coded": zips, "flag": ["false", "true"], "grade": ["-1", "0", "1"]}
        self.assertEqual(manifest["provenance"]["categories"], expected)
        names = ", ".join(f"'{name}'" for name in expected)
        self.assertIn(f"texts and booleans of Parquet are categories, whatever their cells: {names}", manifest["decisions"])
        (self.cwd / "out").rename(self.cwd / "before")
        self.assertEqual(self.columns("--type", "text=number", text=texts)[2], {"text": [int(text) for text in digits]})

    def test_texts_with_every_character(self):
        texts = ['say "hi"', "two\nlines", "a\r\nb", "x,y", "日本 🙂", "tab\there", "'", '"', ",", "=1"]
        label = every(lambda n: texts[n % len(texts)])
        self.write_table(columns={"x": every(float), 'a "b",\n': label, "y": label}, row_group_size=3)
        manifest, rows = self.imported_rows("t.parquet", "--test", "0.1")
        self.assertEqual(manifest["class_names"], sorted(texts, key=str.encode))
        self.assertEqual([manifest["class_names"][row.label] for row in rows], label)
        self.assertEqual(sorted(manifest["provenance"]["categories"]['a "b",\n']), sorted(texts))
        self.assertEqual(manifest["provenance"]["sources"], ["t.parquet"])
        self.assertEqual(manifest["provenance"]["converted_by"], f"pyarrow {pyarrow.__version__}")
        self.assertIn(f"t.parquet: Parquet, {ROWS} rows, read through pyarrow {pyarrow.__version__}", manifest["decisions"])

    def test_what_a_cell_cannot_say_is_told(self):
        some = ["", " a", "a", "b\t", None, *WORDS, "None"]
        self.write_table(columns={"s": every(lambda n: some[n % 20]), "x": every(float), "y": every(lambda n: n % 2)})
        told = ["2 empty texts count as", "28 texts such as NA, ? or NULL count as", "4 texts lose the blanks around them"]
        manifest, _ = self.imported_rows("t.parquet", "--missing", "mean")
        self.assertEqual(manifest["provenance"]["categories"]["s"], ["None", "a", "b"])
        for words in (*told, "32 missing cells are not a category"):
            self.assertTrue(any(f"column 's': {words}" in text or words in text for text in manifest["decisions"]), words)

    def test_cells_without_a_value(self):
        for values in (every(lambda n: None if n == 3 else n), every(lambda n: float("nan") if n == 3 else n / 2)):
            self.write_table(columns={"x": values, "y": every(lambda n: n % 2)})
            self.refused(
                "t.parquet: row 3: column 'x' has no value here (1 missing in all); fill it in, or choose --missing mean "
                "or --missing drop",
                "t.parquet",
            )
        self.write_table(columns={"x": every(float), "none": pyarrow.nulls(ROWS), "y": every(lambda n: n % 2)})
        self.refused(
            "t.parquet: column 'none' has no value in any row; remove the column, or choose --drop none", "t.parquet"
        )

    def test_columns_that_are_no_cells(self):
        for value in ({"a": [1]}, b"\xff"):
            array = pyarrow.array([value] * ROWS)
            self.write_table(columns={"t, u": array, "x": every(float), "y": every(lambda n: n % 2)})
            kind = pyarrow.parquet.read_schema(self.cwd / "t.parquet").field(0).type
            self.refused(
                f"t.parquet: column 't, u' is {kind} (a row needs one number, text or date); write it as one of these, or "
                "leave it out with --drop t, u",
                "t.parquet",
            )
        manifest, _ = self.imported_rows("t.parquet", "--drop", "t, u")
        self.assertEqual(manifest["provenance"]["features"], ["x"])

    def test_names_and_sizes(self):
        array = pyarrow.array(every(float))
        self.write_table(columns=pyarrow.table([array, array, array], names=["x", "x ", "y"]))
        self.refused(
            "t.parquet: columns 0 and 1 (from 0) have the same name, 'x'; rename one of them", "t.parquet", "--regression"
        )
        self.write_table(columns=pyarrow.table([array, array, array], names=["", "1\n2", "3"]))
        self.assertEqual(self.imported_rows("t.parquet", "--regression")[0]["provenance"]["features"], ["", "1\n2"])
        self.refused_size({"x": [], "y": []}, "t.parquet: column 'x' has no value in any row; remove the column, or choose ")
        self.refused_size({"y": every(float)}, "t.parquet: only one column (a row needs features and a label); ")
        self.refused_size({}, "t.parquet: has no columns (pyarrow ")

    def refused_size(self, columns, message):
        self.write_table(columns=columns)
        code, _, err = self.run_import("t.parquet", out="none")
        self.assertEqual(code, 2)
        self.assertTrue(err.startswith(message), err)

    def test_several_files(self):
        half = {"x": every(float), "y": every(lambda n: n % 2)}
        self.write_table("a.parquet", half)
        self.write_table("b.parquet", {"x": pyarrow.array(every(int), pyarrow.int8()), "y": half["y"]})
        (self.cwd / "c.csv").write_text("x,y\n" + "7,1\n8,0\n" * 5)
        manifest, rows = self.imported_rows("a.parquet", "c.csv", "b.parquet")
        self.assertEqual(manifest["provenance"]["sources"], ["a.parquet", "c.csv", "b.parquet"])
        self.assertEqual([int(row.features[0]) for row in rows], [*range(ROWS), *[7, 8] * 5, *range(ROWS)])
        self.write_table("b.parquet", {"x": every(str), "y": half["y"]})
        (self.cwd / "out").rename(self.cwd / "before")
        self.refused(
            "b.parquet: column 'x' is string (double in a.parquet); write both with one type, or choose --type",
            "a.parquet",
            "b.parquet",
        )
        self.assertEqual(len(self.imported_rows("a.parquet", "b.parquet", "--type", "x=number")[1]), 2 * ROWS)

    def test_the_index_of_pandas(self):
        table = pyarrow.table({"x": every(float), "y": every(lambda n: n % 2), "id": every(lambda n: f"r{n}")})
        table = table.replace_schema_metadata({"pandas": json.dumps({"index_columns": ["id"]})})
        self.write_table(columns=table)
        manifest, rows = self.imported_rows("t.parquet")
        self.assertEqual((manifest["provenance"]["features"], manifest["provenance"]["label"]), (["x"], "y"))
        self.assertIn("the index of a pandas frame is not a feature: 'id' (--type keeps it)", manifest["decisions"])
        (self.cwd / "out").rename(self.cwd / "before")
        self.assertEqual([row.name for row in self.imported_rows("t.parquet", "--id", "id")[1]], every(lambda n: f"r{n}"))

    def test_the_column_of_names(self):
        ids = {"t": [[1]] * ROWS, "b": [b"\xff"] * ROWS, "d": [datetime.timedelta(1)] * ROWS}
        for name, cells in ids.items():
            table = pyarrow.table({name: cells, "x": every(float), "y": every(lambda n: n % 2)})
            for index in ([], [name]):
                about = {"pandas": json.dumps({"index_columns": index})}
                self.write_table(columns=table.replace_schema_metadata(about))
                kind = pyarrow.parquet.read_schema(self.cwd / "t.parquet").field(0).type
                self.refused(
                    f"t.parquet: column '{name}' is {kind} (a row needs one number, text or date); "
                    "write it as one of these, or choose another --id",
                    "t.parquet",
                    "--id",
                    name,
                )
        self.assertEqual(self.imported_rows("t.parquet")[0]["provenance"]["dropped"], ["d"])
        (self.cwd / "out").rename(self.cwd / "before")
        names = every(lambda n: " a" if n == 1 else "NA" if n == 2 else f"r{n}")
        self.write_table("a.parquet", {"t": names, "x": every(float), "y": every(lambda n: n % 2)})
        self.write_table("b.parquet", {"t": every(int), "x": every(float), "y": every(lambda n: n % 2)})
        manifest, rows = self.imported_rows("a.parquet", "b.parquet", "--id", "0")
        self.assertEqual([row.name for row in rows], [name.strip() for name in names] + every(str))
        self.assertEqual(
            [text for text in manifest["decisions"] if text.startswith("column 't'")],
            ["column 't': 1 text loses the blanks around it", "column 't' names the rows, and is not a feature"],
        )

    def test_advice_that_fits_parquet(self):
        self.write_table(columns={"x": ["a", "x", *"bcdefg"] * 5, "y": ["u", "y", *"uvuvuv"] * 5})
        self.refused(
            "t.parquet: row 1: the names of the columns again, as a row (tables joined end to end?); remove it", "t.parquet"
        )
        self.write_table(columns={"x": every(lambda n: "a\0b" if n == 3 else "c"), "y": every(lambda n: n % 2)})
        self.refused("t.parquet: row 3: a NUL byte in a text (no cell of a table can have it); take it out", "t.parquet")

    def test_targets(self):
        self.write_table(columns={"x": every(float), "a": every(lambda n: n % 2 == 0), "b": every(lambda n: n % 3 == 0)})
        manifest, rows = self.imported_rows("t.parquet", "--multilabel", "--label", "a", "--label", "2")
        self.assertEqual([row.label.tolist() for row in rows], every(lambda n: [n % 2 == 0, n % 3 == 0]))
        (self.cwd / "out").rename(self.cwd / "before")
        manifest, rows = self.imported_rows("t.parquet", "--drop", "b", "--label", "a")
        self.assertEqual(manifest["class_names"], ["false", "true"])

    def test_ways_to_a_file(self):
        columns = {"x": every(float), "y": every(lambda n: "é;,"[n % 3])}
        self.write_table(columns=columns)
        data = (self.cwd / "t.parquet").read_bytes()
        (self.cwd / "t.parquet.gz").write_bytes(gzip.compress(data))
        (self.cwd / "-\udcf6\n.parquet").write_bytes(data)
        seen = set()
        for args in (
            ["t.parquet"],
            ["./-\udcf6\n.parquet"],
            ["t.parquet.gz"],
            ["t.parquet", "--encoding", "latin-1", "--delimiter", ";"],
        ):
            _, rows = self.imported_rows(*args)
            seen.add(str([(row.features.tolist(), int(row.label)) for row in rows]))
            (self.cwd / "out").rename(self.cwd / f"out{len(list(self.cwd.iterdir()))}")
        self.assertEqual(len(seen), 1)
        self.refused(
            "--header no: t.parquet is Parquet (whose columns have names); leave the option out",
            "t.parquet",
            "--header",
            "no",
        )

    def test_damaged_files(self):
        self.write_table(columns={"x": every(float), "y": every(str)})
        data = (self.cwd / "t.parquet").read_bytes()
        for name, bytes_ in (("a.parquet", data[:300] + data[400:]), ("b.parquet", b"PAR1" * 9), ("c.parquet", b"PAR1")):
            (self.cwd / name).write_bytes(bytes_)
            code, out, err = self.run_import(name)
            self.assertEqual((code, out), (2, ""), err)
            self.assertRegex(err, rf"^{name}: .*; is it damaged\? write it again\n$")
        (self.cwd / "d.parquet").write_bytes(data[:-9])
        self.refused(
            "d.parquet: begins as a Parquet file and does not end as one (it is cut off, or no Parquet); copy it again",
            "d.parquet",
        )


@unittest.skipUnless(pyarrow, "needs pyarrow, which scripts/setup.sh installs")
class Predictions(ParquetCase):
    def trained(self, source, *options):
        code, _, err = self.run_import(source, *options)
        self.assertEqual(code, 0, err)
        self.assertTrue(train_a_little(BINARY, self.cwd, {"name": "mlp", "hidden": [4]}))

    def predict(self, source, *options):
        code, out, err = self.run_hopscotch("predict", "run", source, "--out", "p.csv", *options, env=self.env)
        self.assertEqual(list((self.cwd / "tmp").iterdir()), [])
        return predictions(self.cwd / "p.csv") if code == 0 else err

    def columns(self):
        moments = every(lambda n: EPOCH + datetime.timedelta(hours=n))
        return {
            "x": every(lambda n: n / 8),
            "zip": every(lambda n: f"0{n % 3}"),
            "when": moments,
            "y": every(lambda n: n % 2),
        }

    def write_csv(self, columns, header=True):
        lines = [",".join(columns)] * header + [",".join(str(cell) for cell in row) for row in zip(*columns.values())]
        (self.cwd / "t.csv").write_text("\n".join(lines) + "\n")

    def test_new_rows_are_those_of_the_text(self):
        columns = self.columns()
        self.write_table(columns=columns)
        self.write_csv(columns)
        self.trained("t.parquet")
        found = self.predict("t.parquet")
        self.assertEqual(len(found), ROWS)
        self.assertGreater(len({row["p_1"] for row in found}), 5)
        self.assertEqual(found, self.predict("t.csv"))
        self.write_table(columns={name: columns[name] for name in ("zip", "when", "x")})
        self.assertEqual(found, self.predict("t.parquet"))
        self.write_table(columns={**columns, "zip": every(lambda n: n % 3)})
        self.assertIn("t.parquet: row 0: column 'zip' has '0' (the training rows did not", self.predict("t.parquet"))
        self.write_table(columns={**columns, "x": every(lambda n: [n])})
        self.assertRegex(
            self.predict("t.parquet"), r"^t.parquet: column 'x' is list<.*> \(a row needs one number, text or date\);"
        )
        self.write_table(columns={**columns, "x": every(lambda n: None if n == 2 else n), "more": every(lambda n: [n])})
        self.assertIn("t.parquet: row 2: column 'x' has no value here (1 missing in all)", self.predict("t.parquet"))

    def test_a_table_without_header(self):
        columns = {name: cells for name, cells in self.columns().items() if name in ("x", "y")}
        self.write_csv(columns, header=False)
        self.trained("t.csv", "--header", "no")
        self.write_table(columns={"other": columns["x"]})
        self.assertEqual(self.predict("t.parquet"), self.predict("t.csv"))

    def test_names_must_be_cells(self):
        columns = {"x": every(float), "y": every(lambda n: n % 2), "id": every(lambda n: f"r{n}")}
        self.write_table(columns=columns)
        self.trained("t.parquet", "--id", "id")
        self.assertEqual([row["id"] for row in self.predict("t.parquet")], columns["id"])
        for index in ([], ["id"]):
            table = pyarrow.table({**columns, "id": [b"\xff"] * ROWS, "n": every(int)})
            self.write_table(columns=table.replace_schema_metadata({"pandas": json.dumps({"index_columns": index})}))
            for options in ([], ["--id", "id"], ["--id", "2"]):
                self.assertEqual(
                    self.predict("t.parquet", *options),
                    "t.parquet: column 'id' is binary (a row needs one number, text or date); write it as one of these\n",
                )
            self.assertEqual([row["n"] for row in self.predict("t.parquet", "--id", "n")], every(str))

    def test_a_signal_leaves_nothing(self):
        self.write_table(columns={"x": every(float), "y": every(lambda n: n % 2)})
        self.trained("t.parquet")
        program = self.cwd / "python3"
        program.write_text('#!/bin/sh\necho some > "$5"\necho $$ > started\nexec sleep 1000\n')
        program.chmod(0o755)
        self.env["HOPSCOTCH_PYTHON"] = str(program)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.mkfifo(self.cwd / "started")
            started = os.open(self.cwd / "started", os.O_RDONLY | os.O_NONBLOCK)
            process = self.start("predict", "run", "t.parquet", "--out", "p.csv", env=self.env)
            self.assertTrue(select.select([started], [], [], WAIT_LIMIT_S)[0])
            child = os.read(started, 100).decode().strip()
            process.send_signal(number)
            err = process.communicate(timeout=RUN_LIMIT_S)[1]
            message = f"hopscotch: predict interrupted by {number.name}; nothing was kept\n"
            self.assertEqual((process.returncode, err), (1, message))
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists())
            self.assertEqual(list((self.cwd / "tmp").iterdir()), [])
            os.close(started)
            (self.cwd / "started").unlink()
        self.assertFalse((self.cwd / "p.csv").exists())

    def test_rows_of_one_column(self):
        self.write_table(columns={"x": every(float), "y": every(lambda n: n % 2)})
        self.trained("t.parquet")
        self.write_table("one.parquet", {"x": [1.0, None, 2.0]})
        self.assertEqual(len(self.predict("one.parquet", "--missing", "mean")), 3)


@unittest.skipUnless(pyarrow, "needs pyarrow, which scripts/setup.sh installs")
class Sizes(ParquetCase):
    """A small file of long texts that are equal. The program of Python runs behind some lines of our own."""

    def python(self, *lines):
        program = self.cwd / "python3"
        start = [f"#!{sys.executable} -I", "import os, sys, pyarrow.csv", "script, sys.argv = sys.argv[3], sys.argv[3:]"]
        program.write_text("\n".join([*start, *lines, "exec(script)", ""]))
        program.chmod(0o755)
        self.env["HOPSCOTCH_PYTHON"] = str(program)

    def write_long_texts(self, lengths, dictionary):
        texts = pyarrow.array([str(n % 2) * length for n, length in enumerate(lengths)])
        columns = {
            "t": texts.dictionary_encode() if dictionary else texts,
            "x": list(range(len(lengths))),
            "y": [n % 2 for n in range(len(lengths))],
        }
        self.write_table(columns=columns, row_group_size=3000)

    def test_batches_are_small(self):
        lengths = [1] * 1500 + [20_000] * 2000 + [1] * 3000 + [5000] * 4000
        self.python(
            "Writer = pyarrow.csv.CSVWriter",
            "class Counted:",
            "    def __init__(self, *args, **options): self.writer = Writer(*args, **options)",
            "    def __enter__(self): return self",
            "    def __exit__(self, *_): self.writer.close()",
            "    def write_batch(self, batch):",
            f"        print(len(batch), batch.nbytes, file=open({str(self.cwd / 'sizes')!r}, 'a'))",
            "        self.writer.write_batch(batch)",
            "pyarrow.csv.CSVWriter = Counted",
        )
        for dictionary in (False, True):
            self.write_long_texts(lengths, dictionary)
            self.assertLess((self.cwd / "t.parquet").stat().st_size, 1 << 20)
            _, rows = self.imported_rows("t.parquet", "--drop", "t")
            self.assertEqual([int(row.features[0]) for row in rows], list(range(len(lengths))))
            sizes = [tuple(map(int, line.split())) for line in (self.cwd / "sizes").read_text().splitlines()]
            self.assertEqual(sum(rows for rows, _ in sizes), len(lengths))
            self.assertLess(max(size for _, size in sizes), 3 << 24, sizes)
            self.assertLess(len(sizes), 60)
            (self.cwd / "sizes").unlink()
            (self.cwd / "out").rename(self.cwd / f"out{dictionary}")

    def free(self, share):
        """A file system of 1000 MB, of which this share is free."""
        self.python(
            "class Disk: f_frsize, f_blocks = 1000, 10**6",
            "def free(_):",
            f"    Disk.f_bavail = {round(share * 10**6)}",
            "    return Disk",
            "os.statvfs = free",
        )

    def test_the_disk_is_not_filled(self):
        self.write_long_texts([10_000] * 4000, True)
        self.free(0.049)
        code, out, err = self.run_import("t.parquet", "--drop", "t")
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(
            err,
            r"^t.parquet: is too large as CSV text for TMPDIR \([1-3]\d MiB are written, and 46 MiB are free\); "
            r"set TMPDIR to a larger disk\n$",
        )
        self.assertFalse((self.cwd / "out").exists())
        self.free(0.051)
        self.assertEqual(self.run_import("t.parquet", "--drop", "t")[0], 0)
        self.write_table(columns={"x": every(float), "y": every(lambda n: n % 2)})
        self.free(0.001)  # a small text does no harm
        self.assertEqual(self.run_import("t.parquet", out="small")[0], 0)


PARQUET = b"PAR1 and PAR1"
OTHERWISE = "set HOPSCOTCH_PYTHON to a Python that has it, or save the table as CSV text"


class WithoutHelp(ParquetCase):
    """Python is not as it should be: a program named python3 stands in PATH."""

    def setUp(self):
        super().setUp()
        (self.cwd / "t.parquet").write_bytes(PARQUET)
        del self.env["HOPSCOTCH_PYTHON"]
        self.env |= {"PATH": f"{self.cwd}/bin:{os.environ['PATH']}", "HOME": str(self.cwd)}

    def python(self, *lines):
        (self.cwd / "bin").mkdir()
        program = self.cwd / "bin/python3"
        program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        program.chmod(0o755)

    def test_no_pyarrow(self):
        self.python(f'exec {sys.executable} -S "$@"')  # without any packages
        self.refused(
            "t.parquet: is a Parquet file, and python3 has no pyarrow (which reads it for Hopscotch); pip install pyarrow, "
            + OTHERWISE,
            "t.parquet",
        )

    def test_an_old_pyarrow(self):
        self.python("""echo '{"old": "pyarrow 14.0.0"}' > "$6" """)
        self.refused(
            "t.parquet: is a Parquet file, and python3 has pyarrow 14.0.0 (older than 14.0.1, which a file can make execute "
            f"code); pip install --upgrade pyarrow, {OTHERWISE}",
            "t.parquet",
        )

    def test_a_program_that_fails(self):
        self.python("echo of no use >&2", "exit 3")
        self.refused(
            "t.parquet: is a Parquet file, and python3 with pyarrow must read it, and fails (exit code 3: of no use); "
            "set HOPSCOTCH_PYTHON to another Python, or save the table as CSV text",
            "t.parquet",
        )
        self.env["HOPSCOTCH_PYTHON"] = "./none"
        self.refused(
            "t.parquet: is a Parquet file, and ./none with pyarrow must read it, and fails (No such file or directory); "
            "set HOPSCOTCH_PYTHON to another Python, or save the table as CSV text",
            "t.parquet",
        )

    def test_it_runs_for_parquet_only(self):
        self.python("touch ran")
        (self.cwd / "t.csv").write_text("x,y\n" + "1,0\n2,1\n" * 5)
        self.assertEqual(self.run_import("t.csv")[0], 0)
        self.assertFalse((self.cwd / "ran").exists())

    def test_no_code_of_the_working_directory(self):
        self.env["HOPSCOTCH_PYTHON"] = sys.executable
        for name in ("pyarrow.py", "json.py", "site.py", "sitecustomize.py"):
            (self.cwd / name).write_text("open('ran', 'w')\n")
        self.env |= {"PYTHONPATH": str(self.cwd), "PYTHONSTARTUP": str(self.cwd / "json.py")}
        code, out, err = self.run_import("t.parquet")
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(err.startswith("t.parquet: "), err)
        self.assertFalse((self.cwd / "ran").exists())

    def test_a_signal_ends_it(self):
        self.python("echo $$ > started.tmp", "mv started.tmp started", "exec sleep 1000")
        command = [BINARY, "data", "import", "csv", "t.parquet", "--out", "out", "--shards", "2"]
        with subprocess.Popen(command, cwd=self.cwd, env={**os.environ, **self.env}, stderr=subprocess.PIPE) as process:
            started, until = self.cwd / "started", time.monotonic() + WAIT_LIMIT_S
            while not started.exists() and time.monotonic() < until:
                time.sleep(0.01)
            child = started.read_text().strip()
            process.send_signal(signal.SIGTERM)
            err = process.communicate(timeout=RUN_LIMIT_S)[1].decode()
        self.assertEqual((process.returncode, err), (1, "hopscotch: import interrupted by SIGTERM; nothing was kept\n"))
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists())
        self.assertEqual(list((self.cwd / "tmp").iterdir()), [])
