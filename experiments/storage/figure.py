"""Training rows that all trainers together hold.

SPDX-License-Identifier: Apache-2.0
"""

from job import claim, training

TITLE = "Storage"
MINUTES = 1
ASKS = "How many copies of the data does each strategy hold?"
HOW = (
    "Runs of an MLP on 1280 rows of the digits, one shard for each trainer, 8 trials, one epoch. The bytes are "
    "`storage_bytes` of `summary.json`: rows with their labels that trainers own or have fetched."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), figure 7: with 8 workers Celery stored 2000 GB of ImageNet and 3200 GB of "
    "Criteo, all other systems 250 and 400 GB: eight times as much."
)
KINDS = {
    "mop": {"name": "mop"},
    "task_parallel": {"name": "task_parallel"},
    "remote reads": {"name": "task_parallel", "data": "remote"},
    "model_averaging": {"name": "model_averaging"},
    "allreduce": {"name": "allreduce"},
}
DATA = 1280 * (64 + 8)  # rows of 64 pixels and a label


def one_run(job, kind, workers):
    experiment = training(job.digits(workers, rows=1600), 8, 1, 32)
    experiment["strategy"] = KINDS[kind]
    return {"kind": kind, "workers": workers, "bytes": job.run(experiment, workers)["storage_bytes"]}


def measure(job):
    return [
        job.part(f"{kind} {workers}", lambda k=kind, w=workers: one_run(job, k, w))
        for kind in KINDS
        for workers in job.pick((2, 4, 8), (2,))
    ]


def claims(rows):
    one = [row["bytes"] for row in rows if row["kind"] != "task_parallel"]
    yield claim(
        "Model hopping and every other strategy that shards hold one copy, to the byte", {*one} == {DATA}, bytes=DATA
    )
    copies = {row["workers"]: row["bytes"] / DATA for row in rows if row["kind"] == "task_parallel"}
    yield claim(
        "Task parallelism holds a copy for each trainer, to the byte",
        all(count == workers for workers, count in copies.items()),
        copies=list(copies.values()),
    )


def chart(rows):
    counts = sorted({row["workers"] for row in rows})
    return {
        "kind": "bars",
        "title": "Training data that all trainers together hold",
        "x": {"label": "trainers", "categories": [str(count) for count in counts]},
        "y": {"label": "kilobytes"},
        "series": [{"name": kind, "values": [row["bytes"] / 1000 for row in rows if row["kind"] == kind]} for kind in KINDS],
    }
