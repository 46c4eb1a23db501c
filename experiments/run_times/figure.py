"""Seconds and bytes of an epoch under each strategy, against the batch size, over slow links.

SPDX-License-Identifier: Apache-2.0
"""

from job import claim, training
from links import NEEDS as NEEDS
from links import Links

USES = ("links.py",)
TITLE = "Run times"
MINUTES = 15
ASKS = "How long does an epoch of 16 trials take under each strategy, and how does the batch size change that?"
HOW = (
    "16 synthetic trials on 8 trainers with 8 shards of 512 rows, 2 epochs, the batch is that of a trainer. An eighth of "
    "the published times of ResNet50 (63.6 ms a step and 1.73 ms a row; figure 9, at 32 and 256): a step takes 7.95 ms and "
    "0.216 ms a row. Every trainer is a host with a link of 100 Mbit/s (a network namespace of this machine). The model "
    "has 175 kB of weights, so that they take an eighth of the time of 98 MB over 7 of 10 Gbit/s. Buckets of the all-reduce "
    "are as many as of 98 MB by default. The parameter server is one host, as in the paper's table. Median of "
    "three runs; one run of a server."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), figure 7, an epoch of 16 models on 8 workers: asynchronous parameter server "
    "19.00 h, Horovod 5.42, model averaging 1.97, Celery (task parallel) 1.72, Cerebro 1.77. Figure 9, 8 ResNets, read off "
    "the chart: Horovod takes 2.2, 1.4, 1.3, 1.0 and 1.0 times as long as Cerebro for batches of 32, 64, 128, 256 and 512."
)
TRAINERS, EPOCHS = 8, 2
WEIGHTS = 175_000
BATCHES = (32, 64, 128, 256, 512)
PUBLISHED = (27 / 12.4, 14.7 / 10.7, 9.2 / 7.2, 6.8 / 6.6, 1.0)  # Horovod over Cerebro
SCALE = WEIGHTS / 98e6
SERVER = {"name": "parameter_server", "placement": "dedicated", "servers": 1, "batch": "per_worker"}
KINDS = {
    "mop": {"name": "mop", "owners": "equal"},
    "task_parallel": {"name": "task_parallel"},
    "model_averaging": {"name": "model_averaging"},
    "allreduce": {"name": "allreduce", "batch": "per_worker", "first_bucket_mb": SCALE, "bucket_mb": 25 * SCALE},
    "server, sync": {**SERVER, "mode": "sync"},
    "server, async": {**SERVER, "mode": "async"},
}


def one_run(job, links, kind, batch):
    trainers, epochs, weights = job.pick((TRAINERS, EPOCHS, WEIGHTS), (TRAINERS // 2, 1, WEIGHTS // 4))
    experiment = training(job.digits(trainers, rows=job.pick(5120, 640)), 2 * trainers, epochs, batch)
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": 0.0636 / 8, "seconds_per_row": 0.00173 / 8}
    experiment["model"]["parameters"] = weights // 4
    experiment["strategy"] = KINDS[kind]
    runs = [
        links.run(experiment, trainers + KINDS[kind].get("servers", 0))
        for _ in range(1 if kind.startswith("server") else job.pick(3, 1))
    ]
    summary = sorted(runs, key=lambda each: each["makespan_s"])[len(runs) // 2]
    sent = summary["bytes"]
    return {"seconds": summary["makespan_s"] / epochs, "bytes": (sent["state"] + sent["gradient"] + sent["data"]) / epochs}


def measure(job):
    batches = job.pick(BATCHES, (16, 64))
    with Links(job, TRAINERS + 2) as links:
        rows = [
            {"kind": kind, "batch": batch} | job.part(f"{kind} {batch}", lambda k=kind, b=batch: one_run(job, links, k, b))
            for kind in KINDS
            for batch in batches
        ]
    return {"full": job.size == "full", "rows": rows}


def claims(data):
    by = {(row["kind"], row["batch"]): row for row in data["rows"]}
    batches = sorted({row["batch"] for row in data["rows"]})
    if data["full"]:  # else there are no links
        yield from claims_of_times(by, batches)
    sent = {kind: [by[kind, b]["bytes"] for b in batches] for kind in KINDS}
    yield claim(
        "Hopping sends as many bytes for every batch size, all-reduce and servers send fewer for larger batches",
        len({*sent["mop"]}) == 1
        and all(sorted(sent[kind], reverse=True) == sent[kind] for kind in ("allreduce", "server, sync", "server, async")),
        **{f"{kind}, MB": [value / 1e6 for value in values] for kind, values in sent.items()},
    )


def claims_of_times(by, batches):
    small = batches[0]
    over = {kind: [by[kind, b]["seconds"] / by["mop", b]["seconds"] for b in batches] for kind in KINDS}
    yield claim(
        f"At a batch of {small}, all-reduce takes longer than averaging, and either server longer than all-reduce",
        over["model_averaging"][0] < over["allreduce"][0] < min(over["server, sync"][0], over["server, async"][0]),
        **{f"{kind} over mop": values[0] for kind, values in over.items() if kind != "mop"},
    )
    yield claim(
        "Hopping is the fastest of the strategies that hold one copy of the data, at every batch size",
        all(min(values) > 1 for kind, values in over.items() if kind not in ("mop", "task_parallel")),
        next_over_mop=[
            min(over[kind][i] for kind in over if kind not in ("mop", "task_parallel")) for i in range(len(batches))
        ],
    )
    yield claim(
        "Hopping takes at most 10 % longer than task parallelism, which holds 8 copies of the data",
        all(1 / ratio <= 1.1 for ratio in over["task_parallel"]),
        mop_over_task_parallel=[1 / ratio for ratio in over["task_parallel"]],
    )
    ratio = over["allreduce"]
    yield claim(
        "All-reduce comes nearer to hopping with every larger batch",
        all(after < before for before, after in zip(ratio, ratio[1:], strict=False)),
        allreduce_over_mop=ratio,
        published=list(PUBLISHED),
    )
    yield claim(
        "All-reduce over hopping is as published within 25 %, from a batch of 32 to one of 512",
        all(abs(value / paper - 1) <= 0.25 for value, paper in zip(ratio, PUBLISHED, strict=True)),
        ours_over_published=[value / paper for value, paper in zip(ratio, PUBLISHED, strict=True)],
    )


def chart(data):
    return {
        "kind": "lines",
        "title": "Seconds of an epoch of 16 trials on 8 trainers, links of 100 Mbit/s",
        "x": {"label": "batch of a trainer", "log": True, "ticks": sorted({row["batch"] for row in data["rows"]})},
        "y": {"label": "seconds", "log": True},
        "series": [
            {"name": kind, "points": [[row["batch"], row["seconds"]] for row in data["rows"] if row["kind"] == kind]}
            for kind in KINDS
        ],
    }
