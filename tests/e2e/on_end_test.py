# SPDX-License-Identifier: Apache-2.0
"""run.on_end: the command sees how the run ended, and cannot change it."""

import contextlib
import os
import pathlib
import re
import signal
import time
import unittest

from harness import Case, experiment
from limits import WAIT_LIMIT_S

NOTE = 'env | grep -E "^(HOPSCOTCH|OMPI|PMI)" | sort > seen; test -f "$HOPSCOTCH_RUN_DIR/report.html"'


def command_runs(words):
    """A zombie has no command line."""
    wanted = b"".join(word.encode() + b"\0" for word in words)
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if path.read_bytes() == wanted:
                return True
    return False


class OnEnd(Case):
    def start_from(self, on_end, **run):
        self.write(experiment(run={"dir": "out", "device": "cpu", "on_end": on_end, **run}))

    def seen(self):
        return dict(line.split("=", 1) for line in (self.cwd / "seen").read_text().splitlines())

    def test_what_the_command_sees(self):
        self.start_from(["sh", "-c", NOTE])
        self.succeed("--dry-run")
        self.assertFalse((self.cwd / "seen").exists())
        _, err = self.succeed("--quiet", np=3)
        self.assertNotIn("on_end", err)
        summary, seen = self.summary(), self.seen()
        best = next(trial for trial in summary["trials"] if trial["id"] == summary["best_trial"])
        self.assertFalse([name for name in seen if re.match("OMPI_(?!ALLOW_)|PMI", name)])  # mpirun's
        self.assertEqual(seen["HOPSCOTCH_RUN_DIR"], str(self.cwd / "out"))
        self.assertEqual(seen["HOPSCOTCH_STATUS"], "finished")
        self.assertEqual(seen["HOPSCOTCH_BEST_TRIAL"], str(best["id"]))
        self.assertEqual(float(seen["HOPSCOTCH_BEST_VALUE"]), best["best"]["val_accuracy"])
        (self.cwd / "seen").unlink()
        self.succeed("--resume")  # nothing is left to do
        self.assertFalse((self.cwd / "seen").exists())

    def test_a_command_that_fails_is_a_warning(self):
        seconds = f"1000.{os.getpid()}"  # no other process sleeps for so long
        for on_end, problem, run in (
            (["sh", "-c", "exit 3"], "sh: exit code 3", {}),
            (["./not there", "x"], "./not there: No such file or directory", {}),
            (["sh", "-c", f"sleep {seconds} & wait"], "sh: not done after 0.5 s, and killed", {"on_end_s": 0.5}),
        ):
            self.start_from(on_end, **run)
            _, err = self.succeed("--quiet", "--overwrite", "--trainers", "2", "--set", "train.epochs=1")
            self.assertIn(f"warning run.on_end: {problem} (the run itself is finished)\n", err)
            self.assertEqual(self.summary()["status"], "finished")
        until = time.monotonic() + WAIT_LIMIT_S
        while command_runs(["sleep", seconds]):  # until it is killed with the command
            self.assertLess(time.monotonic(), until)

    def test_after_a_signal(self):
        self.start_from(["sh", "-c", NOTE])
        process = self.start("run", "e.json", "--quiet", "--trainers", "2", "--set", "train.epochs=5000")
        self.wait_for_event(process)
        process.send_signal(signal.SIGTERM)
        self.end_of(process)
        self.assertEqual(process.returncode, 75)
        self.assertEqual(self.seen()["HOPSCOTCH_STATUS"], "interrupted")

    def test_after_a_failure(self):
        run = {"dir": "out", "device": "cpu", "on_end": ["sh", "-c", NOTE]}
        self.write(experiment(run=run, space={"train.optimizer.lr": [1e30]}))
        code, _, _ = self.run_hopscotch("run", "e.json", "--quiet")
        self.assertEqual(code, 1)
        seen = self.seen()
        self.assertEqual((seen["HOPSCOTCH_STATUS"], seen["HOPSCOTCH_BEST_TRIAL"]), ("failed", ""))

    def test_bad_input(self):
        self.start_from([""])
        code, _, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2)
        self.assertIn("/run/on_end: the first element is empty (the first element names the program); name a program", err)


if __name__ == "__main__":
    unittest.main()
