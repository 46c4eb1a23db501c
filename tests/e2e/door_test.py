# SPDX-License-Identifier: Apache-2.0
"""A minute of door_truth.py: tables, pictures and arrays of known truth through `data import` and `predict`. Seeds that once
failed stay."""

import pathlib
import tempfile
import unittest

import door_arrays
import door_tables
from door_common import Wrong, imported, stored
from harness import BINARY, LONG

try:
    import door_pictures
except ImportError:
    door_pictures = None

TIMES = 10 if LONG else 1


class Door(unittest.TestCase):
    def no_silent_difference(self, kind, count, failed_once=(), most_refused=0.5):
        refused = 0
        for seed in (*failed_once, *range(count * TIMES)):
            with self.subTest(seed=seed):
                refused += kind.try_seed(BINARY, seed, predict=seed % 8 == 0) != "same"
        self.assertLess(refused, count * TIMES * most_refused, "many are read")

    def test_tables(self):
        self.no_silent_difference(door_tables, 40, most_refused=0.2)

    @unittest.skipUnless(door_pictures, "needs Pillow, which scripts/setup.sh installs")
    def test_pictures(self):
        """19: values beyond the scale; 24: a hidden folder."""
        self.no_silent_difference(door_pictures, 60, (19, 24))

    def test_arrays(self):
        """7: float16 of HDF5; 31: a type for each split; 99, 212, 218: unsigned enumerations, whose classes were merged."""
        self.no_silent_difference(door_arrays, 100, (7, 31, 99, 212, 218))


class TheCheckSees(unittest.TestCase):
    """A truth that differs from the file must be found."""

    def test_a_change_of_one_cell(self):
        found = 0
        for seed in range(20):
            table = door_tables.Table(seed)
            for name, (kind, cells) in table.columns.items():
                if kind not in ("number", "category", "label") or len(set(cells)) < 2 or table.missing != "none":
                    continue
                other = door_tables.Table(seed)
                changed = other.columns[name][1]
                changed[3] = next(cell for cell in changed if cell != changed[3])
                with self.subTest(seed=seed, column=name), self.assertRaises(Wrong):
                    if self.read_table(table, other) == "refused":
                        raise Wrong
                found += 1
        self.assertGreater(found, 5)

    def read_table(self, written, truth):
        class Other(door_tables.Table):
            def __init__(self, seed):
                self.__dict__.update(truth.__dict__)
                self.text, self.cells = written.text, written.cells

        original, door_tables.Table = door_tables.Table, Other
        try:
            return door_tables.try_seed(BINARY, 0, predict=False).split(":")[0]
        finally:
            door_tables.Table = original

    def swapped(self, truth, at):
        """Two rows that differ in what stands at `at` have each other's."""
        told = [str(row[at]) for row in truth]
        other = next((n for n in range(1, len(truth)) if told[n] != told[0]), None)
        if other is None:
            return None
        out = [list(row) for row in truth]
        out[0][at], out[other][at] = out[other][at], out[0][at]
        return out

    def sees_swaps(self, checks, places):
        found = 0
        for seed, check in checks:
            truth = check.truth
            for at in places:
                check.truth = self.swapped(truth, at)
                if check.truth:
                    with self.subTest(seed=seed, at=at), self.assertRaises(Wrong):
                        for row in check.rows:
                            check.row(row)
                    found += 1
        self.assertGreater(found, 15)

    def test_arrays_of_other_rows(self):
        self.sees_swaps(self.array_checks(), (0, 1))

    @unittest.skipUnless(door_pictures, "needs Pillow, which scripts/setup.sh installs")
    def test_pictures_of_other_rows(self):
        """Names, classes; and a pixel."""
        self.sees_swaps(self.picture_checks(), (0, 1))
        for seed, check in self.picture_checks():
            row = check.rows[0]
            row.features[0, -1, -1] = (int(row.features[0, -1, -1]) + 128) % 256
            with self.subTest(seed=seed), self.assertRaises(Wrong):
                check.row(row)

    def array_checks(self):
        for seed in range(24):
            with tempfile.TemporaryDirectory(prefix="hopscotch-door-") as name:
                folder, made = pathlib.Path(name), door_arrays.Arrays(seed)
                if not imported(BINARY, folder, *made.write(folder), "--shards", 1):
                    yield seed, door_arrays.Check(made, *stored(folder))

    def picture_checks(self):
        for seed in range(24):
            with tempfile.TemporaryDirectory(prefix="hopscotch-door-") as name:
                folder, made = pathlib.Path(name), door_pictures.Pictures(seed)
                made.write(folder)
                if not imported(BINARY, folder, "images", "photos", "--shards", 1, *made.options):
                    yield seed, door_pictures.Check(made, *stored(folder))
