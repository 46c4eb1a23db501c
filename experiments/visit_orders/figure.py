"""Accuracy under a fixed cyclic order of the shards, under shuffled orders, and with one shuffle of all rows.

SPDX-License-Identifier: Apache-2.0
"""

import json
import statistics

from curves import visits
from job import claim

USES = ("curves.py", "table.py")
TITLE = "Order of the shards"
MINUTES = 3
ASKS = "Does it cost accuracy that a trial visits the shards in the same cyclic order in every epoch?"
EPOCHS, SEEDS, HALF_POINT = 8, 40, 0.005
HOW = (
    f"SGD with momentum 0.9, 8 shards, 8 trainers, {EPOCHS} epochs, {SEEDS} seeds. The digits: an MLP (64-64-10), 359 "
    "validation rows. The table: 50,000 rows of a formula (`experiments/table.py`), an MLP (20-64-4), 10,000 validation "
    "rows. `cyclic`: the policy `planned`. `shuffled`: the policy `random`, whose order depends on timing. `one shuffle`: "
    "one shard with all rows, shuffled in each epoch. Seed n gives the same first weights in all three, so differences are "
    "taken seed by seed, over all settings of a dataset. Errors are standard errors; whiskers show two."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), algorithm 1, draw the next shard at random. The order of Apache MADlib is a ring. "
    "The theory of incremental gradients knows cyclic orders that converge more slowly than shuffled ones."
)
SETTINGS = {  # learning rate, batch size, schedule
    "digits": (
        (0.01, 16, "constant"),
        (0.05, 16, "constant"),
        (0.05, 64, "constant"),
        (0.2, 64, "constant"),
        (0.2, 64, "cosine"),
    ),
    "table": ((0.02, 64, "constant"), (0.1, 64, "constant"), (0.1, 64, "cosine")),
}
KEYS = ("train.optimizer.lr", "train.batch_size", "train.schedule.name")
ORDERS = {
    "cyclic": (8, {"name": "mop"}),
    "shuffled": (8, {"name": "mop", "policy": "random"}),
    "one shuffle": (1, {"name": "sequential"}),
}


def experiment(path, name, strategy, seeds):
    return {
        "name": "evidence",
        "data": {"path": path},
        "model": {"name": "mlp", "hidden": [64]},
        "train": {"epochs": EPOCHS, "optimizer": {"name": "sgd", "momentum": 0.9}, "seed_scope": "experiment"},
        "search": {
            "procedure": "manual",
            "repeats": seeds,
            "configurations": [dict(zip(KEYS, setting, strict=True)) for setting in SETTINGS[name]],
        },
        "strategy": strategy,
    }


def read(run):
    """The last metrics of each setting by seed; the fewest and most orders of a trial; whether all orders are whole."""
    trials = json.loads((run / "summary.json").read_text())["trials"]
    orders = list(visits(run).values())
    counts = [len({tuple(order) for order in of_trial}) for of_trial in orders]
    shards = max(map(max, orders[0])) + 1
    rows = {}
    for trial in sorted(trials, key=lambda trial: trial["config"]["search.repeat"]):
        setting = " ".join(str(trial["config"][key]) for key in KEYS)
        for metric in ("val_accuracy", "val_loss"):
            rows.setdefault(metric, {}).setdefault(setting, []).append(trial["last"][metric])
    return {
        **rows,
        "orders": [min(counts), max(counts)],
        "complete": all(sorted(order) == list(range(shards)) for of_trial in orders for order in of_trial),
    }


def one_order(job, name, order):
    shards, strategy = ORDERS[order]
    path = job.digits(shards) if name == "digits" else job.table(shards, 50_000)
    return job.run(experiment(path, name, strategy, job.pick(SEEDS, 10)), shards, read=read)


def measure(job):
    return {
        name: {order: job.part(f"{name} {order}", lambda n=name, o=order: one_order(job, n, o)) for order in ORDERS}
        for name in job.pick(("digits", "table"), ("digits",))
    }


