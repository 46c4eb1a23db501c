"""Seconds of a synchronous step: a ring against parameter servers, by workers and servers.

SPDX-License-Identifier: Apache-2.0
"""

from job import claim, training
from links import BYTES_PER_S, Links
from links import NEEDS as NEEDS

USES = ("links.py",)
TITLE = "Ring and parameter server"
MINUTES = 9
ASKS = "When is a ring faster than a parameter server, and how many servers does one need?"
HOW = (
    "One synthetic trial of 1 MB on 1 to 8 workers: a step takes 20 ms and a synchronisation, 40 steps. Every worker and "
    "every dedicated server is a host with a link of 100 Mbit/s (a network namespace of this machine). Servers are on hosts "
    "of their own, except `a server on each worker`. W is the size of the model, K the number of workers."
)
PAPER = (
    "Cloudera's guide to distributed training (after Uber and MXNet): all-reduce beats parameter servers on 8 to 64 nodes, "
    "even with as many servers as workers; too few servers are a hot spot; the time of a ring depends on the size of the "
    "model, not on the number of nodes. BytePS (Jiang et al., OSDI 2020): with as many server machines as workers, besides "
    "the workers, servers need less time than a ring."
)
WEIGHTS, STEP_S, STEPS = 1_000_000, 0.02, 20
WIRE_S = WEIGHTS / BYTES_PER_S
RING = {"name": "allreduce", "batch": "per_worker", "first_bucket_mb": 0.125, "bucket_mb": 0.125}
SERVER = {"name": "parameter_server", "mode": "sync", "batch": "per_worker", "part_mb": 0.125}


def strategy(kind, workers):
    """And the number of servers besides the workers."""
    if kind == "ring":
        return RING, 0
    if kind == "a server on each worker":
        return {**SERVER, "placement": "colocated"}, 0
    servers = workers if kind == "as many servers" else int(kind.split()[0])
    return {**SERVER, "placement": "dedicated", "servers": servers}, servers


def one_run(job, links, kind, workers):
    chosen, servers = strategy(kind, workers)
    steps, epochs = job.pick((STEPS, 2), (4, 1))
    experiment = training(job.digits(workers, rows=workers * steps * 16 * 5 // 4), 1, epochs, 16)
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": STEP_S, "parameters": WEIGHTS // 4}
    experiment["strategy"] = chosen
    summary = links.run(experiment, workers + servers)
    count = steps * epochs
    return {"step_s": summary["makespan_s"] / count, "steps": count, "gradient_bytes": summary["bytes"]["gradient"]}


def wanted(job):
    counts = job.pick((1, 2, 4, 6, 8), (1, 4))
    cases = [(kind, workers) for kind in ("ring", "a server on each worker", "as many servers") for workers in counts]
    return cases + [
        (f"{servers} server{'s' if servers > 1 else ''}", k)
        for servers in job.pick((1, 2, 4), (1,))
        for k in counts
        if k >= servers
    ]


def measure(job):
    with Links(job, 17) as links:
        rows = [
            {"kind": kind, "workers": workers}
            | job.part(f"{kind} {workers}", lambda k=kind, w=workers: one_run(job, links, k, w))
            for kind, workers in wanted(job)
        ]
    return {"full": job.size == "full", "rows": rows}


def claims(data):
    by = {(row["kind"], row["workers"]): row for row in data["rows"]}
    if data["full"]:  # else there are no links
        yield from claims_of_times(by)
    off = [f"{kind} on {workers}" for (kind, workers), row in by.items() if row["gradient_bytes"] != formula(kind, row)]
    yield claim("Measured bytes equal the formulas, to the byte", not off, **({"off": off} if off else {}))


def claims_of_times(by):
    counts = sorted({workers for _, workers in by if workers > 1})

    def exchange(kind, workers):
        return by[kind, workers]["step_s"] - STEP_S

    rivals = [
        by[kind, workers]["step_s"] / by["ring", workers]["step_s"]
        for kind, workers in by
        if workers > 1 and kind != "ring" and strategy(kind, workers)[1] < workers
    ]
    yield claim(
        "A ring is at least as fast as servers on the workers' hosts, and as fewer servers than workers, within 10 %",
        min(rivals) >= 1 / 1.1,
        least_over_ring=min(rivals),
        most_over_ring=max(rivals),
    )
    more = [by["as many servers", workers]["step_s"] / by["ring", workers]["step_s"] for workers in counts]
    yield claim(
        "A ring is faster than as many servers as workers, on hosts of their own",
        min(more) >= 1,
        "It was not the ring of the published comparison that had to lose: servers on hosts of their own double the number "
        "of hosts, and a worker then sends and receives W bytes at the same time, where a ring moves 2(K-1)/K W. This is "
        "BytePS's argument. On equal hosts (the claim before) the ring does not lose.",
        servers_over_ring=more,
    )
    growth = [exchange("1 server", workers) / exchange("1 server", 1) for workers in counts]
    yield claim(
        "One server is a hot spot: its exchange takes K times as long for K workers as for one, within 25 %",
        all(abs(value / workers - 1) <= 0.25 for value, workers in zip(growth, counts, strict=True)),
        **{f"on {workers}": value for value, workers in zip(growth, counts, strict=True)},
    )
    ring = {k: exchange("ring", k) / (2 * (k - 1) / k * WIRE_S) for k in counts}
    yield claim(
        "A ring's exchange takes 2(K-1)/K W/B, whatever the number of workers, within 25 %",
        all(abs(value - 1) <= 0.25 for value in ring.values()),
        "Only a part of it: an exchange that begins during the backward pass is hidden by it, and messages have latencies.",
        **{f"on {workers}": value for workers, value in ring.items()},
    )


def formula(kind, row):
    workers = row["workers"]
    dedicated = strategy(kind, workers)[1] > 0
    return 2 * (workers if dedicated else workers - 1) * WEIGHTS * row["steps"]


def chart(data):
    kinds = list(dict.fromkeys(row["kind"] for row in data["rows"]))
    return {
        "kind": "lines",
        "title": "A synchronous step of a model of 1 MB, links of 100 Mbit/s",
        "x": {"label": "workers", "low": 0, "ticks": [0, 2, 4, 6, 8]},
        "y": {"label": "seconds", "low": 0},
        "series": [
            {"name": kind, "points": [[row["workers"], row["step_s"]] for row in data["rows"] if row["kind"] == kind]}
            for kind in kinds
        ],
    }
