# SPDX-License-Identifier: Apache-2.0
"""Run directories and datasets of someone who means harm: files that lie about their size, nest without end, lead elsewhere
or never end. Each command ends soon and by itself, with little memory, says something, and changes nothing outside."""

import collections
import copy
import fnmatch
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import unittest

from harness import BINARY, LONG, Case, experiment
from limits import WAIT_LIMIT_S
from library_words import LIBRARY_WORDS

MOST_MB = 600  # of resident memory; a program that has loaded LibTorch has 300 before it reads anything
HUGE = 1 << 40  # bytes of a file of holes
FAR = 1 << 60
ESCAPES = "\x1b]0;title\x07\x1b[2J\u202e"  # a terminal obeys them; the last turns text round
PATHS = (ESCAPES, "../../outside/secret", "/etc/passwd", "checkpoints/../../outside/secret", "a\0b", "a\nb", "p" * 5000, "")


def text(content):
    return lambda path: path.write_text(content)


def as_json(change):
    """A JSON document after change(document)."""

    def damage(path):
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return damage


def line(event, change):
    """The last line of that event, or of any, after change(line), behind the others."""

    def damage(path):
        lines = [json.loads(each) for each in path.read_text().splitlines()]
        changed = copy.deepcopy(([each for each in lines if each["event"] == event] or lines)[-1])
        change(changed)
        path.write_text("".join(json.dumps(each) + "\n" for each in [*lines, changed]))

    return damage


def every_line(event, change):
    def damage(path):
        lines = [json.loads(each) for each in path.read_text().splitlines()]
        for each in lines:
            if each["event"] == event:
                change(each)
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))

    return damage


def put(**values):
    return lambda document: document.update(values)


def holes(path):
    """A terabyte that takes no room on the disk."""
    with open(path, "r+b") as file:
        file.truncate(HUGE)


def only_holes(path):
    path.write_bytes(b"")
    holes(path)


def link_to(target):
    def damage(path):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.symlink_to(os.path.relpath(path.parent.parent / target, path.parent) if target[0] != "/" else target)

    return damage


def link_below(name):
    """A folder with a link of that name that leads out."""

    def damage(path):
        path.mkdir(exist_ok=True)
        shutil.rmtree(path / name, ignore_errors=True)
        (path / name).symlink_to("../../outside")

    return damage


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def folder(path):
    path.unlink()
    path.mkdir()


def numbers(offset, *values):
    """64-bit numbers at that place of the file."""

    def damage(path):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(struct.pack(f"<{len(values)}Q", *values))

    return damage


def both(*damages):
    def damage(path):
        for each in damages:
            each(path)

    return damage


def no_file(name):
    """What is there in place of a file that every program would read."""
    return [
        (f"{name}: a link to /dev/zero", name, link_to("/dev/zero")),
        (f"{name}: a pipe", name, pipe),
        (f"{name}: a folder", name, folder),
        (f"{name}: a terabyte of holes", name, only_holes),
        (f"{name}: a terabyte of holes behind the text", name, holes),
    ]


def no_json(name):
    return [
        *no_file(name),
        (f"{name}: deep arrays", name, text("[" * 100_000 + "\n")),
        (f"{name}: deep objects", name, text('{"a":' * 100_000 + "\n")),
    ]


def set_shape_of(rows):
    """The extent of /features in a shard, of that many rows of 1 x 8 x 8."""

    def damage(path):
        content = path.read_bytes()
        known = json.loads((path.parent / "dataset.json").read_text())
        old = next(each["rows"] for each in known["train"] if each["file"] == path.name)
        changed = content.replace(struct.pack("<4Q", old, 1, 8, 8), struct.pack("<4Q", rows, 1, 8, 8))
        assert changed != content
        path.write_bytes(changed)

    return damage


def train_shard(**values):
    return as_json(lambda document: document["train"][0].update(values))


def changed(value, change):
    if isinstance(value, dict):
        return {key: changed(each, change) for key, each in value.items()}
    return [changed(each, change) for each in value] if isinstance(value, list) else change(value)


def escape(document):
    document.update(changed(document, lambda value: ESCAPES + value if isinstance(value, str) else value))


def enlarge(document, number=1e300):
    is_number = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    document.update(changed(document, lambda value: number if is_number(value) else value))


SPACE = {f"train.schedule.{n}": {"type": "int", "low": 0, "high": 10**9} for n in range(3)}
UNITS = {"job": 1, "offset": 0, "count": 2**31 - 1, "rows": FAR, "loss_sum": 1, "seconds": 1, "end_unix_s": 1}

