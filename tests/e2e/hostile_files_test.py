# SPDX-License-Identifier: Apache-2.0
"""Every name that a run directory can hold, as something that someone else has put there: a link, code, a file without end.
Each command that takes a run directory ends by itself, executes nothing, and changes nothing outside. The default suite has
a sample of the table, always the same; the long suite has the whole table."""

import collections
import fnmatch
import functools
import json
import os
import pathlib
import random
import re
import shutil
import zipfile

import hostile_test
from harness import LONG, SOURCE, experiment
from hostile_test import Command, Wrong

PLUGIN = pathlib.Path(os.environ["HOPSCOTCH_BUILD"]) / "tests/plugins/traitor.so"  # leaves a file `executed` if it is loaded
SCRIPT = SOURCE / "examples/torchscript_model.pt"
REQUEST = "inbox/0001-0123456789abcdef.json"
CLONE = {"kind": "clone", "trial": 0, "changes": {}, "until_unix_s": 1e12}
SAMPLE = 3  # cases of a command in the default suite
SEED = 38

FILES = (
    *("experiment.json", "start_from.json", "journal.jsonl", "units-*.bin", "metrics.jsonl", "server_log.jsonl"),
    *("trace.json", "trials.csv", "summary.json", "report.html", "live.json", "study.log", "epochs.csv", "p.csv"),
    *("checkpoints/*.ckpt", "best/model.safetensors", "best/model.json", "best/validation.json"),
    *("best/trial-*/model.safetensors", "best/trial-*/model.json", "tb/trial-*/events.*"),
    *(REQUEST, REQUEST.replace(".json", ".done.json")),
)
FOLDERS = ("best", "best/trial-*", "checkpoints", "checkpoints.tmp", "tb", "tb/trial-*", "inbox")
UNFINISHED = (
    *("experiment.json.tmp", "start_from.json.tmp", "journal.jsonl.tmp", "trials.csv.tmp", "summary.json.tmp"),
    *("report.html.tmp", "live.json.tmp", "study.log.tmp", "epochs.csv.tmp", "p.csv.tmp", "best/model.json.tmp"),
    "best/validation.json.tmp",
    *("best/model.safetensors.tmp", "best/trial-0/model.json.tmp", "best/trial-0/model.safetensors.tmp"),
    *("checkpoints/*.ckpt.tmp", "checkpoints/*.ckpt.wrong"),
    "units-2.bin",  # of the next job
)
WITH_SETTINGS = ("experiment.json", "start_from.json", "journal.jsonl", "summary.json", REQUEST, "best/*model.json")


