# SPDX-License-Identifier: Apache-2.0
"""scripts/late_tests.py: which failed tests may run once more. late_tests_test.py SCRIPTS_FOLDER"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SCRIPT = pathlib.Path(sys.argv.pop(1)) / "late_tests.py"
LATE = "FAIL: test_a (x.A.test_a)\nAssertionError: no first lap_done within 120 s\n"
HANGS = "FAIL: test_b (x.A.test_b)\nAssertionError: hangs; status none; \n"
SILENT = "x.cpp:7: Failure\nrank 1 has been silent for 10 s (stopped); run.silence_s sets this limit\n"
VALUE = "FAIL: test_c (x.A.test_c)\nAssertionError: 3 != 4\n"
EQUALITY = "tests/x.cpp:8: Failure\nExpected equality of these values:\n  3\n  4\n"


class LateTests(unittest.TestCase):
    def late(self, *cases):
        """cases: CTest's word and the test's output, of the tests a, b, ..."""
        suite, log = xml.Element("testsuite"), "1/9 Test  #1: passed ...........   Passed    0.01 sec\n"
        xml.SubElement(suite, "testcase", name="passed", status="run")
        for name, (how, output) in zip("abcdef", cases):
            case = xml.SubElement(suite, "testcase", name=name, status="fail")
            xml.SubElement(case, "failure", message="")  # CTest 3.25 leaves it empty
            xml.SubElement(case, "system-out").text = output
            log += f"2/9 Test #12: {name} ................***{how}  12.30 sec\n{output}\n"
        with tempfile.TemporaryDirectory() as folder:
            results, told = pathlib.Path(folder) / "r.xml", pathlib.Path(folder) / "r.log"
            xml.ElementTree(suite).write(results)
            told.write_text(log)
            done = subprocess.run([SCRIPT, results, told], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_what_came_too_late(self):
        self.assertEqual(self.late(("Failed", LATE), ("Failed", SILENT), ("Timeout", "[ RUN ] X")), ["a", "b", "c"])
        self.assertEqual(self.late(("Failed", LATE + HANGS)), ["a"])

    def test_one_wrong_value_is_enough(self):
        self.assertEqual(self.late(("Failed", VALUE), ("Failed", LATE + VALUE), ("Timeout", EQUALITY)), [])
        self.assertEqual(self.late(("Failed", "exit code 1, and no reason")), [])

    def test_no_crash_no_sanitizer_no_hash(self):
        for words in ("double free or corruption", "ERROR: AddressSanitizer: x", "trial 3: its state hash differs"):
            self.assertEqual(self.late(("Failed", LATE + words)), [], words)
        self.assertEqual(self.late(("Exception: SegFault", LATE)), [])
        self.assertEqual(self.late(("Subprocess aborted", LATE)), [])


if __name__ == "__main__":
    unittest.main()
