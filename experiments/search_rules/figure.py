"""Rules that stop trials early, played on public learning curves.

SPDX-License-Identifier: Apache-2.0
"""

import ast
import itertools
import json
import math
import os
import random
import statistics
import struct
import zipfile

from job import Missing, claim

USES = ("search_rules/curves.py",)
POOL = "HOPSCOTCH_LCBENCH"  # an environment variable
NEEDS = (
    f"LCBench's learning curves; `{POOL}` is the path of the file that `experiments/search_rules/curves.py` makes from the "
    "public repository slds-lmu/yahpo_data"
)
TITLE = "Rules on public learning curves"
MINUTES = 4
ASKS = "Which rule finds the best network for the epochs of 20 full trainings, and how much do stopped trials save?"
SHAPE = (34, 500, 52)  # tasks, configurations, epochs
TRAININGS = 20  # full ones, which are the budget
ORDERS, SAMPLES = 20, 20
HALVED = 215  # trials: one bracket of successive_halving with 1, 5, 17 and 52 epochs costs 1,020 of 1,040 epochs
DEFAULTS = ("random", "median", "extrapolate", "hyperband", "asha", "best_after")
SET = {"asha, eta 4": ("asha", "search.eta=4"), "successive_halving": ("successive_halving", f"search.trials={HALVED}")}
FEW = (20, 50)  # trials without a budget
HOW = (
    "LCBench (Zimmer, Lindauer and Hutter, 2021) trained MLPs for 52 epochs on 34 tasks. The curves are those of a public "
    "surrogate network that was fitted to it (YAHPO Gym): 500 random configurations a task, validation accuracy, without "
    f"noise. `hopscotch what-if` plays each rule in {ORDERS} orders of the configurations, other ones for each task, with a "
    "budget of 1,040 epochs (20 full trainings). All keys have their defaults, except `eta` where it is named, and `trials` "
    f"of `successive_halving`: {HALVED}. Without it, all 500 would start, and the budget would end in the second rung. A "
    "trial that trains when the budget ends goes on to its next decision, so some rules train a few epochs more. Regret: "
    "(best known - best found) / (best known - median after the last epoch), mean of the tasks. Whiskers and errors: "
    "standard errors over orders. Better on: tasks whose mean regret is below that of `random`. Saved and lost: "
    f"`extrapolate` without a budget, on {SAMPLES} random samples of 20 or 50 configurations of each task; its epochs and "
    "its best accuracy beside "
    "those of their full trainings."
)
PAPER = (
    "Egele et al. (2023): to train all configurations for one epoch, and the best to the end, finds on many tasks as much "
    "as longer ladders. Li et al. (ASHA, MLSys 2020): as fast as or faster than Hyperband. Domhan et al. (IJCAI 2015): "
    "extrapolated curves halve the time of a search. Before this figure we measured .112 for `asha`, .150 for "
    "`extrapolate`, .162 for `hyperband`, .220 for `median` and .284 for `random` on these curves (records 0078 and 0080). "
    "The defaults of `asha`, `median`, `best_after` and `extrapolate` were chosen on these curves, so other tasks may gain "
    "less."
)


def array_of(archive, name):
    """An array of a .npz file: type, shape, bytes. Not by numpy, which the Python of scripts/evidence.sh may lack."""
    raw = archive.read(f"{name}.npy")
    begin = 10 if raw[6] == 1 else 12  # the length of the header has 2 bytes in version 1, later 4
    end = begin + int.from_bytes(raw[8:begin], "little")
    head = ast.literal_eval(raw[begin:end].decode("latin-1"))
    if head["fortran_order"]:
        raise ValueError(f"{name}: its columns come first")
    return head["descr"], head["shape"], raw[end:]


def read_pool(path):
    """The names of the tasks, and of each the curves of all configurations."""
    with zipfile.ZipFile(path) as archive:
        words, _, letters = array_of(archive, "tasks")
        numbers, shape, values = array_of(archive, "acc")
    if numbers != "<f4" or not words.startswith("<U"):
        raise ValueError(f"{path}: has {numbers} and {words}, not <f4 and <U")
    wide = 4 * int(words[2:])
    tasks = [letters[i : i + wide].decode("utf-32-le").rstrip("\0") for i in range(0, len(letters), wide)]
    values = struct.iter_unpack(f"<{shape[2]}f", values)
    return tasks, [list(itertools.islice(values, shape[1])) for _ in range(shape[0])]