SAVED = {"event": "checkpoint", "trial": 0, "epoch": 1, "step": 0, "batch": 0, "state_hash": "00000000000000ff"}

Wrong = collections.namedtuple("Wrong", "name file damage")
WRONG_RUNS = [
    Wrong(*row)
    for row in (
        *no_json("experiment.json"),
        (
            "10^9 trials",
            "experiment.json",
            as_json(lambda e: e["experiment"].update(search={"procedure": "random", "trials": 10**9})),
        ),
        ("10^9 trainers", "experiment.json", as_json(put(trainers=10**9))),
        ("10^9 in flight", "experiment.json", as_json(put(in_flight=10**18))),
        ("many owners", "experiment.json", as_json(put(owners=[0] * 10**5))),
        ("a file of the model", "experiment.json", as_json(put(files={"/dev/zero": "00000000000000ff"}))),
        ("data that never end", "experiment.json", as_json(lambda e: e["experiment"]["data"].update(path="/dev/zero"))),
        ("data that no path leads to", "experiment.json", as_json(lambda e: e["experiment"]["data"].update(path="a\0b"))),
        ("an endless space", "experiment.json", as_json(lambda e: e["experiment"].update(space=SPACE))),
        *no_json("journal.jsonl"),
        ("a line without end", "journal.jsonl", text("x" * (20 << 20))),
        ("zeros", "journal.jsonl", text("[" + "0," * (6 << 20) + "0]\n")),
        ("lap_released: trial 2^31 - 1", "journal.jsonl", line("lap_released", put(trial=2**31 - 1))),
        ("lap_released: trial 2^60", "journal.jsonl", line("lap_released", put(trial=FAR))),
        ("lap_released: epoch 2^31 - 1", "journal.jsonl", line("lap_released", put(epoch=2**31 - 1))),
        ("lap_done: epoch 2^31 - 1", "journal.jsonl", line("lap_done", put(epoch=2**31 - 1))),
        (
            "lap_done: trial 10^9",
            "journal.jsonl",
            both(line("lap_released", put(trial=10**9)), line("lap_done", put(trial=10**9))),
        ),
        ("lap_done: 2^31 - 1 units", "journal.jsonl", every_line("lap_done", put(units=UNITS))),
        (
            "lap_done: units behind the end",
            "journal.jsonl",
            every_line("lap_done", put(units={**UNITS, "count": 1, "offset": FAR})),
        ),
        (
            "lap_done: 2^60 of everything",
            "journal.jsonl",
            line("lap_done", put(hops=FAR, hop_bytes=FAR, state_bytes=FAR, sync_rounds=FAR, exposed_s=[1] * 10**5)),
        ),
        (
            "run_resumed: incarnation 2^31 - 1",
            "journal.jsonl",
            line("run_ended", put(event="run_resumed", incarnation=2**31 - 1, trainers=1)),
        ),
        *((f"checkpoint: {path[:30]!r}", "journal.jsonl", line("lap_done", put(**SAVED, file=path))) for path in PATHS),
        *no_file("units-1.bin"),
        ("units-1.bin: 2^31 - 1 units", "units-1.bin", numbers(16, 2**31 - 1 << 32)),
        *no_json("summary.json"),
        ("summary.json: 10^9 trials", "summary.json", as_json(put(trials=[{"id": 10**9}]))),
        *no_json("metrics.jsonl"),
        ("metrics.jsonl: trial 10^9", "metrics.jsonl", text('{"trial": 1000000000, "epoch": 1000000000, "wall_s": 1}\n')),
        *no_json("best/model.json"),
        ("best/model.json: a shape of 2^60", "best/model.json", as_json(lambda b: b["model"].update(shape=[FAR, FAR]))),
        ("best/model.json: 2^60 outputs", "best/model.json", as_json(lambda b: b["model"].update(outputs=FAR))),
        *no_file("best/model.safetensors"),
        ("best/model.safetensors: a header of 2^60", "best/model.safetensors", numbers(0, FAR)),
        *no_json("live.json"),
        ("live.json: escapes", "live.json", as_json(escape)),
        ("live.json: 10^300 of everything", "live.json", as_json(enlarge)),
        ("live.json: 2^60 of everything", "live.json", as_json(lambda view: enlarge(view, FAR))),
        ("live.json: nothing", "live.json", text("{}")),
        ("inbox: a link", "inbox", link_to("outside")),
        ("inbox: a file", "inbox", text("")),
        ("checkpoints: a link", "checkpoints", link_to("outside")),
        ("best: a link", "best", link_to("outside")),
        ("best: a link below", "best", link_below("trial-0")),
        ("tb: a link below", "tb", link_below("trial-1")),
    )
]
WRONG_CHECKPOINTS = [
    Wrong(*row)
    for row in (
        *no_file("checkpoints/*.ckpt"),
        ("a link out", "checkpoints/*.ckpt", link_to("../outside/secret")),
        ("a header of 2^60", "checkpoints/*.ckpt", numbers(16, FAR)),
        ("a state of 2^60", "checkpoints/*.ckpt", numbers(24, FAR)),
        ("both of 2^63", "checkpoints/*.ckpt", numbers(16, 1 << 63, 1 << 63)),
        ("a state of a terabyte", "checkpoints/*.ckpt", both(holes, numbers(24, HUGE - (64 << 20)))),
    )
]
WRONG_DATA = [
    Wrong(*row)
    for row in (
        *no_json("dataset.json"),
        ("rows 2^32 - 1", "dataset.json", train_shard(rows=2**32 - 1)),
        ("rows 2^60", "dataset.json", train_shard(rows=FAR)),
        ("a shape of 2^90", "dataset.json", as_json(put(shape=[1 << 30, 1 << 30, 1 << 30]))),
        ("a shape of 2^27", "dataset.json", as_json(put(shape=[1, 1 << 13, 1 << 14]))),
        ("2^30 outputs", "dataset.json", as_json(put(outputs=1 << 30, class_names=[]))),
        (
            "names for terminals",
            "dataset.json",
            as_json(lambda d: d.update(class_names=[ESCAPES + str(i) for i in range(10)])),
        ),
        ("a hundred thousand shards", "dataset.json", as_json(lambda d: d.update(train=d["train"] * 25_000))),
        *((f"file {path[:30]!r}", "dataset.json", train_shard(file=path)) for path in PATHS),
        *no_file("train-00000.h5"),
        *no_file("valid-00000.h5"),
        ("2^60 rows", "train-00000.h5", set_shape_of(FAR)),
        ("2^31 rows", "train-00000.h5", set_shape_of(1 << 31)),
        (
            "2^31 rows, and dataset.json agrees",
            "train-00000.h5",
            lambda path: (set_shape_of(1 << 31)(path), train_shard(rows=1 << 31)(path.parent / "dataset.json")),
        ),
    )
]


