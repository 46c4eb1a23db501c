# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the real binary, in a temporary folder, on a real dataset. CTest sets HOPSCOTCH (the
binary), HOPSCOTCH_MPIRUN (the launcher with its options) and HOPSCOTCH_SOURCE (the repository)."""

import atexit
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from limits import RUN_LIMIT_S, WAIT_LIMIT_S
from units import with_units

BINARY = os.environ["HOPSCOTCH"]
MPIRUN = shlex.split(os.environ["HOPSCOTCH_MPIRUN"])
SOURCE = pathlib.Path(os.environ["HOPSCOTCH_SOURCE"])
SHARDS = 12
# What makes mpirun leave a job alone that has lost a rank: Open MPI 4's way, and ULFM's from 5 on.
VERSION = re.search(r"\b(\d+)\.\d+", subprocess.run([MPIRUN[0], "--version"], capture_output=True, text=True).stdout)
RECOVERY = ["--enable-recovery"] if VERSION and int(VERSION[1]) < 5 else ["--with-ft", "ulfm"]
# With the programs that read files of hopscotch; scripts/setup.sh --tests makes .deps/tools.
TOOLS_PYTHON = os.environ.get("HOPSCOTCH_TOOLS_PYTHON") or next(
    (str(path) for path in [SOURCE / ".deps/tools/bin/python"] if path.exists()), sys.executable
)
LONG = os.environ.get("HOPSCOTCH_LONG") == "1"  # scripts/test.sh --long


def long_only(test):
    """A case, or a class of cases, of the long suite; unittest takes no notice of the name otherwise."""
    return test if LONG else None


def and_long(cases, more):
    """The cases of the default suite, and in the long suite the others too."""
    return [*cases, *more] if LONG else list(cases)


def experiment(**changes):
    """A grid of two small networks; a change replaces a whole section."""
    document = {
        "name": "e2e",
        "seed": 42,
        "data": {"path": "digits"},
        "model": {"name": "mlp", "hidden": [16]},
        "train": {"epochs": 2, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        "search": {"procedure": "grid"},
        "space": {"train.optimizer.lr": [0.03, 0.1]},
        "run": {"dir": "out", "device": "cpu"},
    }
    document.update(changes)
    return document


def strict_json(text):
    """json.loads, but NaN and Infinity (which are not JSON) are errors."""

    def refuse(token):
        raise ValueError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def without_launcher(text):
    """What hopscotch printed: mpirun's own notices stand between two lines of dashes."""
    lines, in_notice = [], False
    for line in text.splitlines():
        if line.startswith("-----") and not line.strip("-"):
            in_notice = not in_notice
        elif not in_notice:
            lines.append(line)
    return lines


def children(pid):
    """Of each the pid, and the state as ps has it (Z: it has ended, and no one has asked yet)."""
    out = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == pid:
            out[int(stat.parent.name)] = state
    return out


def stacks_of(pid):
    """What each thread of the process waits for, if there is a debugger."""
    if shutil.which("gdb") is None:
        return ""
    look = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 16"]
    lines = subprocess.run(look, capture_output=True, text=True, timeout=WAIT_LIMIT_S).stdout.splitlines()
    return "\n" + "\n".join(line[:200] for line in lines if line.startswith(("#", "Thread")))


