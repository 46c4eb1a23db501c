"""The figure `overhead`, with and without Ray's rows.

SPDX-License-Identifier: Apache-2.0
"""

import unittest

import chart
import evidence

FIGURE = evidence.figures()["overhead"]


def row(state, whole, ray=None):
    other = ray and {"trials": 5, "whole": ray + 1, "inner": ray, "version": "2.0"}
    return {
        "seconds": 0.1,
        "results": 1,
        "state": state,
        "hopscotch": {"trials": 1000, "whole": whole, "busy": 0.99, "files": 0},
        "ray": other,
    }


def held(rows):
    return {each["claim"]: each["holds"] for each in FIGURE.claims(rows)}


class Overhead(unittest.TestCase):
    def test_each_size_has_its_limit(self):
        good = {"no state": 1.01, "1 MB": 1.015, "10 MB": 1.04, "10 MB, disk": 1.5}
        self.assertEqual([*held([row(*each) for each in good.items()]).values()], [True] * 3)  # nothing about Ray
        for state, whole in (("no state", 1.03), ("1 MB", 1.03), ("10 MB", 1.06)):
            self.assertIn(False, held([row(*each) for each in {**good, state: whole}.items()]).values(), state)

    def test_ray_is_compared_without_its_start(self):
        claim = "Ray Tune on this machine takes longer in every shape, also without its start"
        own = [row("no state", 1.01, 2), row("1 MB", 1.01), row("10 MB", 1.01)]
        self.assertTrue(held([*own, row("10 MB, disk", 1.1, 1.2)])[claim])
        self.assertFalse(held([*own, row("10 MB, disk", 1.1, 1.05)])[claim])

    def test_table_and_chart_stand_without_ray(self):
        for ray in (None, 2):
            rows = [row("no state", 1.01, ray), row("10 MB", 1.02)]
            self.assertEqual({line.count("|") for line in FIGURE.remarks(rows)}, {0, 7})
            self.assertEqual("Ray" in chart.draw(FIGURE.chart(rows)), ray is not None)


if __name__ == "__main__":
    unittest.main()
