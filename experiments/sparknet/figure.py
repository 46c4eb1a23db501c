"""SparkNet's table of workers and local steps, and time to accuracy against the cost of a synchronisation.

SPDX-License-Identifier: Apache-2.0
"""

import json
import statistics

from curves import first_at, lap_s, metrics
from job import claim, training

USES = ("curves.py", "table.py")
TITLE = "Averaging: local steps, and the cost of a synchronisation"
MINUTES = 6
ASKS = (
    "How many steps does model averaging need to an accuracy, with K workers and tau steps between two means? From which "
    "cost of a synchronisation on is it faster than all-reduce?"
)
ROWS, BATCH, TARGET = 9600, 16, 0.74  # of training
WORKERS, TAUS = (1, 2, 4, 8), (1, 5, 15, 75, 150, 300)
RATES, SEEDS, EPOCHS = (0.05, 0.1, 0.2, 0.5, 1.0), 6, 10
SWEEP = (8, 15)  # workers and tau of the sweep of S
BATCH_S, STEPS = 2.0, 32  # of the measured crossing: C, and steps of all-reduce
HOW = (
    f"{ROWS:,} training rows of a formula (`experiments/table.py`), an MLP (20-64-4), SGD, batches of {BATCH} rows of "
    f"each worker. The target is {100 * TARGET:.0f} % of 2,400 validation rows (a tenth of the labels is random), "
    f"which the mean curve of {SEEDS} seeds reaches, with a straight line between two epochs. N: steps of serial SGD. "
    f"M: means of K workers. Each takes the best of {len(RATES)} learning rates ({RATES[0]:g} to {RATES[-1]:g}). An "
    "epoch ends with a mean, so tau is at most a worker's steps in an epoch. C is the time of a step with a whole "
    "batch, S that of a synchronisation. Times are formulas of measured N and M: serial `N C`, all-reduce `N (C/K + "
    "S)`, averaging `M (tau C + S)`. The last two are equal at `S* = (tau M C - N C/K) / (N - M)`. The crossing was "
    f"measured too: with models that wait {BATCH_S:g} s for {BATCH} rows, and S injected (`run.inject`) at a half and "
    "three halves of `S*`."
)
PAPER = (
    "Moritz, Nishihara, Stoica and Jordan (2015): an AlexNet on 100 classes of ImageNet, to 20 %, momentum 0.9 and one "
    "learning rate. At S = 0 the row K = 1 is about 1 for every tau, the column tau = 1 grows about like K, and rows are "
    "not monotone in tau. On EC2 they had S of about 20 s and C of about 2 s. The ratio tau M / N is the time of averaging "
    "over the time of serial SGD; the speed-up at S = 0 is its inverse."
)


def experiment(path, strategy, job):
    return {
        "name": "evidence",
        "data": {"path": path},
        "model": {"name": "mlp", "hidden": [64]},
        "train": {
            "epochs": job.pick(EPOCHS, 8),
            "batch_size": BATCH,
            "optimizer": {"name": "sgd"},
            "seed_scope": "experiment",
        },
        "search": {"procedure": "grid", "repeats": job.pick(SEEDS, 1)},
        "space": {"train.optimizer.lr": list(job.pick(RATES, (0.1, 0.5)))},
        "strategy": strategy,
    }


def read(run):
    """Epochs to the target by learning rate, and the last hash of each trial."""
    trials = json.loads((run / "summary.json").read_text())["trials"]
    curves, by_rate = metrics(run), {}
    for trial in trials:
        values = [row["val_accuracy"] for row in curves.get(trial["id"], [])]
        by_rate.setdefault(trial["config"]["train.optimizer.lr"], []).append(values)
    means = {rate: [statistics.mean(of_epoch) for of_epoch in zip(*each, strict=False)] for rate, each in by_rate.items()}
    return {
        "epochs": [[rate, first_at(curve, TARGET)] for rate, curve in means.items()],
        "hashes": [trial["state_hash"] for trial in trials],
    }


def best(found, steps_an_epoch):
    """The fewest steps of any learning rate, and that rate."""
    by_rate = {str(rate): epochs and epochs * steps_an_epoch for rate, epochs in found["epochs"]}
    steps, rate = min((steps, rate) for rate, steps in by_rate.items() if steps is not None)
    return {"steps": steps, "rate": rate, "by_rate": by_rate, "hashes": found["hashes"]}


