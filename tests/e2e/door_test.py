# SPDX-License-Identifier: Apache-2.0
"""A minute of door_truth.py: tables of known truth through `data import` and `predict`. Seeds that once failed stay."""

import unittest

import door_truth
from harness import BINARY, LONG

FAILED_ONCE = ()
COUNT = 400 if LONG else 40


class Door(unittest.TestCase):
    def test_no_silent_difference(self):
        refused = 0
        for seed in (*FAILED_ONCE, *range(COUNT)):
            with self.subTest(seed=seed):
                refused += door_truth.try_seed(BINARY, seed, predict=seed % 8 == 0) != "same"
        self.assertLess(refused, COUNT // 5, "most tables are read")

    def test_the_check_sees_a_change_of_one_cell(self):
        """Another truth than that of the file must be found, column by column."""
        found = 0
        for seed in range(20):
            table = door_truth.Table(seed)
            for name, (kind, cells) in table.columns.items():
                if kind not in ("number", "category", "label") or len(set(cells)) < 2 or table.missing != "none":
                    continue
                other = door_truth.Table(seed)
                changed = other.columns[name][1]
                changed[3] = next(cell for cell in changed if cell != changed[3])
                with self.subTest(seed=seed, column=name), self.assertRaises(door_truth.Wrong):
                    if self.read(table, other) == "refused":
                        raise door_truth.Wrong
                found += 1
        self.assertGreater(found, 5)

    def read(self, written, truth):
        class Other(door_truth.Table):
            def __init__(self, seed):
                self.__dict__.update(truth.__dict__)
                self.text = written.text

        original, door_truth.Table = door_truth.Table, Other
        try:
            return door_truth.try_seed(BINARY, 0, predict=False).split(":")[0]
        finally:
            door_truth.Table = original
