# SPDX-License-Identifier: Apache-2.0
"""Damaged experiments, run directories and datasets through the binary itself: binary_fuzz.py BINARY [COUNT] [--seed N]
[--only N]. Every command must end by itself with exit code 0, 1, 2 or 75, say something if it is not 0, and leave everything
outside its run directory as it was. A failure is told with the words that repeat it, and its folder is kept."""

import argparse
import contextlib
import copy
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from library_words import LIBRARY_WORDS
from limits import RUN_LIMIT_S, WAIT_LIMIT_S

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRAINING_S = 5  # after this time a job is asked to end, once it listens to signals: no limit
PATHS = [
    "..",
    ".",
    "/",
    "",
    "../outside/secret",
    "../../../../../../etc/passwd",
    "/etc/passwd",
    "/dev/zero",
    "checkpoints/../../outside/secret",
    "~/x",
    "$(id)",
    "a\0b",
    "p" * 5000,
    "link",
    "-rf",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    65536,
    2**31 - 1,
    2**31,
    2**32,
    2**32 + 1,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    -(2**63),
    0.5,
    -0.0,
    1e-300,
    1e300,
    1e18,
]
EXPERIMENT = {
    "name": "fuzz",
    "seed": 42,
    "data": {"path": "digits", "augment": ["flip"], "cache": "all"},
    "model": {"name": "mlp", "hidden": [16], "dropout": 0.1},
    "train": {
        "epochs": 2,
        "batch_size": 32,
        "loss": "cross_entropy",
        "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9},
        "schedule": {"name": "cosine", "warmup_epochs": 1},
    },
    "search": {"procedure": "grid", "metric": "val_accuracy"},
    "space": {"train.optimizer.lr": [0.03, 0.1]},
    "strategy": {"name": "mop"},
    "run": {"dir": "out", "device": "cpu", "checkpoint_every_s": 0.01, "deadline_s": 10, "stall_s": 10},
}


def places(value):
    """Every container of the document with its keys."""
    if isinstance(value, (dict, list)) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            yield from places(value[key])


def mutated_json(document, rng):
    document = copy.deepcopy(document)
    for _ in range(1 if rng.random() < 0.7 else rng.randint(2, 4)):
        at, key = rng.choice(list(places(document)) or [(document, None)])
        if key is None:
            break
        old = at[key]
        action = rng.randrange(8)
        if action == 0:
            del at[key]
        elif action == 1 and isinstance(at, dict):
            at[rng.choice(["", str(key) + "x", "name", "a\0b", "k" * 1000])] = at.pop(key)
        elif action == 2 and isinstance(at, list):
            at.extend([old] * rng.choice([1, 5, 1000]))
        elif action == 3:
            at[key] = rng.choice([None, True, [], {}, [[]], "x", "x" * 100000, [old], {"a": old}])
        elif action == 4 or isinstance(old, (int, float)) and action < 7:
            at[key] = rng.choice(NUMBERS)
        elif isinstance(old, str) and action < 7:
            at[key] = rng.choice(PATHS)
        else:
            at[key] = copy.deepcopy(rng.choice([at[key] for at, key in places(document)]))
    return json.dumps(document).encode()


def mutated_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not data:
            break
        at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 1000))
        action = rng.randrange(5)
        if action < 2:
            data[at] ^= 1 << rng.randrange(8)
        elif action == 2:
            data[at] = rng.randrange(256)
        elif action == 3:
            del data[at : at + rng.randint(1, 16)]
        else:
            data = data[:at] if rng.random() < 0.3 else data[:at] + data[at : at + 16] + data[at:]
    return bytes(data)


def damage(path, rng, outside):
    """A file of the case: as JSON, by lines of JSON, as bytes; or it becomes a link that leads out."""
    if rng.random() < 0.1:
        path.unlink()
        path.symlink_to(rng.choice([outside / "secret", outside, "/dev/zero", "nowhere"]))
        return
    data = path.read_bytes()
    if path.suffix == ".json" and rng.random() < 0.85:
        data = mutated_json(json.loads(data), rng)
    elif path.suffix == ".jsonl" and rng.random() < 0.85:
        lines = data.splitlines()
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(
            [mutated_json(json.loads(lines[at]), rng), lines[rng.randrange(len(lines))], lines[at] + lines[at]]
        )
        data = b"\n".join(lines) + b"\n"
    else:
        data = mutated_bytes(data, rng)
    path.write_bytes(data)


