# SPDX-License-Identifier: Apache-2.0
"""`hopscotch data import` as a user runs it: what it says, its progress on a terminal, and what a signal leaves behind."""

import os
import pty
import signal
import struct
import subprocess

from harness import BINARY, SOURCE, Case
from limits import RUN_LIMIT_S

IMPORTERS = ("csv", "images", "idx", "cifar", "npy", "h5", "tokens")


class DataImport(Case):
    def run_import(self, *args):
        return self.run_hopscotch("data", "import", *args)

    def test_every_importer_explains_itself(self):
        for name in IMPORTERS:
            code, out, err = self.run_import(name, "--help")
            self.assertEqual((code, err), (0, ""))
            self.assertIn(f"Example: hopscotch data import {name} ", out)
            for option in ("--out", "--shards", "--valid", "--test", "--seed"):
                self.assertIn(option, out)
            self.assertEqual("--stratify" in out, name != "tokens")

    def test_images(self):
        code, out, err = self.run_import(
            "images",
            str(SOURCE / "tests/data/cifar"),
            "--out",
            "photos",
            "--shards",
            "4",
            "--valid",
            "0.1",
            "--test",
            "0.1",
            "--size",
            "16",
            "--resize",
            "fit",
            "--colour",
            "grey",
        )
        self.assertEqual((code, err), (0, ""))  # no progress where no one looks
        self.assertRegex(out, r"classification, 10 classes \(airplane, ")
        self.assertRegex(out, r"row +1 x 16 x 16 uint8")
        self.assertRegex(out, r"test +24 rows +4 shards of 6")
        self.assertRegex(out, r"imported in [0-9.]+ s \([0-9]+ images/s\)")
        self.assertEqual(self.run_hopscotch("data", "verify", "photos")[0], 0)

    def test_skipped_and_ignored_files_are_reported(self):
        for name in ("a", "b"):
            (self.cwd / "in" / name).mkdir(parents=True)
            for number in range(8):
                source = SOURCE / f"tests/data/cifar/cat/{number:04}.jpg"
                (self.cwd / "in" / name / source.name).write_bytes(source.read_bytes())
        (self.cwd / "in/a/0003.jpg").write_bytes(b"")
        (self.cwd / "in/notes.txt").write_text("x")
        args = ("images", "in", "--out", "out", "--shards", "1")
        code, out, err = self.run_import(*args)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(
            err,
            "in/a/0003.jpg: the file is empty\n1 of 16 images cannot be decoded; replace them, or leave them "
            "out with --skip-bad\n",
        )
        code, out, err = self.run_import(*args, "--skip-bad")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("skipped     1 files that cannot be decoded\n  in/a/0003.jpg: the file is empty\n", out)
        self.assertIn("ignored     1 files that are not .jpg, .jpeg or .png\n", out)

    def test_idx_with_and_without_stratification(self):
        (self.cwd / "i").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, 40, 2, 2) + bytes(160))
        (self.cwd / "l").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 40) + bytes(n % 2 for n in range(40)))
        hashes = set()
        for flags in ([], ["--stratify"], ["--no-stratify"], ["--seed", "7"]):
            code, out, err = self.run_import(
                "idx", "i", "l", "--out", f"out{len(flags)}{flags[:1]}", "--shards", "2", *flags
            )
            self.assertEqual((code, err), (0, ""))
            hashes.add(out[out.index("hash ") :].split("\n")[0])
        self.assertEqual(len(hashes), 3)

    def test_words_that_are_unknown(self):
        code, _, err = self.run_import("images", "in", "--out", "o", "--shards", "1", "--resize", "stretch")
        self.assertEqual((code, err), (2, "--resize stretch: unknown value (known: crop, fit)\n"))
        code, _, err = self.run_import("image", "in")
        self.assertEqual(
            (code, err), (2, 'unknown command "image"; did you mean "images"? (see: hopscotch data import --help)\n')
        )

    def test_a_signal_leaves_nothing_behind(self):
        # 1.2 GB in a file that takes no room: seconds of work, of which the signal interrupts the first.
        with open(self.cwd / "data_batch_1.bin", "wb") as file:
            file.truncate(400_000 * 3073)
        for number, name in ((signal.SIGINT, b"SIGINT"), (signal.SIGTERM, b"SIGTERM")):
            before = sorted(os.listdir(self.cwd))
            terminal, other_end = pty.openpty()
            with subprocess.Popen(
                [BINARY, "data", "import", "cifar", "data_batch_1.bin", "--out", "out", "--shards", "2"],
                cwd=self.cwd,
                stdout=subprocess.PIPE,
                stderr=other_end,
            ) as process:
                os.close(other_end)
                shown = os.read(terminal, 1000)  # blocks until there is progress
                self.assertRegex(shown, rb"\r\x1b\[K[0-9]+ of 400000 rows, [0-9]+ rows/s")
                self.assertEqual(len([name for name in os.listdir(self.cwd) if name.endswith(".tmp")]), 1)
                process.send_signal(number)
                while True:
                    try:
                        more = os.read(terminal, 1000)
                    except OSError:  # how Linux says that the other end is closed
                        break
                    if not more:
                        break
                    shown += more
                self.assertEqual(process.wait(timeout=RUN_LIMIT_S), 1)
            os.close(terminal)
            self.assertTrue(shown.endswith(b"hopscotch: import interrupted by " + name + b"; nothing was kept\r\n"), shown)
            self.assertEqual(sorted(os.listdir(self.cwd)), before)
