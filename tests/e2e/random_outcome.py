# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: all of it that must not depend on who trained and on what happened on the way (outcome,
first_difference), and what must hold of any run that has ended (leftovers, lost_order)."""

import collections
import csv
import hashlib
import re

from chaos import decisions
from harness import strict_json
from units import with_units

FILES = {
    "experiment.json",
    "journal.jsonl",
    "metrics.jsonl",
    "trace.json",
    "trials.csv",
    "summary.json",
    "report.html",
    "live.json",
    "inbox",
    "tb",
}  # and best/
TIMES = {"start_unix_s", "seconds", "train_s", "cpu_s", "cpu_use", "gpu_s", "gpu_use", "wall_s"}


class Different(Exception):
    pass


def lines_of(path):
    return [strict_json(line) for line in path.read_text().splitlines()] if path.exists() else []


def timeless(value):
    """Without what depends on clocks."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


# Keys that came after the runs and digests of tests/e2e/stored_* were made.
LATER = ("rmse", "val_rmse", "weights_file", "measures")


def without_later_keys(value):
    if isinstance(value, dict):
        return {key: without_later_keys(each) for key, each in value.items() if key not in LATER}
    return [without_later_keys(each) for each in value] if isinstance(value, (list, tuple)) else value


def outcome(folder):
    """All that must not depend on who trained, and on what happened; part by part, the first to differ first."""
    journal, summary = lines_of(folder / "journal.jsonl"), strict_json((folder / "summary.json").read_text())
    laps = [with_units(folder, line) for line in journal if line["event"] == "lap_done"]
    metrics = sorted(
        (timeless(line) for line in lines_of(folder / "metrics.jsonl")), key=lambda line: (line["trial"], line["epoch"])
    )
    check_laps(folder.name, laps, metrics)
    table = folder / "trials.csv"
    return {
        "decisions": decisions(journal),
        "units": units_of(laps),
        "laps": ends_of(laps),
        "trials": timeless(summary["trials"]),
        "summary": {
            key: timeless(summary.get(key)) for key in ("status", "reason", "best_trial", "groups", "ablation", "test")
        },
        "metrics.jsonl": metrics,
        "trials.csv": timeless(list(csv.DictReader(table.read_text().splitlines()))) if table.exists() else [],
        "best/": best_models(folder),
    }


def check_laps(name, laps, metrics):
    """The journal has each lap once, and metrics.jsonl has the same laps."""
    done = collections.Counter((lap["trial"], lap["epoch"]) for lap in laps if lap["outcome"] == "finished")
    if twice := [lap for lap, times in done.items() if times > 1]:
        raise Different(f"{name}: laps are in the journal twice: {twice}")
    measured = [lap for lap in laps if lap["outcome"] != "stopped"]  # those were left by an order
    ended, told = (sorted((line["trial"], line["epoch"]) for line in lines) for lines in (measured, metrics))
    if ended != told:
        raise Different(
            f"{name}: metrics.jsonl has other laps than the journal: {first_difference({'laps': ended}, {'laps': told})}"
        )


def units_of(laps):
    return sorted(
        [lap["trial"], lap["epoch"], unit["shard"], unit["rows"], unit["loss_sum"], unit["state_hash"]]
        for lap in laps
        for unit in lap["units"]
    )


def ends_of(laps):
    """How each lap ended, and with what; not who validated."""
    keys = ("trial", "epoch", "outcome", "reason", "lr", "state_hash")
    for lap in laps:
        lap["validation"].pop("trainers", None)
    return sorted([*(lap[key] for key in keys), timeless(lap["validation"])] for lap in laps)


def about(path):
    """Without what runs of earlier versions do not have."""
    document = timeless(strict_json(path.read_text()))
    document["model"].pop("import", None)
    return document


def best_models(folder):
    return {
        str(path.relative_to(folder)): about(path)
        if path.suffix == ".json"
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("best/**/model.*"))
    }


def first_difference(expected, actual):
    for part, was in expected.items():
        now = actual[part]
        if was == now:
            continue
        if not isinstance(was, list) or len(was) != len(now):
            counts = f"{len(was)} and {len(now)}; " if isinstance(was, list) else ""
            only = (
                [each for each in was if each not in now][:1] + [each for each in now if each not in was][:1]
                if isinstance(was, list)
                else [was, now]
            )
            return f"{part}: {counts}{only}"[:1500]
        return (
            f"{part}, {sum(a != b for a, b in zip(was, now))} of {len(was)}: "
            + next(f"{a} and {b}" for a, b in zip(was, now) if a != b)[:1500]
        )
    return None


OF_THE_BEST = r"trial-\d+|model\.(json|safetensors)|validation\.json"


def leftovers(folder):
    """What is in the directory of a run that has ended, and that a reader of docs/formats.md would not expect there."""
    left = [
        path for path in folder.iterdir() if not re.fullmatch(r"best|units-\d+\.bin", path.name) and path.name not in FILES
    ]
    left += [
        *folder.glob("inbox/*"),
        *(path for path in folder.glob("best/**/*") if not re.fullmatch(OF_THE_BEST, path.name)),
    ]
    return sorted(str(path.relative_to(folder)) for path in left)


def lost_order(folder, acknowledged):
    """Of these arguments of ctl the first that the journal knows nothing of; or an order that has not come with a lap though
    laps came."""
    journal = lines_of(folder / "journal.jsonl")
    noted = {
        (line["kind"], line.get("trial"))
        for line in journal
        if line["event"] not in ("lap_done", "lap_released", "decision") and "kind" in line
    }
    for kind, *rest in acknowledged:
        if (kind, int(rest[0]) if rest else None) not in noted:
            return f"ctl {kind} {' '.join(rest)} was acknowledged, but is not in the journal"
    for at, line in enumerate(journal):
        if line["event"] != "order":
            continue
        laps = [each for each in journal[at:] if each["event"] == "lap_done"]
        if laps and not any(
            (order["kind"], order.get("trial")) == (line["kind"], line.get("trial"))
            for lap in laps
            for order in lap.get("orders", [])
        ):
            return f"{line} came with no lap"
    return None
