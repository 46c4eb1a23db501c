# SPDX-License-Identifier: Apache-2.0
"""Random experiments (random_experiments.py), each run once, and then read by every command that reads a run: replay,
predict with every trial, compare, report, export, ctl, plan (scripts/chaos.sh --readers). A failure names its seed."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import BINARY, strict_json
from limits import RUN_LIMIT_S
from random_experiments import datasets, experiment

CHECKED = {"loss": 2e-4, "accuracy": 1e-4}  # as predict prints them, with four digits


class Wrong(Exception):
    pass


def run(place, *arguments):
    done = subprocess.run([BINARY, *arguments], cwd=place, capture_output=True, text=True, timeout=RUN_LIMIT_S)
    return done.returncode, done.stdout, done.stderr


def succeed(place, *arguments):
    code, out, err = run(place, *arguments)
    if code != 0:
        raise Wrong(f"{' '.join(arguments)}: exit code {code}: {err}{out}")
    return out


def check_scores(trial, said, best):
    for name, tolerance in CHECKED.items():
        found, expected = re.search(rf"\b{name} ([-0-9.e+]+)", said), best[f"val_{name}"]
        if found is None or expected is None:
            continue
        if abs(float(found[1]) - expected) > tolerance * max(1, abs(expected)):
            raise Wrong(f"trial {trial}: predict says {said.strip()}; summary.json has {name} {expected}")


def check_predictions(place, document):
    """Every trial at its best epoch has the scores of summary.json; where it cannot be trained again, predict says so."""
    summary, data = strict_json((place / "out/summary.json").read_text()), document["data"]["path"]
    ended = [trial for trial in summary["trials"] if trial["best"] and trial["best"][summary["metric"]] is not None]
    for trial in ended if document["search"].get("folds", 1) == 1 else []:
        arguments = ("predict", "out", data, "--split", "valid", "--trial", str(trial["id"]), "--out", "p.csv")
        code, said, err = run(place, *arguments)
        if code == 2 and 'run the experiment with run.keep_best "trial"' in err:
            continue
        if code != 0:
            raise Wrong(f"{' '.join(arguments)}: exit code {code}: {err}{said}")
        check_scores(trial["id"], said, trial["best"])
    if len(ended) > 1:
        code, said, err = run(place, "predict", "out", data, "--ensemble", "2", "--out", "p.csv")
        if code != 0 and not (code == 2 and "keep_best" in err):
            raise Wrong(f"--ensemble 2: exit code {code}: {err}{said}")


def check(place, document):
    (place / "e.json").write_text(json.dumps(document))
    code, out, err = run(place, "run", "e.json", "--quiet", "--overwrite", "--trainers", "2")
    if code == 2:
        return err.splitlines()[0]
    status = strict_json((place / "out/summary.json").read_text())["status"]
    if code != (0 if status == "finished" else 1):
        raise Wrong(f"run: exit code {code}, {status}: {err}")
    if "every state hash equals the journal's" not in succeed(place, "replay", "out"):
        raise Wrong("replay")
    if (place / "out/best/model.json").exists():
        check_predictions(place, document)
    for arguments in (
        ("compare", "out", "out"),
        ("report", "out", "--out", "r.html"),
        ("export", "csv", "out", "--out", "epochs.csv"),
        ("export", "optuna", "out", "--out", "study.log"),
        ("ctl", "out", "status"),
        ("plan", "e.json", "--trainers", "2,3", "--like", "out", "--json"),
    ):
        succeed(place, *arguments)
    return status


def seeds(first, last):
    with tempfile.TemporaryDirectory(prefix="hopscotch-readers-") as folder:
        place = pathlib.Path(folder) / "work"
        place.mkdir()
        datasets(pathlib.Path(folder) / "data")
        wrong = 0
        for seed in range(first, last):
            try:
                print(seed, check(place, experiment(seed)), flush=True)
            except Wrong as error:
                wrong += 1
                print(f"{seed} WRONG: {error}", flush=True)
        return wrong


if __name__ == "__main__":
    sys.exit(1 if seeds(int(sys.argv[1]), int(sys.argv[2])) else 0)