Command = collections.namedtuple("Command", "args folder changes")
STATUS = Command(("ctl", "done", "status"), "done", ())
FOLLOW = Command(("ctl", "out", "status", "--follow"), "out", ())
ORDER = Command(("ctl", "out", "stop", "0", "--timeout", "0.05"), "out", ("out",))
COMPARE = Command(("compare", "done", "other"), "done", ())
REPORT = Command(("report", "done"), "done", ("done",))
INSPECT = Command(("data", "inspect", "digits"), "digits", ())
VERIFY = Command(("data", "verify", "digits"), "digits", ())
TRAIN = Command(("run", "done.json", "--overwrite", "--quiet", "--trainers", "1"), "digits", ("done",))
REPLAY = Command(("replay", "done", "--trial", "0"), "done", ())
PREDICT = Command(("predict", "done", "digits", "--out", "p.csv"), "done", ("p.csv",))
START_FROM = Command(("run", "from.json", "--dry-run"), "done", ())
RESUME = Command(("run", "out.json", "--resume", "--quiet", "--trainers", "2"), "out", ("out",))


DECISIONS = ("experiment.json", "journal.jsonl")


def of_files(table, *patterns):
    return [each for each in table if any(fnmatch.fnmatch(each.file, pattern) for pattern in patterns)]


def some(cases, step):
    """The default suite has one case of many for commands that load LibTorch; it begins with those that never end."""
    return cases if LONG else cases[::step]


