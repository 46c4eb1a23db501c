"""What a trial costs beyond its training: many short and equal trials, as in Ray Tune's page of its own overhead.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import shutil
import statistics
import time

from job import claim, training

USES = ("overhead/ray_trials.py",)
PYTHON = "HOPSCOTCH_RAY_PYTHON"  # an environment variable
NEEDS = f"a Python with ray[tune]; `{PYTHON}` is the path of its program"
TITLE = "Overhead of a trial"
MINUTES = 18
ASKS = "How much longer than their training do many short trials take?"
HOW = (
    "Equal synthetic trials, which wait, on 2 trainers (threads) with a shard each; random search. The minimum is half of "
    "the sum of the trials' seconds. Measured is the whole process, from start to end. A trial is a unit on each shard for "
    "each result: an epoch, with validation after it. Its state has the megabytes of the table; it hops after each unit, "
    "and is hashed and checked. `disk`: states also go to files in the background, as often as the disk takes them "
    "(`checkpoint_every_s` of a millisecond); else when the newest file is a minute old, so never here. Ray Tune does the "
    "same on 2 CPUs: functions that sleep and report a result after each part, for `disk` with a checkpoint of which the "
    "newest is kept. Its processes are used again (`reuse_actors`), and its trials are fewer, because they take long. Both "
    "take turns. Median of three runs for trials of 0.1 s with no state and with 10 MB, else one run."
)
PAPER = (
    "Ray's documentation (Scalability and overhead benchmarks): 10,000 trials of 1 s on 16 CPUs took 715 s, and at least "
    "625 (1.14 times); 1,000 trials of 100 s with 0.1 results/s on 1,024 CPUs 168 s (1.68); 96 trials of 100 s with 10 "
    "results/s on 96 CPUs 169 s (1.69); 16 trials of 300 s with 10 MB of checkpoint every 6 s on 32 CPUs 392 s (1.31)."
)
TRAINERS = 2
SHAPES = ((0.1, 1), (1, 1), (1, 10))  # seconds and results of a trial
STATES = {"no state": (0, False), "1 MB": (1, False), "10 MB": (10, False), "10 MB, disk": (10, True)}
MOST = {"no state": 1.02, "1 MB": 1.02, "10 MB": 1.05}
RAYS = ("no state", "10 MB, disk")
WORK = 100  # seconds of all trials together
RAYS_TRIALS = {0.1: 200, 1: 40}


def experiment_of(job, trials, seconds, results, state):
    megabytes, disk = STATES[state]
    out = training(job.digits(TRAINERS), 1, results, 1024)  # a unit is one batch
    out["search"] = {"procedure": "random", "trials": trials}
    out["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.1, "log": True}}
    parameters, wait = max(1, megabytes * 250_000), seconds / results / TRAINERS
    out["model"] = {"name": "synthetic", "seconds_per_batch": wait, "parameters": parameters}
    out["strategy"] = {"name": "mop", "owners": "equal"}  # waiting does not depend on a core's speed
    out["run"] = {"dir": "run", **({"checkpoint_every_s": 0.001, "checkpoint_keep": 1} if disk else {})}
    return out


def ours(job, trials, seconds, results, state):
    (job.folder / "experiment.json").write_text(json.dumps(experiment_of(job, trials, seconds, results, state)))
    start = time.monotonic()
    job.program("hopscotch", "run", "experiment.json", "--quiet", "--trainers", TRAINERS)
    whole, minimum = time.monotonic() - start, trials * seconds / TRAINERS
    summary = json.loads((job.folder / "run/summary.json").read_text())
    put_away(job, "run")
    if [each["status"] for each in summary["trials"]] != ["finished"] * trials:
        raise RuntimeError(f"not all of {trials} trials have finished")
    files = summary.get("checkpoints", {}).get("written", 0)
    return {"trials": trials, "whole": whole / minimum, "busy": summary["utilisation"], "files": files}


def put_away(job, name):
    """Removed at the end of all runs: after thousands of files were removed, ext4 is slow at making others, for minutes."""
    if (job.folder / name).exists():
        done = job.folder / "done"
        done.mkdir(exist_ok=True)
        (job.folder / name).rename(done / str(time.monotonic_ns()))


def rays(job, trials, seconds, results, state):
    """Of the whole process and of Tuner.fit alone, over the minimum."""
    megabytes, disk = STATES[state]
    script = pathlib.Path(__file__).with_name("ray_trials.py")
    words = (TRAINERS, trials, seconds, results, megabytes if disk else 0)
    start = time.monotonic()
    said = job.python(PYTHON, NEEDS, script, *words)
    whole, minimum = time.monotonic() - start, trials * seconds / TRAINERS
    put_away(job, "ray")
    version, inner = said.splitlines()[-1].split()
    return {"trials": trials, "whole": whole / minimum, "inner": float(inner) / minimum, "version": version}


def one(job, seconds, results, state):
    with_ray = state in RAYS and job.size == "full"
    ray = rays(job, RAYS_TRIALS[seconds], seconds, results, state) if with_ray else None
    repeats = job.pick(3 if seconds == 0.1 and state in ("no state", "10 MB") else 1, 1)
    put_away(job, "run")  # of a figure that was interrupted
    runs = [ours(job, round(job.pick(WORK, 6) / seconds), seconds, results, state) for _ in range(repeats)]
    middle = statistics.median_low([each["whole"] for each in runs])
    mine = next(each for each in runs if each["whole"] == middle)
    row = {"seconds": seconds, "results": results, "state": state, "ray": ray}
    return {**row, "hopscotch": {**mine, "all": [each["whole"] for each in runs]}}


def measure(job):
    cases = [
        (*shape, state) for shape in job.pick(SHAPES, SHAPES[:1]) for state in job.pick([*STATES], ["no state", "10 MB"])
    ]
    rows = [job.part(f"{case}", lambda case=case: one(job, *case)) for case in cases]
    shutil.rmtree(job.folder / "done", ignore_errors=True)
    return rows


def named(row):
    return f"{row['seconds']:g} s" + (f", {row['results']} results" if row["results"] > 1 else "")


def claims(rows):
    if rows[0]["hopscotch"]["trials"] < 1000:  # of few trials, the start counts
        return
    for state, most in MOST.items():
        each = [row["hopscotch"]["whole"] for row in rows if row["state"] == state]
        words = "no state" if state == "no state" else f"states of {state}"
        yield claim(
            f"Trials with {words} take at most {100 * (most - 1):.0f} % more than the minimum",
            max(each) <= most,
            over_minimum=each,
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
    yield "Times the minimum:"
    yield ""
    yield f"| trial | state | Hopscotch | files | Ray Tune{version} | without its start |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        mine, other = row["hopscotch"], row["ray"]
        cells = f"{other['whole']:.2f} ({other['trials']:,} trials) | {other['inner']:.2f}" if other else " | "
        own = f"{mine['whole']:.3f} ({mine['trials']:,} trials) | {mine['files']:,}"
        yield f"| {named(row)} | {row['state']} | {own} | {cells} |"


def chart(rows):
    shapes, states = (list(dict.fromkeys(values)) for values in (map(named, rows), (row["state"] for row in rows)))
    at = {(named(row), row["state"]): row for row in rows}

    def series(name, whose, state):
        cells = [at[shape, state][whose] for shape in shapes]
        return {"name": name, "values": [100 * (cell["whole"] - 1) if cell else None for cell in cells]}

    rays_states = [state for state in states if at[shapes[0], state]["ray"]]
    return {
        "kind": "bars",
        "title": "Time beyond the minimum, whole processes",
        "x": {"label": "a trial", "categories": shapes},
        "y": {"label": "% of the minimum", "log": True, "low": 0.1},
        "series": [
            *(series(state, "hopscotch", state) for state in states),
            *(series(f"Ray, {state}", "ray", state) for state in rays_states),
        ],
    }