class Base:
    """What every case starts from a copy of: a dataset, a finished run and one that was killed."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.run(
            "data",
            "import",
            "csv",
            str(SOURCE / "data/digits.csv"),
            "--out",
            "digits",
            "--shards",
            "4",
            "--valid",
            "0.2",
            "--shape",
            "1x8x8",
            "--label",
            "label",
        )
        (folder / "e.json").write_text(json.dumps(EXPERIMENT))
        self.run("run", "e.json", "--quiet", "--trainers", "2")
        (folder / "out").rename(folder / "done")
        long = copy.deepcopy(EXPERIMENT)
        long["train"]["epochs"] = 40
        (folder / "long.json").write_text(json.dumps(long))
        process = subprocess.Popen(
            [binary, "run", "long.json", "--quiet", "--trainers", "2"], cwd=folder, stderr=subprocess.DEVNULL
        )
        journal = folder / "out/journal.jsonl"
        end = time.monotonic() + WAIT_LIMIT_S
        while (
            process.poll() is None
            and time.monotonic() < end
            and not (journal.exists() and journal.read_text().count('"checkpoint"') > 4)
        ):
            time.sleep(0.01)
        process.kill()
        process.wait()

    def run(self, *args):
        subprocess.run([self.binary, *args], cwd=self.folder, check=True, capture_output=True)


def damage_one(names, case, rng, outside):
    damage(case / rng.choice(names), rng, outside)


def dry_run(case, rng, outside):
    (case / "e.json").write_bytes(mutated_json(EXPERIMENT, rng))
    return ["run", "e.json", "--dry-run", "--trainers", "2"], []


def fresh_run(case, rng, outside):
    document = copy.deepcopy(EXPERIMENT)
    document["strategy"] = rng.choice(
        [
            {"name": "mop"},
            {"name": "task_parallel"},
            {"name": "allreduce", "bucket_mb": 1},
            {"name": "parameter_server", "mode": "ssp", "servers": 1, "part_mb": 1},
            {"name": "model_averaging", "every": 3},
        ]
    )
    section = rng.choice(["model", "train", "search", "space", "strategy", "data"])  # run.dir is the user's to choose
    document[section] = json.loads(mutated_json(document[section], rng))
    shutil.rmtree(case / "out")
    (case / "e.json").write_text(json.dumps(document))
    return ["run", "e.json", "--quiet", "--trainers", "2"], ["out"]


def replay(case, rng, outside):
    damage_one(("done/journal.jsonl", "done/experiment.json"), case, rng, outside)
    return ["replay", "done"], []


def resumption(case, rng, outside):
    checkpoints = [str(path.relative_to(case)) for path in (case / "out/checkpoints").glob("*.ckpt")]
    damage_one(("out/journal.jsonl", "out/journal.jsonl", "out/experiment.json", *checkpoints), case, rng, outside)
    return ["run", "long.json", "--resume", "--quiet", "--trainers", "2"], ["out"]


def look_at_data(case, rng, outside):
    damage_one(("digits/dataset.json", "digits/train-00000.h5", "digits/valid-00000.h5"), case, rng, outside)
    return rng.choice([["data", "verify", "digits"], ["data", "inspect", "digits"], ["run", "e.json", "--dry-run"]]), []


def prediction(case, rng, outside):
    names = ("done/best/model.json", "done/best/model.safetensors", "done/journal.jsonl", "done/experiment.json")
    damage_one(names, case, rng, outside)
    trial = rng.choice([[], ["--trial", "0"], ["--trial", "1"]])
    return ["predict", "done", "digits", "--out", "p.csv", *trial], ["p.csv"]


def use_of_data(case, rng, outside):
    damage_one(("digits/dataset.json", "digits/train-00000.h5"), case, rng, outside)
    shutil.rmtree(case / "out")
    commands = [["run", "e.json", "--quiet", "--trainers", "2"], ["predict", "done", "digits", "--out", "p.csv"]]
    return rng.choice(commands), ["out", "p.csv"]


def comparison(case, rng, outside):
    damage_one(("done/summary.json", "done/metrics.jsonl", "done/experiment.json"), case, rng, outside)
    return ["compare", "done", "out"], []


CASES = (dry_run, fresh_run, replay, resumption, look_at_data, prediction, use_of_data, comparison)


def case_of(number, case, rng, outside):
    """Damages the case; returns the command and what may change."""
    return CASES[number % len(CASES)](case, rng, outside)


def contents(folder, changeable):
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if any(name.parts[: len(part.parts)] == part.parts for part in changeable):
            continue
        kind = (
            os.readlink(path)
            if path.is_symlink()
            else hashlib.sha256(path.read_bytes()).hexdigest()
            if path.is_file()
            else "folder"
        )
        found[str(name)] = kind
    return found


def catches(process, number):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1 == 1


def ask_to_end(process):
    """Whether it still ran when it was asked. Before a program catches SIGTERM, the signal would simply kill it."""
    end = time.monotonic() + WAIT_LIMIT_S
    while process.poll() is None and time.monotonic() < end:
        if catches(process, signal.SIGTERM):
            process.send_signal(signal.SIGTERM)
            return True
        time.sleep(0.01)
    return False


def run_command(command, cwd):
    """Exit code, what was said, and whether the command was asked to end: then exit code 75 needs no words."""

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits, env=environment
    )
    asked = False
    if command[1] == "run":
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=TRAINING_S)
            return process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), asked
        asked = ask_to_end(process)
    try:
        out, err = process.communicate(timeout=RUN_LIMIT_S)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), asked
    except subprocess.TimeoutExpired:
        process.kill()
    _, err = process.communicate()
    told = f"took more than {RUN_LIMIT_S:g} s and did not stop\n" + err.decode(errors="replace")
    return process.returncode, "", told, asked


def problem_of(command, ended, before, after):
    code, out, err, asked = ended
    if code not in (0, 1, 2, 75):
        return f"ended with {code}: {err[-600:]}"
    silent_by_wish = code == 75 and asked
    if code != 0 and not silent_by_wish and not err.strip() and not (command[1:3] == ["data", "verify"] and out.strip()):
        return f"exit code {code}, and nothing was said"
    if code != 0 and any(word in err for word in (*LIBRARY_WORDS, "Sanitizer")):
        return f"what a library said: {err[-600:]}"
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return f"changed outside of its directory: {changed[:5]}" if changed else ""


def made(number, root):
    """The folder of a case: the base as `case`, and what must stay as it is outside of it."""
    folder = root / f"case-{number}"
    shutil.copytree(root / "base", folder / "case", symlinks=True)
    (folder / "outside").mkdir()
    (folder / "outside/secret").write_text("secret")
    return folder


def try_case(number, options, root):
    """The exit code of its command, and whether all was as it should be; if not, that is told and the folder kept."""
    rng = random.Random(f"{options.seed} {number}")
    folder = made(number, root)
    command, changeable = case_of(number, folder / "case", rng, folder / "outside")
    changeable = [pathlib.Path("case") / name for name in changeable]
    before = contents(folder, changeable)
    command = [os.path.abspath(options.binary), *command]
    ended = run_command(command, folder / "case")
    code, out, err, _ = ended
    problem = problem_of(command, ended, before, contents(folder, changeable))
    if options.only is not None:
        print(f"{' '.join(command[1:])}: exit code {code}\n{out[-2000:]}{err[-2000:]}")
    if problem:
        print(
            f"binary_fuzz: --seed {options.seed} --only {number} ({' '.join(command[1:])}): {problem}\n  kept in {folder}",
            file=sys.stderr,
        )
    else:
        shutil.rmtree(folder)
    return code, not problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("count", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="hopscotch-fuzz-"))
    base = root / "base"
    base.mkdir()
    Base(os.path.abspath(options.binary), base)
    codes, failed = {}, 0
    for number in range(options.count) if options.only is None else [options.only]:
        code, good = try_case(number, options, root)
        codes[code] = codes.get(code, 0) + 1
        failed += not good
    print(f"binary: {sum(codes.values())} commands, exit codes {dict(sorted(codes.items()))}, {failed} wrong")
    if failed == 0:
        shutil.rmtree(root)
    sys.exit(1 if failed else 0)


main()