class Prepared(Case):
    """A finished run, a killed one, and a folder outside that no command may touch."""

    shards = 4
    allowed = (0, 1, 2)  # exit codes

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.base = pathlib.Path(cls._folder.name) / "base"
        (cls.base / "outside").mkdir(parents=True)
        (cls.base / "outside/secret").write_text("secret")
        (cls.base / "outside/trial-00000-e0001-s000-b000000-i1.ckpt").write_text("a file of someone")
        shutil.copytree(cls.imported, cls.base / "digits")
        cls.write_experiment("done", 2)
        cls.write_experiment("out", 20)
        document = experiment(
            run={"dir": "new", "device": "cpu"}, search={"procedure": "tpe", "trials": 2, "start_from": "done"}
        )
        document["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.2}}
        (cls.base / "from.json").write_text(json.dumps(document))
        done = cls.prepare("run", "done.json", "--quiet", "--trainers", "2")
        assert done.returncode == 0, done.stderr
        shutil.copytree(cls.base / "done", cls.base / "other")
        cls.killed()
        # As if the job had died long ago, so that no one waits for a newer view.
        view = json.loads((cls.base / "done/live.json").read_text())
        (cls.base / "out/live.json").write_text(json.dumps({**view, "status": "training", "unix_s": 1}))

    @classmethod
    def killed(cls):
        for laps in (5, 15, 35):  # of 40; the first may end before the first checkpoint is in the journal
            killed = cls.prepare(
                *("run", "out.json", "--quiet", "--overwrite", "--trainers", "2"),
                env={"HOPSCOTCH_FAULT": f"lap.record:{laps}:kill"},
            )
            assert killed.returncode == -9, killed.stderr
            if '"checkpoint"' in (cls.base / "out/journal.jsonl").read_text():
                return
        raise AssertionError("no checkpoint is in the journal")

    @classmethod
    def write_experiment(cls, name, epochs):
        train = {"epochs": epochs, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
        run = {"dir": name, "device": "cpu", "checkpoint_every_s": 0.001}
        (cls.base / f"{name}.json").write_text(json.dumps(experiment(train=train, run=run)))

    @classmethod
    def prepare(cls, *args, env=None):
        return subprocess.run(
            [BINARY, *args], cwd=cls.base, capture_output=True, text=True, env={**os.environ, **(env or {})}
        )

    def setUp(self):
        case = tempfile.TemporaryDirectory(prefix="case-", dir=self._folder.name)
        self.addCleanup(case.cleanup)
        self.cwd = pathlib.Path(case.name)

    def measured(self, *args):
        """Exit code, all that was said, resident megabytes at the peak."""
        with open(self.cwd / "said", "w+b") as said:
            limits = lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            process = subprocess.Popen([BINARY, *args], cwd=self.case, stdout=said, stderr=said, preexec_fn=limits)
            timer = threading.Timer(WAIT_LIMIT_S, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return process.returncode, said.read(1 << 20).decode(errors="replace"), usage.ru_maxrss // 1024

    def outside(self, changes):
        """Everything but the folder that the command may change."""
        found = {}
        for path in self.case.rglob("*"):
            name = path.relative_to(self.case)
            if name.parts[0] not in changes:
                found[str(name)] = (
                    os.readlink(path) if path.is_symlink() else path.lstat().st_size,
                    path.lstat().st_mtime_ns,
                )
        return found

    def laid_out(self, command, wrong):
        """A copy of all that the command may change or that is damaged; the rest are links to what all cases share."""
        self.case = self.cwd / "case"
        shutil.rmtree(self.case, ignore_errors=True)
        self.case.mkdir()
        for path in self.base.iterdir():
            copied = path.is_dir() and path.name in ("outside", command.folder, *command.changes)
            shutil.copytree(path, self.case / path.name) if copied else (self.case / path.name).symlink_to(path)
        folder = self.case / command.folder
        for path in sorted(folder.glob(wrong.file)) or [folder / wrong.file]:
            wrong.damage(path)

    def survives(self, command, wrong):
        self.laid_out(command, wrong)
        before = self.outside(command.changes)
        code, said, megabytes = self.measured(*command.args)
        told = f"{wrong.name}; hopscotch {' '.join(command.args)}: exit code {code}, {megabytes} MB: {said[-1500:]}"
        self.assertIn(code, self.allowed, told)
        self.assertTrue(code == 0 or said, told)
        self.assertLess(megabytes, MOST_MB, told)
        self.assertEqual([word for word in LIBRARY_WORDS if word in said], [], told)
        self.assertNotRegex(said, "[\x1b\u202e]", told)
        self.assertEqual(self.outside(command.changes), before, told)
        self.codes[code] = self.codes.get(code, 0) + 1

    def all_survive(self, command, cases):
        """At least half of the files are refused: a command that read nothing would survive, too."""
        self.codes = {}
        for wrong in cases:
            with self.subTest(command=" ".join(command.args[:2]), case=wrong.name):
                self.survives(command, wrong)
        return self.codes


class Hostile(Prepared):
    def refused(self, command, cases):
        codes = self.all_survive(command, cases)
        self.assertGreaterEqual(codes.get(2, 0), len(cases) / 2, codes)

    def test_status(self):
        self.refused(STATUS, of_files(WRONG_RUNS, *DECISIONS))
        self.all_survive(STATUS, of_files(WRONG_RUNS, "live.json"))
        self.all_survive(FOLLOW, of_files(WRONG_RUNS, "live.json"))

    def test_orders(self):
        self.refused(ORDER, of_files(WRONG_RUNS, "inbox"))

    def test_comparisons(self):
        self.refused(COMPARE, of_files(WRONG_RUNS, "experiment.json", "summary.json", "metrics.jsonl"))

    def test_reports(self):
        refused = of_files(WRONG_RUNS, *DECISIONS, "summary.json")
        self.refused(REPORT, refused)
        self.all_survive(REPORT, of_files(WRONG_RUNS, "units-1.bin", "best", "checkpoints", "inbox"))
        self.all_survive(REPORT, [Wrong("report.html: a link", "report.html", link_to("../outside/secret"))])

    def test_data(self):
        self.refused(INSPECT, some(of_files(WRONG_DATA, "dataset.json"), 2))
        self.all_survive(VERIFY, WRONG_DATA)

    def test_training(self):
        self.refused(TRAIN, some(WRONG_DATA, 8))

    def test_replays(self):
        self.refused(REPLAY, some(of_files(WRONG_RUNS, *DECISIONS), 8) + some(of_files(WRONG_RUNS, "units-1.bin"), 2))

    def test_predictions(self):
        self.refused(PREDICT, some(of_files(WRONG_RUNS, *DECISIONS), 12) + some(of_files(WRONG_RUNS, "best/*"), 3))

    def test_earlier_runs(self):
        self.refused(START_FROM, some(of_files(WRONG_RUNS, *DECISIONS), 8))

    def test_resumed_runs(self):
        links = of_files(WRONG_RUNS, "inbox", "best", "checkpoints", "tb")
        self.refused(RESUME, links + some(of_files(WRONG_RUNS, *DECISIONS), 10))
        self.all_survive(RESUME, some(of_files(WRONG_RUNS, "units-1.bin"), 3))

    def test_checkpoints(self):
        codes = self.all_survive(RESUME, some(WRONG_CHECKPOINTS, 2))
        self.assertEqual(list(codes), [0], "an older file, or the first state, serves")


class LinksDuringARun(Case):
    """Someone puts links into the run directory while a job works on it."""

    shards = 4

    def linked(self, name):
        """A run in which that folder becomes a link after the first lap: its exit code, and what it said."""
        outside = self.cwd / name.replace("/", "-")
        outside.mkdir()
        (outside / "0001-0123456789abcdef.json").write_text('{"kind": "finish", "until_unix_s": 1e300}')
        keep = {"keep_best": "trial"} if "best" in name else {}
        document = experiment(run={"dir": "out", "device": "cpu", "checkpoint_every_s": 1e-9, **keep})
        document["train"]["epochs"] = 100 if name == "inbox" else 2  # until rank 0 has looked for orders
        self.write(document)
        fault = {"HOPSCOTCH_FAULT": "lap.record:2:stop"}
        process = self.start("run", "e.json", "--quiet", "--trainers", "1", "--overwrite", env=fault)
        self.wait_for_stop(process, process.pid)
        link = self.cwd / "out" / name
        link.parent.mkdir(exist_ok=True)
        shutil.rmtree(link, ignore_errors=True)
        link.symlink_to(outside)
        process.send_signal(signal.SIGCONT)
        _, err = self.end_of(process)
        self.assertEqual([path.name for path in outside.iterdir()], ["0001-0123456789abcdef.json"], err)
        return process.returncode, err

    def test_nothing_is_written_through_them(self):
        for name, code, said in (
            ("best", 2, "out/best: is a link"),
            ("best/trial-0", 2, "out/best/trial-0: is a link"),
            ("tb/trial-0", 0, "out/tb/trial-0: is a link"),
            ("checkpoints", 0, "its checkpoint could not be written"),
            ("inbox", 0, ""),
        ):
            with self.subTest(name):
                ended, err = self.linked(name)
                self.assertEqual((ended, said in err), (code, True), err)


if __name__ == "__main__":
    unittest.main()
