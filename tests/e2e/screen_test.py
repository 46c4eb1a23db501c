# SPDX-License-Identifier: Apache-2.0
"""The live view on terminals of several sizes: what stands on the screen while a run trains, after a change of the window,
and at the end. The terminal is emulated by Python's pyte."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unittest

from harness import BINARY, Case, experiment
from limits import WAIT_LIMIT_S

try:
    import pyte
except ImportError:
    pyte = None


class Terminal:
    """A program on a terminal of this many columns and rows."""

    def __init__(self, cwd, columns, rows, *args):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(BINARY, [BINARY, *args], {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def until(self, holds):
        """Reads until the screen is such. Returns its lines."""
        end = time.monotonic() + WAIT_LIMIT_S
        while not holds(self.lines()):
            if time.monotonic() > end or not self.read():
                raise AssertionError("never on the screen:\n" + "\n".join(self.lines()))
        return self.lines()

    def read(self):
        """False: the program has closed the terminal."""
        if not select.select([self.fd], [], [], 1)[0]:
            return True
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        self.stream.feed(data)
        return bool(data)

    def wait(self):
        end = time.monotonic() + WAIT_LIMIT_S
        while time.monotonic() < end and self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self):
        os.close(self.fd)


def trainers_in(lines):
    return [line for line in lines if re.match(r"trainer \d", line)]


def bars_in(lines):
    return [line for line in lines if re.match(r"\[[=> ]+\] +\d+%", line)]


def is_whole(lines):
    """Four trainers train, and five trials have a curve or a value."""
    return len([line for line in trainers_in(lines) if "trial" in line]) == 4 and len(leaders_in(lines)) == 5


def all_compute(lines):
    """None of them validates or waits at this moment, which takes other words."""
    busy = [line for line in trainers_in(lines) if re.search(r"trial \d+, epoch \d+, shard \d+, \S+ batches/s$", line)]
    return is_whole(lines) and len(busy) == 4


def leaders_in(lines):
    return [line for line in lines if re.match(r" +\d+ +\d+\.\d{4} +\d+", line)]


def shape(lines):
    """The lines without what changes from second to second."""
    return [re.sub(r"[\d.]+|[█░▁-▇]+|\[[=> ]+\]", "#", line).split() for line in lines]


@unittest.skipUnless(pyte, "needs Python's pyte, which scripts/setup.sh installs")
class Screen(Case):
    shards = 8

    def experiment(self, epochs):
        self.write(
            experiment(
                model={"name": "synthetic", "seconds_per_batch": 0.005, "parameters": 1000},
                train={"epochs": epochs, "batch_size": 30, "optimizer": {"name": "sgd"}},
                search={"procedure": "grid", "metric": "val_loss"},
                space={"train.optimizer.lr": [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]},
            )
        )

    def begin(self, columns, rows, *args):
        out = Terminal(self.cwd, columns, rows, *args)
        self.addCleanup(out.close)
        return out

    def run_on(self, columns, rows, epochs=12):
        self.experiment(epochs)
        return self.begin(columns, rows, "run", "e.json", "--overwrite", "--trainers", "4")

    def test_sizes(self):
        for columns, rows in ((80, 24), (40, 20), (200, 50)):
            with self.subTest(columns=columns, rows=rows):
                terminal = self.run_on(columns, rows)
                lines = terminal.until(is_whole)
                self.assertEqual([line.split()[1] for line in trainers_in(lines)], ["0", "1", "2", "3"])
                self.assertEqual(len(bars_in(lines)), 1, lines)
                self.assertRegex(bars_in(lines)[0], r"\d+%  (ETA|in) \d+s")
                self.assertEqual(terminal.wait(), 0)
                end = terminal.lines()
                self.assertEqual((trainers_in(end), len(bars_in(end)) <= 1), ([], True), end)
                self.assertEqual(len([line for line in end if line.startswith("finished in")]), 1, end)

    def test_another_size_on_the_way(self):
        terminal = self.run_on(80, 24, epochs=60)
        terminal.until(is_whole)
        for columns, has_best in ((120, True), (60, False), (100, True)):
            terminal.resize(columns, 40)
            # The line of the bar has the best value if there is room. One bar: nothing of the last drawing is left.
            terminal.until(lambda now: is_whole(now) and ["best " in bar for bar in bars_in(now)] == [has_best])
        os.kill(terminal.pid, signal.SIGINT)
        self.assertEqual(terminal.wait(), 75)

    def test_followed_from_another_terminal(self):
        terminal = self.run_on(80, 24, epochs=60)
        own = terminal.until(all_compute)
        other = self.begin(80, 24, "ctl", "out", "status", "--follow")
        followed = other.until(all_compute)
        for part in (trainers_in, leaders_in, bars_in):
            self.assertEqual([len(row) for row in shape(part(followed))], [len(row) for row in shape(part(own))])
        os.kill(terminal.pid, signal.SIGINT)
        self.assertEqual(terminal.wait(), 75)
        other.wait()
        self.assertTrue(any("interrupted" in line for line in other.lines()), other.lines())
