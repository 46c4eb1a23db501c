"""Bytes on the network: measured counters beside the closed formulas.

SPDX-License-Identifier: Apache-2.0
"""

from job import claim, training

TITLE = "Bytes on the network"
MINUTES = 1
ASKS = "Do measured bytes equal the formulas, and does model hopping send the least?"
HOW = (
    "Runs of an MLP (64-64-10) on the digits, one shard for each trainer, 8 trials, 2 epochs, batches of 32 rows of "
    "all trainers together. Every byte between ranks is counted where it is sent (`bytes` in `summary.json`), and "
    "the formulas are computed in Python from rows, parameters and trainers. Orders and reports (`control`) are no "
    "part of the formulas. Only the best model goes to rank 0, so the last term of a formula has m once, not once "
    "for each trial."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), table 2, with k epochs, m bytes of a model, p workers, S configurations, D "
    "bytes of data and n steps: hopping kmpS + mS; task parallelism pD + mS, or kSD + mS with remote reads; model "
    "averaging 2kmpS; a parameter server 2kmpSn; all-reduce 2km(p-1)Sn. Hopscotch differs where nothing has to be "
    "sent: a worker's own shard (p-1 in the place of p), its own share of the mean (likewise), and rows of its own "
    "shard in remote reads."
)
TRIALS, EPOCHS, BATCH = 8, 2, 32
TENSORS = [4 * 64 * 64, 4 * 64, 4 * 64 * 10, 4 * 10]  # bytes of the MLP's parameters
WEIGHTS = sum(TENSORS)
STATE = sum(-(-size // 64) * 64 for size in TENSORS) + 128  # as it hops: tensors at multiples of 64 bytes, and two counters
ROWS, ROW = 1280, 64 + 8  # training rows of the first 1600 digits; a row is 64 pixels and a label
KINDS = {
    "mop": {"name": "mop"},
    "task_parallel": {"name": "task_parallel"},
    "remote reads": {"name": "task_parallel", "data": "remote"},
    "model_averaging": {"name": "model_averaging"},
    "allreduce": {"name": "allreduce"},
    "server": {"name": "parameter_server", "placement": "dedicated", "servers": 1},
}


def formula(kind, p):
    steps = EPOCHS * TRIALS * ROWS // BATCH
    return {
        "mop": EPOCHS * TRIALS * p * STATE,
        "task_parallel": (p - 1) * ROW * ROWS,
        "remote reads": EPOCHS * TRIALS * ROW * (ROWS - ROWS // p),
        "model_averaging": 2 * EPOCHS * TRIALS * (p - 1) * WEIGHTS,
        "allreduce": 2 * (p - 1) * WEIGHTS * steps,
        "server": 2 * p * WEIGHTS * steps,
    }[kind] + STATE


def one_run(job, kind, workers):
    experiment = training(job.digits(workers, rows=1600), TRIALS, EPOCHS, BATCH)
    experiment["strategy"] = KINDS[kind]
    summary = job.run(experiment, workers + KINDS[kind].get("servers", 0))
    sent = summary["bytes"]
    counted = sent["state"] + sent["gradient"] + sent["data"]
    return {"sent": counted, "control": sent["control"], "formula": formula(kind, workers)}


def measure(job):
    return [
        {"kind": kind, "workers": workers, **job.part(f"{kind} {workers}", lambda k=kind, w=workers: one_run(job, k, w))}
        for kind in KINDS
        for workers in job.pick((2, 4, 8), (2,))
    ]


def table_2(example):
    """Terabytes of the paper's example, from its formulas: 20 epochs, 20 models of 1 GB, 10 workers, 1 TB, 100,000 steps."""
    k, m, p, models, data, steps = 20, 0.001, 10, 20, 1, 100_000
    return {
        "hopping": k * m * p * models + m * models,
        "task parallelism": p * data + m * models,
        "remote reads": k * models * data + m * models,
        "averaging": 2 * k * m * p * models,
        "server": 2 * k * m * p * models * (steps // p),
        "all-reduce": 2 * k * m * (p - 1) * models * (steps // p),
    }[example]


def claims(rows):
    off = [
        f"{row['kind']} on {row['workers']}: {row['sent']} and {row['formula']}"
        for row in rows
        if row["sent"] != row["formula"]
    ]
    yield claim(
        "Measured bytes equal the formulas in every run, to the byte",
        not off,
        runs=len(rows),
        **({"off": off} if off else {}),
    )
    by = {(row["kind"], row["workers"]): row["sent"] for row in rows}
    counts = sorted({row["workers"] for row in rows})
    yield claim(
        "Synchronising each step sends more than ten times what hopping sends",
        all(min(by["allreduce", p], by["server", p]) > 10 * by["mop", p] for p in counts),
        allreduce_over_mop=[by["allreduce", p] / by["mop", p] for p in counts],
        server_over_mop=[by["server", p] / by["mop", p] for p in counts],
    )
    yield claim(
        "Task parallelism that reads rows remotely sends more than one that copies all data once",
        all(by["remote reads", p] > by["task_parallel", p] for p in counts),
    )
    yield claim(
        "Hopping sends less than model averaging",
        all(by["mop", p] < by["model_averaging", p] for p in counts),
        averaging_over_mop=[by["model_averaging", p] / by["mop", p] for p in counts],
        why="Only on 2 workers: a mean of two sends as much as a hop, and a state that hops has counters as well. From 4 "
        "workers on hopping sends less. The paper's 2 comes near as p grows, because a ring sends 2(p-1).",
    )
    printed = {
        "hopping": 4,
        "task parallelism": 10,
        "remote reads": 400,
        "averaging": 8,
        "server": 80_000,
        "all-reduce": 72_000,
    }
    yield claim(
        "The formulas give the example of the paper's table",
        all(abs(table_2(name) / terabytes - 1) < 0.01 for name, terabytes in printed.items()),
        terabytes=[table_2(name) for name in printed],
    )


def chart(rows):
    return {
        "kind": "lines",
        "title": "Bytes sent in 2 epochs of 8 trials",
        "x": {"label": "workers", "ticks": sorted({0, *(row["workers"] for row in rows)})},
        "y": {"label": "bytes", "log": True},
        "series": [
            {"name": kind, "points": [[row["workers"], row["sent"]] for row in rows if row["kind"] == kind]}
            for kind in KINDS
        ],
    }