def end_of_job(process, timeout=RUN_LIMIT_S):
    """What it wrote until it ended. Open MPI 4's mpirun may not end: hit by a signal, it can wait for
    ever in its own finalize for a lock of PMIx's, while all its ranks have ended. Then, and only then, it is killed here."""
    end = time.monotonic() + timeout
    looks = 0  # in a row that found no one alive
    while True:
        try:
            return process.communicate(timeout=min(2, max(0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            alone = process.poll() is None and process.args[0] == MPIRUN[0] and set(children(process.pid).values()) == {"Z"}
            looks = looks + 1 if alone else 0
            if looks == 5:
                process.code_is_lost = True
                process.kill()
            elif time.monotonic() >= end:
                raise


@functools.cache
def complaints(section, text):
    """What the binary says about an experiment with this section."""
    with tempfile.TemporaryDirectory(prefix="hopscotch-names-") as folder:
        path = pathlib.Path(folder) / "e.json"
        path.write_text(json.dumps(experiment(**{section: json.loads(text)})))
        done = subprocess.run([BINARY, "run", str(path), "--dry-run"], cwd=folder, capture_output=True, text=True)
        return done.stderr


def known(section, key, **more):
    """All names of a table, in its order, from the error about a name that is unknown. So tests need no list of them."""
    said = complaints(section, json.dumps({**more, key: "?"}))
    return re.search(rf"/{section}/{key}: unknown value \"\?\" \(known: (.*?)\)", said)[1].split(", ")


def owners(section, key, **other):
    """The names that have this key, from the error where the section names another: other={key of names: name}."""
    said = complaints(section, json.dumps({**other, key: 1}))
    return re.split(", | and ", re.search(rf"/{section}/{key}: {key} belongs to (.*?) \(the ", said)[1])


def every(section, key, rows, without=()):
    """The rows, and one with nothing but the name for each name that no row has."""
    named = {row[key] for row in rows} | set(without)
    return [*rows, *({key: name} for name in known(section, key) if name not in named)]


@functools.cache
def digits(shards, options):
    """The folder of an imported dataset, the same for all classes of a file."""
    folder = tempfile.TemporaryDirectory(prefix="hopscotch-digits-")
    atexit.register(folder.cleanup)
    out = pathlib.Path(folder.name) / "digits"
    place = [str(SOURCE / "data/digits.csv"), "--out", str(out), "--shards", str(shards)]
    subprocess.run(
        [BINARY, "data", "import", "csv", *place, "--valid", "0.2", "--shape", "1x8x8", "--label", "label", *options],
        check=True,
        capture_output=True,
    )
    return out


def drawn(text):
    """What the script of a report draws of each run. text: of the page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])["runs"]


class Case(unittest.TestCase):
    """Every test starts in a folder of its own that holds nothing but the dataset `digits`."""

    maxDiff = None
    shards = SHARDS  # of `digits`
    import_options = ()  # beyond the usual
    launcher_options = []

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="hopscotch-e2e-")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.imported = pathlib.Path(cls._folder.name) / "imported"
        shutil.copytree(digits(cls.shards, cls.import_options), cls.imported)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="test-", dir=self._folder.name)
        self.addCleanup(folder.cleanup)
        self.cwd = pathlib.Path(folder.name)
        shutil.copytree(self.imported, self.cwd / "digits")

    def write(self, document, name="e.json"):
        text = document if isinstance(document, str) else json.dumps(document)
        (self.cwd / name).write_text(text)

    def command(self, args, np):
        return (MPIRUN + self.launcher_options + ["-np", str(np)] if np else []) + [BINARY, *args]

    def run_hopscotch(self, *args, np=None, env=None):
        done = subprocess.run(
            self.command(args, np),
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            env={**os.environ, **(env or {})},
        )
        return done.returncode, done.stdout, done.stderr

    def start(self, *args, np=None, env=None):
        process = subprocess.Popen(
            self.command(args, np),
            cwd=self.cwd,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )  # so that a test can kill all of it at once
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.communicate()))
        return process

    def end_of(self, process, folder="out"):
        """What it wrote until it ended; if it hangs, what it hangs at."""
        try:
            return end_of_job(process)
        except subprocess.TimeoutExpired:
            where = stacks_of(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            summary, journal = self.cwd / folder / "summary.json", self.cwd / folder / "journal.jsonl"
            status = strict_json(summary.read_text())["status"] if summary.exists() else "none"
            last = journal.read_text().splitlines()[-8:] if journal.exists() else []
            self.fail(f"hangs; status {status}; {out}{err}\n" + "\n".join(line[:300] for line in last) + where)

    def ended_with(self, code, process, said):
        """Where the launcher had to be killed behind its ranks (end_of_job), what they have written has to do."""
        if not getattr(process, "code_is_lost", False):
            self.assertEqual(process.returncode, code, said)

    def succeed(self, *args, np=None):
        code, out, err = self.run_hopscotch("run", "e.json", *args, np=np)
        self.assertEqual(code, 0, err + out)
        return out, err

    def refuse(self, message, *args, np=None):
        """Bad input: exactly this on standard error, nothing on standard output, exit code 2, nothing written."""
        before = self.listing()
        code, out, err = self.run_hopscotch(*args, np=np)
        self.assertEqual(without_launcher(err), message.splitlines())
        self.assertEqual(without_launcher(out), [])
        self.assertEqual(code, 2)
        self.assertEqual(self.listing(), before)

    def imported_from(self, text, *args, out="table"):
        """A dataset from the text of a CSV file."""
        (self.cwd / f"{out}.csv").write_text(text)
        code, _, err = self.run_hopscotch("data", "import", "csv", f"{out}.csv", "--out", out, "--shards", "2", *args)
        self.assertEqual(code, 0, err)

    def trained(self, *args, np=None, **sections):
        """Runs an experiment and replays it: its state hashes, by trial, epoch and shard, and its summary."""
        self.write(experiment(**sections))
        folder = sections.get("run", {"dir": "out"})["dir"]
        self.succeed("--quiet", *args, np=np)
        code, out, err = self.run_hopscotch("replay", folder)
        self.assertEqual((code, err), (0, ""), out)
        return self.hashes(folder), self.summary(folder)

    def hashes(self, folder="out"):
        return {
            (lap["trial"], lap["epoch"], unit["shard"]): unit["state_hash"]
            for lap in self.laps(folder)
            for unit in lap["units"]
        }

    def summary(self, folder="out"):
        return strict_json((self.cwd / folder / "summary.json").read_text())

    def journal(self, folder="out"):
        """Whole lines: of a run that goes on the last one may be on its way."""
        whole, _, _ = (self.cwd / folder / "journal.jsonl").read_text().rpartition("\n")
        return [with_units(self.cwd / folder, strict_json(line)) for line in whole.splitlines()]

    def laps(self, folder="out"):
        return [line for line in self.journal(folder) if line["event"] == "lap_done"]

    def listing(self):
        return {
            str(path.relative_to(self.cwd)): path.stat().st_size if path.is_file() else None for path in self.cwd.rglob("*")
        }

    def wait_for(self, condition, what, process):
        """Polls until the run has got there; the limit is only for a run that never does."""
        end = time.monotonic() + WAIT_LIMIT_S
        while not condition():
            if process.poll() is not None:
                out, err = process.communicate()
                self.fail(f"ended ({process.returncode}) before {what}: {out}{err}")
            if time.monotonic() > end:
                self.fail(f"no {what} within {WAIT_LIMIT_S:g} s")
            time.sleep(0.01)

    def pid_of_rank(self, process, rank):
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(stat.read_text().rpartition(")")[2].split()[1]) != process.pid:
                    continue
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() in (stat.parent / "environ").read_bytes().split(b"\0"):
                    return int(stat.parent.name)
            except (FileNotFoundError, ProcessLookupError):
                continue
        self.fail(f"mpirun has no child of rank {rank}")

    def wait_for_stop(self, process, pid):
        """Until that process has stopped itself (a fault of kind stop)."""
        stat = pathlib.Path(f"/proc/{pid}/stat")
        self.wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", f"stop of {pid}", process)

    def wait_for_event(self, process, event="lap_done", folder="out"):
        path = self.cwd / folder / "journal.jsonl"
        self.wait_for(lambda: path.exists() and f'"{event}"' in path.read_text(), f"the first {event}", process)
