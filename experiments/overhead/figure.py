"""What a trial costs beyond its training: many short and equal trials, as in Ray Tune's page of its own overhead.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import shutil
import subprocess
import time

from job import claim, training

USES = ("overhead/ray_trials.py",)
PYTHON = "HOPSCOTCH_RAY_PYTHON"  # an environment variable
TITLE = "Overhead of a trial"
MINUTES = 15
ASKS = "How much longer than their training do many short trials take?"
HOW = (
    "Equal synthetic trials, which wait, on 2 trainers (threads) with a shard each; random search. The minimum is half of "
    "the sum of the trials' seconds; measured is the whole process, from start to end. A trial is a unit on each shard for "
    "each result: an epoch, with validation after it. Its state has the megabytes of the table; it hops after each unit, "
    "is hashed and checked, and goes to the disk after each epoch but the last (`checkpoint_every_s` of a millisecond), and "
    "the best one at the end. Ray Tune (where "
    f"`{PYTHON}` names a Python that has it) gets the same on 2 CPUs: functions that sleep, a result and a checkpoint after "
    "each part; fewer trials, because they take long. Both take turns."
)
PAPER = (
    "Ray's documentation (Scalability and overhead benchmarks): 10,000 trials of 1 s on 16 CPUs took 715 s, and at least "
    "625 (1.14 times); 1,000 trials of 100 s with 0.1 results/s on 1,024 CPUs 168 s (1.68); 96 trials of 100 s with 10 "
    "results/s on 96 CPUs 169 s (1.69); 16 trials of 300 s with 10 MB of checkpoint every 6 s on 32 CPUs 392 s (1.31)."
)
TRAINERS = 2
SHAPES = ((0.1, 1), (1, 1), (1, 10))  # seconds and results of a trial
MEGABYTES = (0, 1, 10)
WORK = 100  # seconds of all trials together
RAYS_WORK = 20


def ours(job, trials, seconds, results, megabytes):
    experiment = training(job.digits(TRAINERS), 1, results, 1024)  # a unit is one batch
    experiment["search"] = {"procedure": "random", "trials": trials}
    experiment["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.1, "log": True}}
    parameters = max(1, int(megabytes * 250_000))
    wait = seconds / results / TRAINERS
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": wait, "parameters": parameters}
    experiment["strategy"] = {"name": "mop", "owners": "equal"}  # waiting does not depend on a core's speed
    experiment["run"] = {"checkpoint_every_s": 0.001, "checkpoint_keep": 1}
    start = time.monotonic()
    summary = job.run(experiment, TRAINERS)
    whole = time.monotonic() - start
    minimum = trials * seconds / TRAINERS
    return {
        "trials": trials,
        "whole": whole / minimum,
        "inner": summary["makespan_s"] / minimum,
        "busy": summary["utilisation"],
    }


def rays(job, trials, seconds, results, megabytes):
    """Of the whole process and of Tuner.fit alone, over the minimum; None: Ray is not to be had."""
    python = os.environ.get(PYTHON)
    if not python:
        return None
    script = pathlib.Path(__file__).with_name("ray_trials.py")
    command = [python, "-B", str(script), *map(str, (TRAINERS, trials, seconds, results, megabytes))]
    start = time.monotonic()
    done = subprocess.run(command, cwd=job.folder, capture_output=True, text=True)
    whole = time.monotonic() - start
    shutil.rmtree(job.folder / "ray", ignore_errors=True)
    if done.returncode != 0:
        raise RuntimeError(f"Ray Tune: {done.stderr[-2000:]}")
    version, inner = done.stdout.splitlines()[-1].split()
    minimum = trials * seconds / TRAINERS
    return {"trials": trials, "whole": whole / minimum, "inner": float(inner) / minimum, "version": version}


def one(job, seconds, results, megabytes):
    row = {"seconds": seconds, "results": results, "megabytes": megabytes}
    trials = round(job.pick(WORK, 6) / seconds)
    row["hopscotch"] = ours(job, trials, seconds, results, megabytes)
    row["ray"] = rays(job, round(RAYS_WORK / seconds), seconds, results, megabytes) if job.pick(True, False) else None
    return row


def measure(job):
    cases = [(*shape, megabytes) for shape in job.pick(SHAPES, SHAPES[:1]) for megabytes in job.pick(MEGABYTES, (0, 10))]
    return [job.part(f"{s} s, {r} results, {m} MB", lambda s=s, r=r, m=m: one(job, s, r, m)) for s, r, m in cases]


def named(row):
    return f"{row['seconds']:g} s" + (f", {row['results']} results" if row["results"] > 1 else "")


def claims(rows):
    short = rows[0]["hopscotch"]
    yield claim(
        "Trials of 0.1 s without a state take at most 2 % more than the minimum",
        short["whole"] <= 1.02,
        trials=short["trials"],
        over_minimum=short["whole"],
        busy=short["busy"],
    )
    for sizes, words in (((0,), "no state"), ((1,), "states of 1 MB"), ((10,), "states of 10 MB")):
        if any(row["megabytes"] in sizes for row in rows):
            most = 1.05 if 10 in sizes else 1.02
            each = [row["hopscotch"]["whole"] for row in rows if row["megabytes"] in sizes]
            yield claim(
                f"With {words}, all shapes take at most {100 * (most - 1):.0f} % more", max(each) <= most, over_minimum=each
            )
    beside = [row for row in rows if row["ray"]]
    if beside:
        yield claim(
            "Ray Tune on this machine takes longer in every shape, also without its start",
            all(row["ray"]["inner"] > row["hopscotch"]["whole"] for row in beside),
            whole_process=[row["ray"]["whole"] for row in beside],
            without_its_start=[row["ray"]["inner"] for row in beside],
        )


def remarks(rows):
    version = next((f" {row['ray']['version']}" for row in rows if row["ray"]), "")
    yield f"| trial | state | Hopscotch | Ray Tune{version} | without its start |"
    yield "|---|---|---|---|---|"
    for row in rows:
        mine, other = row["hopscotch"], row["ray"]
        cells = f"{other['whole']:.2f} ({other['trials']:,} trials) | {other['inner']:.2f}" if other else " | "
        yield f"| {named(row)} | {row['megabytes']} MB | {mine['whole']:.3f} ({mine['trials']:,} trials) | {cells} |"


def chart(rows):
    shapes = list(dict.fromkeys(map(named, rows)))
    sizes = sorted({row["megabytes"] for row in rows})
    at = {(named(row), row["megabytes"]): row for row in rows}

    def series(name, whose, megabytes):
        cells = [at[shape, megabytes][whose] for shape in shapes]
        return {"name": name, "values": [100 * (cell["whole"] - 1) if cell else None for cell in cells]}

    rows_of_ray = [series("Ray Tune, 10 MB", "ray", 10)] if any(row["ray"] for row in rows if row["megabytes"] == 10) else []
    return {
        "kind": "bars",
        "title": "Time beyond the minimum, whole processes",
        "x": {"label": "a trial", "categories": shapes},
        "y": {"label": "% of the minimum", "log": True, "low": 0.1},
        "series": [*(series(f"Hopscotch, {size} MB", "hopscotch", size) for size in sizes), *rows_of_ray],
    }