def pool():
    path = os.environ.get(POOL)
    if not path or not os.path.exists(path):
        raise Missing(f"needs {NEEDS}")
    tasks, curves = read_pool(path)
    found = (len(curves), len(curves[0]), len(curves[0][0]))
    if found != SHAPE or len(tasks) != SHAPE[0]:
        raise Missing(f"needs {NEEDS}; this file has {found} curves, not {SHAPE}")
    return tasks, curves


def write_table(path, curves):
    """As what-if reads it. Nine digits bring every float back."""
    rows = (f"{i},{epoch},{value:.9g}\n" for i, curve in enumerate(curves) for epoch, value in enumerate(curve))
    path.write_text("trial,epoch,val_accuracy\n" + "".join(rows))


def what_if(job, procedures, orders, epochs, setting=None):
    """What each procedure found on the table: its plays, one an order; and the best known value."""
    words = ["--metric", "val_accuracy", "--mode", "max", "--orders", orders, "--epochs", epochs, "--json"]
    words += [word for name in procedures for word in ("--procedure", name)] + (["--set", setting] if setting else [])
    out = json.loads(job.program("hopscotch", "what-if", "table.csv", *words))
    return {name: each["played"] for name, each in zip(procedures, out["searches"], strict=True)}, out["best_known"]


def play(job, name, curves):
    """All rules on one task: regret, epochs and trials of each order."""
    # Each task has its own orders: else the luck of an order, the same on all tasks, would not average out over them.
    write_table(job.folder / "table.csv", random.Random(name).sample(curves, len(curves)))
    orders, budget = job.pick(ORDERS, 2), TRAININGS * SHAPE[2]
    plays, best = what_if(job, DEFAULTS, orders, budget)
    for label, (procedure, setting) in SET.items():
        plays[label] = what_if(job, [procedure], orders, budget, setting)[0][procedure]
    scale = best - statistics.median(curve[-1] for curve in curves)
    return {
        rule: {
            "regret": [(best - each["best"]) / scale for each in played],
            "epochs": [each["epochs"] for each in played],
            "trials": [each["trials"] for each in played],
        }
        for rule, played in plays.items()
    }


def save(job, name, curves, trials):
    """`extrapolate` on small samples of one task, beside full trainings: the saved part of the epochs, the lost accuracy."""
    saved, lost = [], []
    for seed in range(job.pick(SAMPLES, 2)):
        chosen = random.Random(f"{name} {seed}").sample(range(len(curves)), max(FEW))[:trials]
        write_table(job.folder / "table.csv", [curves[i] for i in chosen])
        full = trials * SHAPE[2]
        plays, best = what_if(job, ["extrapolate"], 1, full)
        saved.append(1 - plays["extrapolate"][0]["epochs"] / full)
        lost.append((best - plays["extrapolate"][0]["best"]) / 100)  # the curves are in per cent
    return {"saved": statistics.fmean(saved), "lost": statistics.fmean(lost)}


def summary(tasks):
    """Of one rule. tasks: what `play` says of it, by task."""
    orders = [statistics.fmean(column) for column in zip(*(each["regret"] for each in tasks), strict=True)]
    return {
        "mean": round(statistics.fmean(orders), 5),
        "error": round(statistics.stdev(orders) / math.sqrt(len(orders)), 5),
        "tasks": [round(statistics.fmean(each["regret"]), 5) for each in tasks],
        **{key: round(statistics.fmean(n for each in tasks for n in each[key]), 1) for key in ("epochs", "trials")},
    }


def savings(tasks):
    """Of one number of trials. tasks: what `save` says, by task."""
    saved, lost = ([each[key] for each in tasks] for key in ("saved", "lost"))
    return {
        "saved": round(statistics.fmean(saved), 4),
        "least_saved": round(min(saved), 4),
        "lost": round(statistics.fmean(lost), 5),
        "most_lost": round(max(lost), 5),
    }


