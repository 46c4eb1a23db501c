"""Accuracy of the best trial against epochs and against time, under every way to share the work, on three datasets.

SPDX-License-Identifier: Apache-2.0
"""

import json

from curves import first_at, metrics
from job import Missing, claim

USES = ("curves.py", "table.py")
TITLE = "Learning curves"
MINUTES = 10
ASKS = "What does each strategy reach after so many epochs, and after so much time?"
PAPER = (
    "Nakandala, Zhang and Kumar (2020), figure 7 and 9: the curves of Cerebro and of task parallelism coincide. Model "
    "averaging converges to a higher error. Horovod at batches of 32 a worker needs more epochs on ImageNet: after 10 the "
    "validation error was 0.76 to 0.77, Cerebro's 0.71."
)
SHARDS = 8
STRATEGIES = {
    "mop": {"name": "mop"},
    "task parallel": {"name": "task_parallel"},
    "sequential": {"name": "sequential"},
    "averaging": {"name": "model_averaging", "every": "epoch"},
    "all-reduce, 8 b rows": {"name": "allreduce", "batch": "per_worker"},
    "all-reduce, b rows": {"name": "allreduce", "batch": "split"},
}
SAME, LARGE, SMALL = ("mop", "task parallel", "sequential"), "all-reduce, 8 b rows", "all-reduce, b rows"
SGD = {"name": "sgd", "momentum": 0.9}
RATES = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
DATASETS = {
    "digits": {"model": {"name": "mlp", "hidden": [64]}, "batch": 16, "epochs": 8},
    "table": {"model": {"name": "mlp", "hidden": [64]}, "batch": 64, "epochs": 8},
    "CIFAR-10": {"model": {"name": "cnn", "channels": [16, 32, 64]}, "batch": 32, "epochs": 8},
}
IMAGES = 12_500  # of CIFAR-10
LINK_BYTES, LATENCY_S = 125e6, 1e-4  # 1 Gbit/s
HOW = (
    "8 shards and 8 trainers (threads), SGD with momentum 0.9, 8 learning rates (0.005 to 0.64) for every strategy; "
    "b is the batch size of a trial. The digits: MLP, b = 16. The table: 50,000 rows of a formula "
    f"(`experiments/table.py`), MLP, b = 64. CIFAR-10: the first {IMAGES:,} training images in the folder that the "
    "environment variable `HOPSCOTCH_CIFAR10` names, a small convolutional network, b = 32. A fifth of the rows are for "
    "validation. Curves are the best accuracy of any trial so far, after each epoch of all trials. Averaging is once an "
    "epoch, with b rows for each trainer, as in the paper. All-reduce has b rows for each trainer, as Horovod's users do "
    "it, or b rows in all. Time is `hopscotch plan` for 8 hosts with links of 1 Gbit/s and 0.1 ms, with the CPU seconds "
    "of a row that the `sequential` run needed here, and with no fixed cost of a step, which favours all-reduce."
)


def experiment(path, settings, strategy, rates):
    return {
        "name": "evidence",
        "data": {"path": path},
        "model": settings["model"],
        "train": {"epochs": settings["epochs"], "batch_size": settings["batch"], "optimizer": SGD},
        "search": {"procedure": "grid"},
        "space": {"train.optimizer.lr": list(rates)},
        "strategy": strategy,
    }


def column(rows, name):
    """A trial that diverged ends with its last finite value."""
    return [row[name] for row in rows if row[name] is not None]


def read(run):
    summary = json.loads((run / "summary.json").read_text())
    trials, curves = summary["trials"], metrics(run)
    used = sum(each["cpu_s"] or 0 for each in trials)  # of strategies whose trainers share a trial nothing is measured
    return {
        "hashes": [trial["state_hash"] for trial in trials],
        "accuracies": [column(curves.get(trial["id"], []), "val_accuracy") for trial in trials],
        "losses": [column(curves.get(trial["id"], []), "val_loss") for trial in trials],
        "rows": next(iter(curves.values()))[0]["rows"],
        "seconds_per_row": used / sum(row["rows"] for rows in curves.values() for row in rows),
        "state_bytes": summary["bytes"]["state"] / summary["hops"] if summary["hops"] else None,
    }


def planned(job, experiment, seconds_per_row):
    """Seconds of an epoch of all trials, as hopscotch plan predicts them for 8 trainers."""
    (job.folder / "plan.json").write_text(json.dumps({**experiment, "run": {"dir": "planned"}}))
    costs = ["--seconds-per-row", f"{seconds_per_row:.9f}", "--bandwidth", "1gbit", "--latency", "0.1ms"]
    out = json.loads(job.program("hopscotch", "plan", "plan.json", "--trainers", SHARDS, *costs, "--json"))
    rows = {row["strategy"]: row for row in out["plans"][0]["strategies"]}
    return rows[experiment["strategy"]["name"]]["makespan_s"] / experiment["train"]["epochs"]


def datasets(job):
    """{name: folder}, and why a dataset is missing."""
    found, missing = {"digits": job.digits(SHARDS)}, {}
    if job.size == "full":
        found["table"] = job.table(SHARDS, 50_000)
        try:
            found["CIFAR-10"] = job.cifar(SHARDS, IMAGES)
        except Missing as why:
            missing["CIFAR-10"] = str(why)
    return found, missing