def clear(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def link(path, target):
    clear(path)
    path.symlink_to(target)


def link_to_a_secret(path, outside):
    link(path, outside / "secret")


def link_to_its_content(path, outside):
    """What a reader would like, and a writer must not touch."""
    target = outside / ("moved-" + "-".join(path.parts[-3:]))
    if path.exists() and path.is_dir():
        shutil.copytree(path, target)
    else:
        target.write_bytes(path.read_bytes() if path.exists() else b"precious\n")
    link(path, target)


def second_name(path, outside):
    """A hard link: who appends to the file changes someone's."""
    target = outside / ("same-" + "-".join(path.parts[-3:]))
    target.write_bytes(path.read_bytes() if path.is_file() else b"precious\n")
    clear(path)
    os.link(target, path)


def link_to_nothing(path, outside):
    link(path, outside / "nothing")


def link_to_a_folder(path, outside):
    (outside / "folder").mkdir(exist_ok=True)
    (outside / "folder/precious").write_text("precious")
    link(path, outside / "folder")


def code(path, outside):
    clear(path)
    shutil.copy(PLUGIN, path)


def only_holes(path, outside):
    clear(path)
    hostile_test.only_holes(path)


def holes_behind(path, outside):
    if not path.is_file():
        clear(path)
        path.write_bytes(b"{}\n")
    hostile_test.holes(path)


def pipe(path, outside):
    clear(path)
    os.mkfifo(path)


def folder(path, outside):
    clear(path)
    path.mkdir()
    (path / "content").write_text("content")


def with_model(value, model):
    """A document of a run in which every section of a model, and every configuration, names this one."""
    if isinstance(value, list):
        return [with_model(each, model) for each in value]
    if not isinstance(value, dict):
        return value
    out = {key: with_model(each, model) for key, each in value.items()}
    if isinstance(out.get("model"), dict) and "name" in out["model"]:
        out["model"] = model
    for key in {"config", "assignment", "changes"} & set(out):
        if isinstance(out[key], dict):
            out[key] |= {"model.name": model["name"], "model.file": model["file"]}
    return out


def rewritten(path, change):
    """Each line of a file of lines, or else the document."""
    if not path.is_file():
        clear(path)
        path.write_text(json.dumps(CLONE if "inbox" in path.parts else {"config": {}}))
    text = path.read_text()
    documents = text.splitlines() if path.suffix == ".jsonl" else [text]
    path.write_text("".join(json.dumps(change(json.loads(each))) + "\n" for each in documents))


def names_a_plug_in(path, outside):
    rewritten(path, lambda document: with_model(document, {"name": "plugin", "file": "traitor.so"}))


def names_a_script(path, outside):
    rewritten(path, lambda document: with_model(document, {"name": "torchscript", "file": "net.pt"}))


def names_a_command(path, outside):
    def change(document):
        of_run = document["experiment"]
        of_run["run"] |= {"on_end": ["touch", "executed"], "spill": "outside/spill"}
        of_run["data"] |= {"stage": "outside/stage"}
        return document

    rewritten(path, change)


Kind = collections.namedtuple("Kind", "damage names")
LINKS = (link_to_a_secret, link_to_its_content, link_to_nothing, link_to_a_folder)
KINDS = (
    *(Kind(damage, (*FILES, *FOLDERS, *UNFINISHED)) for damage in (*LINKS, only_holes, pipe)),
    Kind(folder, (*FILES, *UNFINISHED)),
    Kind(second_name, FILES),
    Kind(code, (*FILES, *FOLDERS)),
    Kind(holes_behind, FILES),
    *(Kind(damage, WITH_SETTINGS) for damage in (names_a_plug_in, names_a_script)),
    Kind(names_a_command, ("experiment.json",)),
)
TABLE = [Wrong(f"{name}: {kind.damage.__name__}", name, kind.damage) for kind in KINDS for name in kind.names]

ONE = ("--quiet", "--trainers", "1")  # a TorchScript trap would spring on one trainer only
PREDICT = ("predict", "done", "digits", "--split", "valid", "--out", "done/p.csv")
COMMANDS = {
    "report": Command(("report", "done"), "done", ("done",)),
    "report_of_two": Command(("report", "other", "done"), "done", ("other",)),
    "compare": Command(("compare", "done", "other", "--anyway"), "done", ()),
    "export_optuna": Command(("export", "optuna", "done"), "done", ("done",)),
    "export_csv": Command(("export", "csv", "done"), "done", ("done",)),
    "plan": Command(("plan", "done.json"), "done", ()),
    "plan_like": Command(("plan", "done.json", "--like", "done"), "done", ()),
    "dry_run": Command(("run", "done.json", "--dry-run", "--overwrite"), "done", ()),
    "run_overwrite": Command(("run", "done.json", "--overwrite", *ONE), "done", ("done",)),
    "run_resume": Command(("run", "out.json", "--resume", *ONE), "out", ("out",)),
    "resume": Command(("resume", "out", *ONE), "out", ("out",)),
    "start_from": Command(("run", "from.json", *ONE), "done", ("new",)),
    "predict": Command(PREDICT, "done", ("done",)),
    "predict_trial": Command((*PREDICT, "--trial", "0"), "done", ("done",)),
    "predict_ensemble": Command((*PREDICT, "--ensemble", "2"), "done", ("done",)),
    "replay": Command(("replay", "done", "--trial", "0"), "done", ()),
    "ctl_status": Command(("ctl", "done", "status"), "done", ()),
    "ctl_follow": Command(("ctl", "done", "status", "--follow"), "done", ()),
    "ctl_finish": Command(("ctl", "out", "finish", "--timeout", "0.05"), "out", ("out",)),
    "ctl_clone": Command(("ctl", "out", "clone", "0", "train.optimizer.lr=0.05", "--timeout", "0.05"), "out", ("out",)),
}


def write_trap(path):
    """The example of a TorchScript file, which leaves a file `executed` whenever it computes."""
    with zipfile.ZipFile(SCRIPT) as known, zipfile.ZipFile(path, "w") as out:
        for name in known.namelist():
            content = known.read(name)
            if name.endswith(".py"):
                touch = r'\1    touched = torch.save(1, "executed")\n'
                content = re.sub(r"(def forward\(.*?\) -> \w+:\n)", touch, content.decode(), flags=re.S).encode()
            if not name.endswith(".debug_pkl"):
                out.writestr(name, content)


def contents(root):
    """Of every path its type, and its bytes; of a large file only the size."""
    out = {}
    for path in root.rglob("*"):
        status = path.lstat()
        small = path.is_file() and not path.is_symlink() and status.st_size < 1 << 20
        what = os.readlink(path) if path.is_symlink() else path.read_bytes() if small else status.st_size
        out[str(path.relative_to(root))] = (status.st_mode, None if path.is_dir() else what)
    return out


class HostileFiles(hostile_test.Prepared):
    allowed = (0, 1, 2, 75)  # 75: of a folder in the place of a file that is written

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for args in (("export", "optuna", "done"), ("export", "csv", "done"), PREDICT):
            done = cls.prepare(*args)
            assert done.returncode == 0, done.stderr
        view = json.loads((cls.base / "done/live.json").read_text())  # so old that no one waits for a newer one
        (cls.base / "done/live.json").write_text(json.dumps({**view, "unix_s": 1}))
        shutil.copy(PLUGIN, cls.base)
        write_trap(cls.base / "net.pt")

    @classmethod
    def write_experiment(cls, name, epochs):
        """A finished run with everything that a run can keep, and one that learns from it and is killed."""
        document = experiment(run={"dir": name, "device": "cpu", "checkpoint_every_s": 0.001, "keep_best": "trial"})
        document["train"]["epochs"] = epochs
        if name == "out":
            document["search"] = {"procedure": "tpe", "trials": 2, "start_from": "done"}
            document["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.2}}
        (cls.base / f"{name}.json").write_text(json.dumps(document))

    def outside(self, changes):
        here = {name: what for name, what in contents(self.case).items() if pathlib.Path(name).parts[0] not in changes}
        return {"here": here, "elsewhere": contents(self.base)}

    def laid_out(self, command, wrong):
        super().laid_out(command, wrong._replace(damage=lambda path: None))
        folder = self.case / command.folder
        for path in sorted(folder.glob(wrong.file)) or [folder / wrong.file.replace("*", "0")]:
            wrong.damage(path, self.case / "outside")

    def test_the_names_are_all(self):
        """A name that a run writes, and the table does not have, is missing there."""
        for run in ("done", "out"):
            for name in contents(self.base / run):
                known = any(fnmatch.fnmatch(name, pattern) for pattern in (*FILES, *FOLDERS, *UNFINISHED))
                self.assertTrue(known, name)

    def test_the_code_would_leave_a_trace(self):
        """Where a user's own experiment names it."""
        for model in ({"name": "plugin", "file": "traitor.so"}, {"name": "torchscript", "file": "net.pt"}):
            with self.subTest(model["name"]):
                super().laid_out(COMMANDS["run_overwrite"], Wrong("", "p.csv", lambda path: None))
                document = json.loads((self.base / "done.json").read_text())
                (self.case / "own.json").write_text(json.dumps({**document, "model": model}))
                self.measured("run", "own.json", "--overwrite", *ONE)
                self.assertTrue((self.case / "executed").exists())


def cases_of(name, test):
    chosen = TABLE if LONG else random.Random(f"{SEED} {name}").sample(TABLE, SAMPLE)
    test.all_survive(COMMANDS[name], chosen)


for each in COMMANDS:
    setattr(HostileFiles, f"test_{each}", functools.partialmethod(lambda test, name: cases_of(name, test), each))
