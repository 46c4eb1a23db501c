"""The figure `overhead`, with and without Ray's rows.

SPDX-License-Identifier: Apache-2.0
"""

import unittest

import chart
import evidence

FIGURE = evidence.figures()["overhead"]


def row(seconds, results, megabytes, whole, ray=None):
    mine = {"trials": 10, "whole": whole, "inner": whole, "busy": 0.99}
    other = ray and {"trials": 5, "whole": ray + 1, "inner": ray, "version": "2.0"}
    return {"seconds": seconds, "results": results, "megabytes": megabytes, "hopscotch": mine, "ray": other}


def held(rows):
    return {each["claim"]: each["holds"] for each in FIGURE.claims(rows)}


class Overhead(unittest.TestCase):
    def test_each_size_has_its_limit(self):
        good = [row(0.1, 1, 0, 1.01), row(0.1, 1, 1, 1.015), row(0.1, 1, 10, 1.04), row(1, 1, 10, 1.001)]
        self.assertEqual(set(held(good).values()), {True})
        self.assertEqual(len(held(good)), 4)  # nothing about Ray
        for i, whole in ((0, 1.03), (1, 1.03), (2, 1.06), (3, 1.06)):
            bad = [dict(each) for each in good]
            bad[i]["hopscotch"] = {**bad[i]["hopscotch"], "whole": whole}
            self.assertIn(False, held(bad).values(), i)

    def test_ray_is_compared_without_its_start(self):
        claim = "Ray Tune on this machine takes longer in every shape, also without its start"
        self.assertTrue(held([row(0.1, 1, 0, 1.01, 2), row(1, 1, 0, 1.01, 1.2)])[claim])
        self.assertFalse(held([row(0.1, 1, 0, 1.01, 2), row(1, 1, 0, 1.01, 1.005)])[claim])

    def test_table_and_chart_stand_without_ray(self):
        for ray in (None, 2):
            rows = [row(0.1, 1, size, 1.01, ray) for size in (0, 10)]
            lines = list(FIGURE.remarks(rows))
            self.assertEqual({line.count("|") for line in lines}, {6})
            drawn = chart.draw(FIGURE.chart(rows))
            self.assertEqual("Ray Tune" in drawn, ray is not None)


if __name__ == "__main__":
    unittest.main()
