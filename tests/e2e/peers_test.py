# SPDX-License-Identifier: Apache-2.0
"""scripts/compare_peers.py at a short size, with the peers whose packages HOPSCOTCH_TOOLS_PYTHON (default: this Python) has:
torch, h5py and numpy, for two of them optuna or ray[tune]."""

import os
import re
import subprocess
import sys
import unittest

from harness import BINARY, SOURCE, Case, and_long
from limits import RUN_LIMIT_S

PYTHON = os.environ.get("HOPSCOTCH_TOOLS_PYTHON", sys.executable)
PEERS = and_long(["loop", "ddp"], ["pool", "optuna", "ray"])
SIZES = ["--hidden", "16", "--lr", "0.1", "0.3", "--epochs", "3"]


class Peers(Case):
    def compare(self, *args, python=PYTHON):
        command = [sys.executable, "-B", str(SOURCE / "scripts/compare_peers.py"), "--data", "digits", *SIZES]
        done = subprocess.run(
            [*command, "--python", python, "--hopscotch", BINARY, *args],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
        )
        rows = dict(re.findall(r"^\| (\w+) (\|.*)\|$", done.stdout, re.MULTILINE))
        rows = {name: [cell.strip() for cell in row.strip("|").split("|")] for name, row in rows.items()}
        skipped = dict(re.findall(r"^(\w+) is skipped: (.*)$", done.stderr, re.MULTILINE))
        return done, rows, skipped

    def check(self, rows):
        for name, (seconds, span, times, accuracy) in rows.items():
            with self.subTest(name):
                least, most = map(float, span.split(" .. "))
                self.assertTrue(0 < least <= float(seconds) <= most, span)
                self.assertGreater(float(times), 0)
                self.assertGreater(float(accuracy), 0.9)  # all learn: a tenth is chance

    def test_each_peer_that_is_installed_trains_the_same_search(self):
        done, rows, skipped = self.compare("hopscotch", *PEERS, "--repeats", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 trials of 3 epochs, mlp, digits, batches of 32, 2 workers, median of 1\n", done.stdout)
        self.assertEqual({*rows, *skipped}, {"hopscotch", *PEERS})
        self.assertEqual({*rows} & {*skipped}, set())
        self.check(rows)
        if len(rows) == 1:
            self.skipTest(f"HOPSCOTCH_TOOLS_PYTHON: {skipped['loop']}")

    def test_packages_that_are_missing_are_named(self):
        bare = self.cwd / "bare"
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')  # no packages, wherever they are installed
        bare.chmod(0o755)
        done, rows, skipped = self.compare("hopscotch", "loop", "ray", "--repeats", "2", python="./bare")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([*rows], ["hopscotch"])
        self.assertEqual(rows["hopscotch"][2], "1.00")
        self.check(rows)
        self.assertEqual(
            skipped, {"loop": f"{bare} has no torch, h5py, numpy", "ray": f"{bare} has no torch, h5py, ray.tune"}
        )

    def test_what_cannot_run_is_an_error(self):
        done, rows, skipped = self.compare("loop", python="./nowhere")
        self.assertEqual((done.returncode, [*skipped]), (1, ["loop"]))
        done, _, _ = self.compare("horovod")
        self.assertEqual(done.returncode, 2)
        self.assertIn("horovod: unknown (known: hopscotch, loop, pool, ddp, optuna, ray)", done.stderr)
        done, _, _ = self.compare("hopscotch", "--batch", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/train/batch_size", done.stderr)  # what Hopscotch says


if __name__ == "__main__":
    unittest.main()