def measure(job):
    found, missing = datasets(job)
    rates = job.pick(RATES, RATES[2:6])
    data = {"runs": {}, "missing": missing}
    for name, path in found.items():
        work = {key: experiment(path, DATASETS[name], strategy, rates) for key, strategy in STRATEGIES.items()}
        runs = {key: job.part(f"{name} {key}", lambda w=each: job.run(w, SHARDS, read=read)) for key, each in work.items()}
        cost = runs["sequential"]["seconds_per_row"]
        for key, each in work.items():
            runs[key]["epoch_s"] = job.part(f"{name} {key} plan", lambda w=each: planned(job, w, cost))
        data["runs"][name] = runs
    return data


def best(run):
    """The highest accuracy of any trial up to each epoch. A trial that diverged has fewer epochs."""
    curves, out = run["accuracies"], []
    for epoch in range(max(map(len, curves))):
        out.append(max([*out[-1:], *(curve[epoch] for curve in curves if len(curve) > epoch)]))
    return out


def target(runs):
    """What mop reaches in half of its epochs."""
    curve = best(runs["mop"])
    return curve[len(curve) // 2 - 1]


def lowest_loss(run):
    return min(loss for curve in run["losses"] for loss in curve)


def reached(data, key, unit=None):
    """By dataset: epochs (or seconds) until the target; None: it does not come."""
    found = [(runs[key], first_at(best(runs[key]), target(runs))) for runs in data.values()]
    return [epochs and epochs * (run["epoch_s"] if unit == "seconds" else 1) for run, epochs in found]


def later(ours, theirs):
    """theirs / ours by dataset; a curve that ends below the target counts as `never`."""
    return ["never" if b is None else b / a for a, b in zip(ours, theirs, strict=True)]


def all_above(ratios, bound):
    return all(each == "never" or each > bound for each in ratios)


def claims(data):
    data = data["runs"]
    hashes = [[runs[key]["hashes"] for key in SAME] for runs in data.values()]
    yield claim(
        "Every trial ends with the same bits under `mop`, `task_parallel` and `sequential`",
        all(one == two == three for one, two, three in hashes),
        trials=sum(len(each[0]) for each in hashes),
    )
    mop = reached(data, "mop", "seconds")
    seconds = {key: later(mop, reached(data, key, "seconds")) for key in STRATEGIES if key != "mop"}
    yield claim(
        "In planned time both kinds of all-reduce need longer than `mop`, to what `mop` has at half time",
        all(all_above(seconds[key], 1) for key in (LARGE, SMALL)),
        times_as_long_8_b=seconds[LARGE],
        times_as_long_b=seconds[SMALL],
    )
    if len(data) > 1:  # one dataset with few trials is for tests
        yield from in_epochs(data)
        yield from in_time(data, seconds)


def in_epochs(data):
    mop = reached(data, "mop")
    averaging = later(mop, reached(data, "averaging"))
    yield claim(
        "Model averaging needs more epochs than `mop`, to what `mop` has at half time",
        all_above(averaging, 1.2),
        times_as_many=averaging,
    )
    ends = {key: [lowest_loss(runs[key]) for runs in data.values()] for key in ("mop", "averaging")}
    yield claim(
        "The lowest validation loss of model averaging is above that of `mop`",
        all(a < b for a, b in zip(ends["mop"], ends["averaging"], strict=True)),
        **ends,
    )
    large = later(mop, reached(data, LARGE))
    yield claim("All-reduce with 8 b rows a step needs more epochs than `mop`", all_above(large, 1.2), times_as_many=large)
    small = later(mop, reached(data, SMALL))
    yield claim(
        "All-reduce with b rows a step needs as many epochs as `mop`, within a third",
        all(each != "never" and 2 / 3 < each < 4 / 3 for each in small),
        times_as_many=small,
    )


def in_time(data, seconds):
    yield claim(
        "In planned time sequential SGD and model averaging are later than `mop`, too",
        all_above(seconds["sequential"] + seconds["averaging"], 1),
        times_as_long_sequential=seconds["sequential"],
        averaging=seconds["averaging"],
    )
    alone = [runs["sequential"] for runs in data.values()]
    yield claim(
        "`task_parallel` needs at least 0.85 of the planned time of `mop`",
        all(each > 0.85 for each in seconds["task parallel"]),
        "Where a unit (a trial on a shard) takes less time than a hop, trainers wait for hops. `task_parallel` has none, "
        "and holds eight copies of the data.",
        times_as_long=seconds["task parallel"],
        unit_ms=[1000 * run["seconds_per_row"] * run["rows"] / SHARDS for run in alone],
        hop_ms=[1000 * (runs["mop"]["state_bytes"] / LINK_BYTES + LATENCY_S) for runs in data.values()],
    )


def remarks(data):
    for name, why in data["missing"].items():
        yield f"{name} was not measured ({why})."


def chart(data):
    shown = {"sequential": "sequential", "mop, task parallel (the same bits)": "mop"}
    shown |= {key: key for key in STRATEGIES if key not in SAME}

    def points(runs, key, unit):
        if unit == "epochs":
            return [[epoch + 1, 100 * value] for epoch, value in enumerate(best(runs[key]))]
        return [[(epoch + 1) * runs[key]["epoch_s"], 100 * value] for epoch, value in enumerate(best(runs[key]))]

    def panel(name, unit):
        return {
            "kind": "lines",
            "title": name,
            "x": {"label": unit, "log": True} if unit != "epochs" else {"label": unit, "ticks": [0, 2, 4, 6, 8]},
            "y": {"label": "best accuracy, %"},
            "series": [{"name": words, "points": points(data["runs"][name], key, unit)} for words, key in shown.items()],
        }

    return {
        "kind": "panels",
        "title": "Validation accuracy of the best trial",
        "panels": [panel(name, unit) for name in data["runs"] for unit in ("epochs", "planned seconds")],
    }
