"""What the figure search_rules reads, and what it makes of it.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import struct
import tempfile
import unittest
import zipfile
from unittest import mock

import evidence
from job import Job, Missing

figure = evidence.figures()["search_rules"]


def array(kind, shape, values, wide=2):
    """A .npy file. wide: bytes of the length of its header, 2 in version 1 and 4 in version 2."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([wide // 2, 0]) + len(head).to_bytes(wide, "little") + head + values


def rule(regrets):
    return {"mean": sum(regrets) / len(regrets), "error": 0.1, "tasks": regrets, "epochs": 1040, "trials": 20}


class Pools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, kind):
        names = "".join(f"{name:\0<4}" for name in ("39", "1891")).encode("utf-32-le")
        path = self.folder / "pool.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tasks.npy", array("<U4", (2,), names, 4))
            archive.writestr("acc.npy", array(kind, (2, 3, 2), struct.pack("<12f", *range(12))))
        return path

    def test_curves_are_read_without_numpy(self):
        tasks, curves = figure.read_pool(self.write("<f4"))
        self.assertEqual(tasks, ["39", "1891"])
        self.assertEqual(curves, [[(0, 1), (2, 3), (4, 5)], [(6, 7), (8, 9), (10, 11)]])
        with self.assertRaisesRegex(ValueError, "has <f8"):
            figure.read_pool(self.write("<f8"))

    def test_a_table_brings_every_float_back(self):
        third = struct.unpack("<f", struct.pack("<f", 100 / 3))[0]
        figure.write_table(self.folder / "table.csv", [(third, 2.0)])
        head, first, second = (self.folder / "table.csv").read_text().splitlines()
        self.assertEqual((head, second), ("trial,epoch,val_accuracy", "0,1,2"))
        self.assertEqual(struct.pack("<f", float(first.split(",")[2])), struct.pack("<f", third))

    def test_without_curves_or_with_others_the_figure_is_skipped(self):
        for path in ("", "/missing", str(self.write("<f4"))):
            with mock.patch.dict(os.environ, {figure.POOL: path}), self.assertRaisesRegex(Missing, "curves.py"):
                figure.measure(Job(self.folder, "short", "build"))


class Numbers(unittest.TestCase):
    def test_a_rule_is_summed_up_over_tasks_and_orders(self):
        tasks = [{"regret": regrets, "epochs": [10, 20], "trials": [1, 2]} for regrets in ([0.1, 0.3], [0.5, 0.5])]
        done = figure.summary(tasks)
        self.assertEqual((done["mean"], done["tasks"], done["epochs"], done["trials"]), (0.35, [0.2, 0.5], 15, 1.5))
        self.assertAlmostEqual(done["error"], 0.05)  # the orders have .3 and .4

    def test_the_saving_names_the_worst_task(self):
        done = figure.savings([{"saved": 0.5, "lost": 0.01}, {"saved": 0.7, "lost": 0.0}])
        self.assertEqual(done, {"saved": 0.6, "least_saved": 0.5, "lost": 0.005, "most_lost": 0.01})

    def test_a_rule_that_is_worse_than_chance_is_named(self):
        names = (*figure.DEFAULTS, *figure.SET)
        rules = {name: rule([0.1] * 34) for name in names} | {"random": rule([0.3] * 33 + [0.1])}
        few = {"50": {"saved": 0.5, "lost": 0.001}}
        data = {"names": ["t"] * 34, "rules": {**rules, "median": rule([0.4] * 34)}, "few": few}
        _, every, others, _ = figure.claims(data)
        self.assertEqual((every["holds"], every["numbers"]["tasks"]), (False, 33))  # on the last they are equal
        self.assertEqual((others["holds"], others["numbers"]["worse"]), (False, ["median"]))


if __name__ == "__main__":
    unittest.main()