def measure(job):
    names, curves = pool()
    known = dict(list(zip(names, curves, strict=True))[: job.pick(SHAPE[0], 2)])
    plays = [job.part(name, lambda name=name: play(job, name, known[name])) for name in known]
    few = {
        trials: [job.part(f"{name}, {trials}", lambda n=name, t=trials: save(job, n, known[n], t)) for name in known]
        for trials in FEW
    }
    return {
        "names": list(known),
        "rules": {name: summary([each[name] for each in plays]) for name in (*DEFAULTS, *SET)},
        "few": {str(trials): savings(each) for trials, each in few.items()},
    }


def better(data, rule):
    """The number of tasks on which the rule finds more than random search."""
    pairs = zip(data["rules"][rule]["tasks"], data["rules"]["random"]["tasks"], strict=True)
    return sum(mine < other for mine, other in pairs)


def ranked(data):
    return sorted(data["rules"], key=lambda name: data["rules"][name]["mean"])


def claims(data):
    rules, tasks = data["rules"], len(data["names"])
    asha, chance = rules["asha"], rules["random"]
    if tasks == SHAPE[0]:  # a small size leaves it to chance
        yield claim(
            "The mean regret of `asha` is at most 0.139",
            asha["mean"] <= 0.139,
            mean=asha["mean"],
            standard_error=asha["error"],
        )
        yield claim(
            "`asha` finds more than random search on every task", better(data, "asha") == tasks, tasks=better(data, "asha")
        )
        others = [name for name in ranked(data) if name not in ("asha", "random")]
        worse = [name for name in others if rules[name]["mean"] >= chance["mean"]]
        yield claim(
            "Every other rule finds more than random search in the mean",
            not worse,
            random=chance["mean"],
            largest_of_a_rule=rules[others[-1]]["mean"],
            **({"worse": worse} if worse else {}),
        )
    many = data["few"]["50"]
    yield claim(
        "`extrapolate` with 50 trials saves at least 40 % of the epochs, and loses less than 0.005 of the accuracy",
        many["saved"] >= 0.4 and many["lost"] < 0.005,
        saved=many["saved"],
        lost=many["lost"],
    )


def remarks(data):
    yield "| rule | mean regret | standard error | median task | better on | epochs | trials |"
    yield "|---|---|---|---|---|---|---|"
    for name in ranked(data):
        each = data["rules"][name]
        number = "" if name == "random" else f"{better(data, name)} of {len(data['names'])}"
        numbers = f"{each['mean']:.3f} | {each['error']:.3f} | {statistics.median(each['tasks']):.3f} | {number}"
        rule, _, eta = name.partition(", eta ")
        words = f"`{rule}`, `eta` {eta}" if eta else f"`{rule}`"
        yield f"| {words} | {numbers} | {each['epochs']:,.0f} | {each['trials']:.0f} |"
    yield ""
    yield "| trials of `extrapolate` | saved epochs (least task) | lost accuracy (worst task) |"
    yield "|---|---|---|"
    for trials, each in data["few"].items():
        saved = f"{100 * each['saved']:.0f} % ({100 * each['least_saved']:.0f} %)"
        yield f"| {trials} | {saved} | {each['lost']:.4f} ({each['most_lost']:.3f}) |"


def chart(data):
    rules, names = data["rules"], ranked(data)
    means = {
        "name": "mean of the tasks, and its standard error",
        "values": [rules[name]["mean"] for name in names],
        "spans": [[rules[name]["mean"] + side * rules[name]["error"] for side in (-1, 1)] for name in names],
    }
    tasks = [
        {
            "name": name,
            "points": [[i + 1, regret] for i, regret in enumerate(sorted(rules[name]["tasks"]))],
            "every": 3,
            **({"dash": True} if name == "random" else {}),
        }
        for name in DEFAULTS
    ]
    return {
        "kind": "panels",
        "columns": 1,
        "title": TITLE,
        "panels": [
            {
                "kind": "bars",
                "title": f"Regret with the epochs of {TRAININGS} full trainings",
                "x": {"label": "rule", "categories": [name.replace("_", "_\n").replace(", ", ",\n") for name in names]},
                "y": {"label": "regret"},
                "series": [means],
            },
            {
                "kind": "lines",
                "title": "Regret of each task, in the order of each rule",
                "x": {"label": "tasks, from the least regret to the largest", "ticks": [1, 5, 10, 15, 20, 25, 30, 34]},
                "y": {"label": "regret", "low": 0},
                "series": tasks,
            },
        ],
    }