def steps_to(job, workers, strategy):
    found = job.run(experiment(job.table(8, ROWS * 5 // 4), strategy, job), workers, read=read)
    return best(found, ROWS / BATCH / workers)


def batch_s(job):
    return job.pick(BATCH_S, 0.05)


def waiting(job, strategy, sync_s):
    """Seconds of a step of all-reduce, or of a round of averaging, of a model that waits, with so many for synchronising."""
    steps = STEPS if strategy["name"] == "allreduce" else SWEEP[0] * SWEEP[1]  # on one worker
    waits = training(job.table(8, steps * BATCH * 5 // 4), 1, 1, BATCH)
    waits["model"] = {"name": "synthetic", "seconds_per_batch": 0, "seconds_per_row": batch_s(job) / BATCH}
    waits["strategy"] = strategy
    waits["run"] = {"inject": [f"delay:sync_s={sync_s:.6f}"]}
    return job.run(waits, SWEEP[0], read=lap_s) / (STEPS if strategy["name"] == "allreduce" else 1)


def times(data, sync):
    """Of the sweep, in C: serial SGD, all-reduce, averaging, with so many C for a synchronisation."""
    workers, tau = SWEEP
    serial, local = data["serial"]["steps"], data["cells"][f"{workers} {tau}"]["steps"]
    return [serial, serial * (1 / workers + sync), local + local / tau * sync]


def crossing(data):
    """S* in C."""
    workers, tau = SWEEP
    serial, local = data["serial"]["steps"], data["cells"][f"{workers} {tau}"]["steps"]
    return (local - serial / workers) / (serial - local / tau)


def averaging(tau):
    return {"name": "model_averaging", "every": tau, "momentum": "averaged"}  # plain SGD has no momentum


def measure(job):
    data = {
        "serial": job.part("serial", lambda: steps_to(job, 1, {"name": "sequential", "visits": "in_order"})),
        "cells": {},
    }
    for workers in job.pick(WORKERS, (1, 8)):
        for tau in job.pick(TAUS, (15, 75)):
            if ROWS // BATCH // workers % tau == 0:
                cell = job.part(f"{workers} {tau}", lambda w=workers, t=tau: steps_to(job, w, averaging(t)))
                data["cells"][f"{workers} {tau}"] = cell
    allreduce = {"name": "allreduce", "batch": "per_worker"}
    if job.size == "full":
        data["large batch"] = job.part("large batch", lambda: steps_to(job, 8, allreduce))
    data["batch_s"] = batch_s(job)
    at = [crossing(data) * data["batch_s"] * factor for factor in (0.5, 1.5)]
    data["waiting"] = [
        {
            "sync_s": sync_s,
            "step_s": job.part(f"step {sync_s:.6f}", lambda s=sync_s: waiting(job, {"name": "allreduce"}, s)),
            "round_s": job.part(f"round {sync_s:.6f}", lambda s=sync_s: waiting(job, averaging(SWEEP[1]), s)),
        }
        for sync_s in at
    ]
    return data


def measured_crossing(data):
    """In seconds: where the lines through the measured times of all-reduce and averaging meet."""
    serial, local = data["serial"]["steps"], data["cells"]["{} {}".format(*SWEEP)]["steps"]
    (at, low), (end, high) = (
        (each["sync_s"], serial * each["step_s"] - local / SWEEP[1] * each["round_s"]) for each in data["waiting"]
    )
    return at - low * (end - at) / (high - low)


def speed_ups(data, workers):
    """[[tau, N / (tau M)]]."""
    cells = {tuple(map(int, key.split())): cell for key, cell in data["cells"].items()}
    return [[tau, data["serial"]["steps"] / cell["steps"]] for (count, tau), cell in cells.items() if count == workers]


def claims(data):
    counts = sorted({int(key.split()[0]) for key in data["cells"]})
    alone = [cell for key, cell in data["cells"].items() if key.startswith("1 ")]
    yield claim(
        "With one worker, averaging is serial SGD for every tau, to the bit",
        all(cell["hashes"] == data["serial"]["hashes"] for cell in alone),
        cells=len(alone),
    )
    first = [data["cells"][f"{count} {speed_ups(data, count)[0][0]}"] for count in counts]
    column = [data["serial"]["steps"] / cell["steps"] for cell in first]
    same = [cell["by_rate"][data["serial"]["rate"]] for cell in first]
    yield claim(
        "With the smallest tau, the speed-up at S = 0 grows with K, to more than K/2",
        column == sorted(column) and all(up > count / 2 for up, count in zip(column, counts, strict=True)),
        workers=counts,
        speed_up=column,
        learning_rates=[cell["rate"] for cell in first],
        speed_up_at_the_learning_rate_of_serial_SGD=[steps and data["serial"]["steps"] / steps for steps in same],
    )
    if "large batch" in data:
        ratio = data["cells"]["8 1"]["steps"] / data["large batch"]["steps"]
        yield claim("With tau = 1, averaging needs the steps of all-reduce with K b rows, within 5 %", abs(ratio - 1) < 0.05)
    last = {count: speed_ups(data, count) for count in counts if count > 1}
    yield claim(
        "The largest tau needs more steps than the smallest, for each K above 1",
        all(rows[-1][1] < rows[0][1] for rows in last.values()),
        "It holds for K = 4 and K = 8. The row of K = 2 is flat: its values differ by about a tenth, without an order.",
        speed_up_at_smallest=[rows[0][1] for rows in last.values()],
        at_largest=[rows[-1][1] for rows in last.values()],
    )
    if "large batch" in data:
        bumps = [
            count for count, rows in last.items() if [up for _, up in rows] != sorted((up for _, up in rows), reverse=True)
        ]
        yield claim("Rows are not monotone in tau", bool(bumps), workers_whose_row_is_not=bumps)
    serial, naive, local = times(data, 0)
    yield claim("At S = 0 all-reduce is the fastest", naive < local and naive < serial, times_in_C=[serial, naive, local])
    serial, naive, local = times(data, 10)
    yield claim(
        "At the S of SparkNet's cluster, 10 C, all-reduce is slower than serial SGD, and averaging faster",
        local < serial < naive,
        times_in_C=[serial, naive, local],
    )
    formula, measured = crossing(data) * data["batch_s"], measured_crossing(data)
    if "large batch" in data:  # the short waits of tests are shorter than what the machine needs for a step
        yield claim(
            "The measured crossing is within 15 % of `S*`",
            abs(measured / formula - 1) < 0.15,
            "An all-reduce takes time of its own besides what was injected: on a busy machine its eight threads wait for "
            "two cores. So the crossing comes sooner.",
            formula_ms=1000 * formula,
            measured_ms=1000 * measured,
            own_ms_of_all_reduce=[
                1000 * (each["step_s"] - data["batch_s"] / SWEEP[0] - each["sync_s"]) for each in data["waiting"]
            ],
            formula_in_C=crossing(data),
        )


def remarks(data):
    """The table, in both notations."""
    counts = sorted({int(key.split()[0]) for key in data["cells"]})
    taus = sorted({int(key.split()[1]) for key in data["cells"]})
    yield "Speed-up at S = 0, N / (tau M); in brackets the paper's ratio tau M / N:"
    yield ""
    yield "| K | " + " | ".join(f"tau {tau}" for tau in taus) + " |"
    yield "|---" * (len(taus) + 1) + "|"
    for count in counts:
        ups = dict(speed_ups(data, count))
        yield (
            f"| {count} | " + " | ".join(f"{ups[tau]:.2f} ({1 / ups[tau]:.2f})" if tau in ups else "" for tau in taus) + " |"
        )


def chart(data):
    return {"kind": "panels", "columns": 1, "title": TITLE, "panels": [table_chart(data), sweep_chart(data)]}


def table_chart(data):
    counts = sorted({int(key.split()[0]) for key in data["cells"]})
    return {
        "kind": "lines",
        "title": f"Speed-up to an accuracy of {100 * TARGET:.0f} % if synchronising costs nothing (S = 0)",
        "x": {"label": "tau: local steps between two means", "log": True, "low": 1, "ticks": [1, 3, 10, 30, 100, 300]},
        "y": {"label": "N / (tau M)", "low": 0},
        "series": [{"name": f"K = {count}", "points": speed_ups(data, count)} for count in counts],
    }


def sweep_chart(data):
    workers, tau = SWEEP
    syncs = [10 ** (power / 4) for power in range(-10, 9)]
    sweep = [times(data, sync) for sync in syncs]
    names = ("serial SGD", f"all-reduce, K = {workers}", f"averaging, K = {workers}, tau = {tau}")
    series = [
        {"name": name, "points": [[sync, row[i]] for sync, row in zip(syncs, sweep, strict=True)], "every": 100}
        for i, name in enumerate(names)
    ]
    serial, local = data["serial"]["steps"], data["cells"][f"{workers} {tau}"]["steps"]
    for name, count, key in (("all-reduce, measured", serial, "step_s"), ("averaging, measured", local / tau, "round_s")):
        points = [[each["sync_s"] / data["batch_s"], count * each[key] / data["batch_s"]] for each in data["waiting"]]
        series.append({"name": name, "points": points})
    low, high = sweep[0][1] / 2, sweep[-1][1]
    series.append({"name": "S*", "points": [[crossing(data), low], [crossing(data), high]], "dash": True})
    return {
        "kind": "lines",
        "title": f"Time to an accuracy of {100 * TARGET:.0f} % against the cost S of a synchronisation",
        "x": {"label": "S / C (C: time of a step)", "log": True},
        "y": {"label": "time / C", "log": True},
        "series": series,
    }
