"""Trials in bulk-synchronous waves against asynchronous trials, which stop early, in order of arrival and in virtual time.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json

from job import claim, training

TITLE = "Asynchronous trials"
MINUTES = 8
ASKS = "How much time do trials save that neither wait for each other nor go on without hope? What do equal decisions cost?"
HOW = (
    "Random search with 48 synthetic trials of 6 epochs on 8 shards of the digits. Waiting times of a row are drawn from a "
    "factor of 4, uniform in the logarithm; batch sizes from 8 to 64, and the made-up metric is better for smaller batches, "
    "whatever they cost. A wave is a run of its own with one trial for each trainer (`task_parallel`). Their makespans are "
    "added, without the starts. The other runs have 16 trials in flight. Trials are stopped by `median`. Real training: an "
    "MLP on the digits, the same 48 configurations with `random` and with `median`, for each of ten seeds."
)
PAPER = (
    "Meister, Sheikholeslami, Payberah, Vlassov and Dowling (Maggy, DistributedML 2020): random search for a convolutional "
    "network on Fashion-MNIST, a fixed number of trials, took 33 to 58 % less time with asynchronous trials and early "
    "stopping than in waves on Spark, without loss of accuracy."
)
TRIALS, EPOCHS, IN_FLIGHT = 48, 6, 16
MEDIAN = {"procedure": "median", "in_flight": IN_FLIGHT, "metric": "val_loss"}
KINDS = {
    "asynchronous": ("task_parallel", {"procedure": "random", "in_flight": IN_FLIGHT, "metric": "val_loss"}),
    "arrival": ("task_parallel", {**MEDIAN, "deterministic": False}),
    "virtual": ("task_parallel", MEDIAN),
    "hopping": ("mop", MEDIAN),
}
NAMES = {
    "waves": "waves",
    "asynchronous": "asynchronous",
    "arrival": "early stop, arrival",
    "virtual": "early stop, virtual time",
    "hopping": "the same, hopping",
}


def synthetic(job, strategy, search):
    experiment = training(job.digits(8), 1, EPOCHS, 32)
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": 0, "seconds_per_row": 0.0002}
    experiment["strategy"] = {"name": strategy}
    if strategy == "mop":
        experiment["strategy"]["owners"] = "equal"  # waiting does not depend on a core's speed
    cost = 1 if job.size == "full" else 0.1
    experiment["space"] = {
        "model.seconds_per_row": {"type": "float", "low": 0.0001 * cost, "high": 0.0004 * cost, "log": True},
        "train.batch_size": {"type": "int", "low": 8, "high": 64, "log": True},
    }
    experiment["search"] = search
    return experiment


def decisions(summary):
    """The same for the same decisions in the same order."""
    keys = ("kind", "trial", "epoch", "until_epoch", "source")
    made = [[line.get(key) for key in keys] for line in summary["journal.jsonl"] if line["event"] == "decision"]
    return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:12]


def one_run(job, kind, trainers, **more):
    strategy, search = KINDS[kind]
    experiment = synthetic(job, strategy, {**search, "trials": job.pick(TRIALS, 16)})
    summary = job.run({**experiment, "run": more}, trainers, also=["journal.jsonl"])
    return {
        "kind": kind,
        "trainers": trainers,
        "seconds": summary["makespan_s"],
        "epochs": sum(trial["epochs"] for trial in summary["trials"]),
        "decisions": decisions(summary),
        "configurations": [trial["config"] for trial in summary["trials"]],
    }


def waves(job, trainers, configurations):
    seconds = 0
    for first in range(0, len(configurations), trainers):
        wave = {"procedure": "manual", "configurations": configurations[first : first + trainers]}
        experiment = synthetic(job, "task_parallel", wave)
        del experiment["space"]
        seconds += job.run(experiment, trainers)["makespan_s"]
    return {"kind": "waves", "trainers": trainers, "seconds": seconds, "epochs": EPOCHS * len(configurations)}


def real(job, seed, procedure):
    """Real training: the best validation accuracy of the last epochs, and the epochs trained."""
    experiment = training(job.digits(2), 1, EPOCHS, 32)
    experiment |= {"seed": seed, "model": {"name": "mlp", "hidden": [32]}}
    experiment["search"] = {"procedure": procedure, "trials": job.pick(TRIALS, 8), "in_flight": IN_FLIGHT}
    experiment["space"] = {
        "train.optimizer.lr": {"type": "float", "low": 0.001, "high": 1, "log": True},
        "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.95},
        "train.batch_size": {"type": "int", "low": 8, "high": 64, "log": True},
    }
    trials = job.run(experiment, 2)["trials"]
    done = [trial["last"]["val_accuracy"] for trial in trials if trial["last"] and trial["epochs"] == EPOCHS]
    return {"accuracy": max(done), "epochs": sum(trial["epochs"] for trial in trials)}


def measure(job):
    rows = []
    for trainers in job.pick((2, 4, 8), (4,)):
        runs = {kind: job.part(f"{kind} {trainers}", lambda k=kind, n=trainers: one_run(job, k, n)) for kind in KINDS}
        tried = runs["asynchronous"]["configurations"]
        rows += [job.part(f"waves {trainers}", lambda n=trainers, t=tried: waves(job, n, t)), *runs.values()]
    slow = job.part("a slow trainer", lambda: one_run(job, "hopping", 4, inject=["slow:rank=1,factor=2"]))
    data = {"rows": [{key: each[key] for key in each if key != "configurations"} for each in rows]}
    data["slow"] = slow["decisions"]
    seeds = range(job.pick(10, 1))
    for procedure in ("random", "median"):
        data[procedure] = [
            job.part(f"real {procedure} {seed}", lambda s=seed, p=procedure: real(job, s, p)) for seed in seeds
        ]
    return data


def of(data, kind, key="seconds"):
    """By trainers."""
    return [row[key] for row in data["rows"] if row["kind"] == kind]


def saved(data, kind, beside="waves"):
    return [1 - one / other for one, other in zip(of(data, kind), of(data, beside), strict=True)]


def claims(data):
    trainers = of(data, "waves", "trainers")
    less = saved(data, "arrival")
    yield claim(
        "Asynchronous trials with early stopping take at least 33 % less time than waves, as published",
        min(less) >= 0.33,
        trainers=trainers,
        saved=less,
    )
    less = saved(data, "asynchronous")
    yield claim("Without early stopping they take less time, too", min(less) > 0, trainers=trainers, saved=less)
    made = sorted({*of(data, "virtual", "decisions"), *of(data, "hopping", "decisions"), data["slow"]})
    yield claim(
        "In virtual time the decisions are the same for any number of trainers, with a trainer of half the speed, and for "
        "task parallelism and model hopping",
        len(made) == 1,
        runs=2 * len(trainers) + 1,
        different=len(made),
    )
    made = of(data, "arrival", "decisions")
    if len(trainers) > 1:  # one is a test, whose 16 trials are all in flight
        yield claim(
            "In order of arrival they are different for each number of trainers", len(set(made)) == len(made), runs=len(made)
        )
        longer = [-part for part in saved(data, "virtual", "arrival")]
        yield claim("Virtual time costs at most 5 % of the time", max(longer) <= 0.05, trainers=trainers, longer=longer)
    lost = [plain["accuracy"] - stopped["accuracy"] for plain, stopped in zip(data["random"], data["median"], strict=True)]
    epochs = [sum(run["epochs"] for run in data[procedure]) for procedure in ("median", "random")]
    yield claim(
        "On real training early stopping loses less than a point of validation accuracy, on the mean of the seeds",
        sum(lost) / len(lost) < 0.01,
        lost=sum(lost) / len(lost),
        worst=max(lost),
        share_of_the_epochs=epochs[0] / epochs[1],
    )


def chart(data):
    return {
        "kind": "bars",
        "title": "Time of 48 trials",
        "x": {"label": "trainers", "categories": [str(trainers) for trainers in of(data, "waves", "trainers")]},
        "y": {"label": "seconds"},
        "series": [{"name": name, "values": of(data, kind)} for kind, name in NAMES.items()],
    }