def differences(runs, other, metric, schedule=""):
    """Of `cyclic` and another order: by seed, the mean over the settings (with this schedule)."""
    by_setting = [
        [a - b for a, b in zip(runs["cyclic"][metric][setting], runs[other][metric][setting], strict=True)]
        for setting in runs["cyclic"][metric]
        if setting.endswith(schedule)
    ]
    return [statistics.mean(of_seed) for of_seed in zip(*by_setting, strict=True)]


def error(numbers):
    return statistics.stdev(numbers) / len(numbers) ** 0.5


def claims(data):
    runs = [data[name][order] for name in data for order in ORDERS]
    yield claim("Every trial visits every shard once in every epoch", all(run["complete"] for run in runs), runs=len(runs))
    fewest = [data[name]["shuffled"]["orders"][0] for name in data]
    yield claim(
        f"A trial has one order with `cyclic`, and at least {EPOCHS - 2} in {EPOCHS} epochs with `shuffled`",
        all(data[name]["cyclic"]["orders"] == [1, 1] for name in data) and min(fewest) >= EPOCHS - 2,
        fewest=fewest,
    )
    for other in ("shuffled", "one shuffle"):
        found = {name: differences(data[name], other, "val_accuracy") for name in data}
        yield claim(
            f"Mean accuracies of `cyclic` and `{other}` differ by less than half a point",
            all(abs(statistics.mean(each)) < HALF_POINT for each in found.values()),
            data=list(data),
            points=[100 * statistics.mean(each) for each in found.values()],
            error=[100 * error(each) for each in found.values()],
        )
    if len(data) > 1:  # with few seeds this is a matter of chance
        yield from losses(data)


def losses(data):
    found = [differences(runs, "shuffled", "val_loss") for runs in data.values()]
    cosine = [differences(runs, "shuffled", "val_loss", "cosine") for runs in data.values()]
    yield claim(
        "Mean validation losses of `cyclic` and `shuffled` differ by less than two standard errors",
        all(abs(statistics.mean(each)) < 2 * error(each) for each in found),
        "The numbers say by how much, over all settings, and for the schedule `cosine` alone. Accuracies do not show it.",
        data=list(data),
        difference=[statistics.mean(each) for each in found],
        error=[error(each) for each in found],
        difference_with_cosine=[statistics.mean(each) for each in cosine],
        error_with_cosine=[error(each) for each in cosine],
        loss=[statistics.mean(map(statistics.mean, runs["cyclic"]["val_loss"].values())) for runs in data.values()],
    )


def wrong(runs, order, setting):
    return [1 - each for each in runs[order]["val_accuracy"][setting]]


def chart(data):
    settings = [(data[name], name, " ".join(map(str, setting))) for name in data for setting in SETTINGS[name]]
    bases = [statistics.mean(wrong(runs, "one shuffle", setting)) for runs, _, setting in settings]

    def series(order):
        shares = [
            [each / base for each in wrong(runs, order, setting)]
            for base, (runs, _, setting) in zip(bases, settings, strict=True)
        ]
        means = [statistics.mean(each) for each in shares]
        spans = [[mean - 2 * error(each), mean + 2 * error(each)] for mean, each in zip(means, shares, strict=True)]
        return {"name": order, "values": means, "spans": spans}

    def words(base, name, setting):
        rate, batch, schedule = setting.split()
        return f"{name}, lr {rate}\nb {batch}, {schedule}\n1 is {base:.1%}"

    return {
        "kind": "bars",
        "title": f"Validation error after {EPOCHS} epochs",
        "x": {
            "label": "data, learning rate, batch size b, schedule; error with one shuffle",
            "categories": [words(base, *each[1:]) for base, each in zip(bases, settings, strict=True)],
        },
        "y": {"label": "error / error with one shuffle", "low": 0},
        "series": [series(order) for order in ORDERS],
    }
