"""What the framework of the figures promises: it continues, it checks, it draws.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import io
import json
import pathlib
import tempfile
import types
import unittest
import xml.etree.ElementTree as tree
from unittest import mock

import chart
import evidence
import page
from job import Job, claim


class Jobs(unittest.TestCase):
    def test_a_part_that_was_measured_is_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            Job(folder, "full", "build").part("first", lambda: [1, 2])
            again = Job(folder, "full", "build")  # another process, after the first was killed
            self.assertEqual(again.part("first", lambda: self.fail("measured twice")), [1, 2])
            self.assertEqual(again.part("second", lambda: (3,)), [3])
            self.assertEqual(set(Job(folder, "full", "build").parts), {"first", "second"})
            again.forget()
            self.assertEqual(again.part("first", lambda: 5), 5)

    def test_a_program_that_fails_is_an_error_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bad"
            program.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
            program.chmod(0o755)
            with self.assertRaisesRegex(RuntimeError, "ended with 3: no such thing"):
                Job(folder, "full", folder).program("bad")


class Charts(unittest.TestCase):
    def test_axes_have_round_ticks_that_hold_every_value(self):
        for values, ticks in (
            ([0, 7.8], [0, 2, 4, 6, 8]),
            ([1, 2.19], [1, 1.5, 2, 2.5]),
            ([0, 0.0312], [0, 0.01, 0.02, 0.03, 0.04]),
        ):
            self.assertEqual(chart.Axis({"label": ""}, values).ticks, ticks)
        axis = chart.Axis({"label": "", "log": True}, [300, 2e6])
        self.assertEqual((axis.ticks[0], axis.ticks[-1]), (100, 1e7))
        self.assertAlmostEqual(axis.place(1e7), 1)

    def test_every_mark_lies_inside_of_the_picture(self):
        spec = {"kind": "lines", "title": "a < b", "x": {"label": "x"}, "y": {"label": "y"}}
        spec["series"] = [{"name": "s", "points": [[0, 0.3], [3, 9.7]]}]
        root = tree.fromstring(chart.draw(spec))
        line = next(each for each in root.iter() if each.tag.endswith("polyline"))
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            self.assertTrue(
                chart.LEFT <= x <= chart.WIDTH - chart.RIGHT and chart.TOP <= y <= chart.HEIGHT - chart.BOTTOM, pair
            )
        self.assertIn("a < b", [each.text for each in root.iter()])


class Pages(unittest.TestCase):
    def test_a_claim_that_does_not_hold_stays_with_its_reason(self):
        held = page.statement(claim("it is fast", True, "never printed", speed=2.5))
        failed = page.statement(claim("it is fast", False, "The clock stood.", speed=0.5))
        self.assertEqual(held, "- Holds: it is fast (speed 2.5).")
        self.assertEqual(failed, "- **Does not hold**: it is fast (speed 0.5). The clock stood.")

    def test_stale_pages_and_changed_claims_are_found(self):
        known = evidence.figures()
        self.assertEqual(self.check(lambda name: evidence.result_of(name)), 0)
        bent = json.loads(json.dumps(evidence.result_of(page.ORDER[0])))
        bent["claims"][0]["holds"] = not bent["claims"][0]["holds"]
        self.assertEqual(self.check(lambda name: bent if name == page.ORDER[0] else evidence.result_of(name)), 1)
        with mock.patch.object(evidence, "figures", lambda: {name: changed(figure) for name, figure in known.items()}):
            self.assertEqual(self.check(evidence.result_of), 1)

    def check(self, result_of):
        results = {name: result_of(name) for name in page.ORDER}
        with mock.patch.object(evidence, "result_of", results.get), contextlib.redirect_stdout(io.StringIO()):
            return evidence.check()


def changed(figure):
    return types.SimpleNamespace(**{**vars(figure), "TITLE": "Another title"})


if __name__ == "__main__":
    unittest.main()
