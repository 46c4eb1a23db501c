# SPDX-License-Identifier: Apache-2.0
"""scripts/skips.sh: which cases a run has skipped, and when that is refused. skips_test.py SCRIPTS_FOLDER"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SCRIPT = pathlib.Path(sys.argv.pop(1)) / "skips.sh"
GPU = "x_test.cpp:7: Skipped\nthis is a CPU build\n"
CPU = "test_bits (x.A.test_bits) ... skipped 'no digests; run it on a CPU with AVX2'\n"
TOOL = "test_page (x.A.test_page) ... skipped 'Chromium is missing'\n"


class Skips(unittest.TestCase):
    def skips(self, outputs, scripts=(), refuse=""):
        """outputs: of tests that ran. scripts: of tests that ended with 77. Returns the exit code and the text."""
        suite = xml.Element("testsuite")
        for output in outputs:
            xml.SubElement(xml.SubElement(suite, "testcase", name="a"), "system-out").text = output
        for output in scripts:
            case = xml.SubElement(suite, "testcase", name="b")
            xml.SubElement(case, "skipped", message="SKIP_RETURN_CODE=77")
            xml.SubElement(case, "system-out").text = output
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "r.xml"
            xml.ElementTree(suite).write(results)
            environment = {**os.environ, "HOPSCOTCH_REFUSE_SKIPS": refuse}
            done = subprocess.run([SCRIPT, results], capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_gpus_and_cpus_are_no_reason_to_refuse(self):
        code, told = self.skips([GPU + GPU, CPU, "passed"], refuse="1")
        self.assertEqual(code, 0)
        self.assertIn("skipped: 3 cases, 2 of them for a GPU\n      2 this is a CPU build\n", told)
        self.assertIn("to run 1 of them: another CPU", told)
        self.assertEqual(self.skips(["passed"], refuse="1"), (0, ""))

    def test_a_missing_tool_is_refused_where_asked(self):
        for outputs, scripts in (([TOOL], []), ([], ["configuring\noxlint is missing\n"])):
            code, told = self.skips([GPU, *outputs], scripts)
            self.assertEqual((code, "refused" in told), (0, False))
            code, told = self.skips([GPU, *outputs], scripts, refuse="1")
            self.assertEqual(code, 1)
            self.assertIn("is missing", told)
            self.assertIn("refused: 1 of them (HOPSCOTCH_REFUSE_SKIPS)", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
