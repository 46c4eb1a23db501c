"""One slow worker of four under each strategy.

SPDX-License-Identifier: Apache-2.0
"""

import itertools
import json
import statistics

from job import claim, training

TITLE = "One slow worker"
MINUTES = 7
ASKS = "How much does one worker of half the speed slow the others, and the run?"
HOW = (
    "8 synthetic trials on 4 workers (threads) with 8 shards, 10 ms a batch, 20 batches a shard, 3 epochs; then the same "
    "with `run.inject` `slow:rank=2,factor=2`. `the others`: the median seconds of a unit on the three other workers. If "
    "all workers train a trial together, these are the seconds from the start of a unit to the start of the same worker's "
    "next unit in the same epoch, so that waits in steps count. `the run`: makespans. Both are ratios to the run without a "
    "slow worker. Servers are on the workers. Models have 1000 numbers, so that the network plays no part. Median of three "
    "runs, by makespan."
)
PAPER = (
    "Cloudera's guide to distributed training: with an asynchronous parameter server a slow worker slows no other; "
    "synchronous training is right if all workers are alike."
)
SERVER = {"name": "parameter_server", "batch": "per_worker"}
KINDS = {
    "allreduce": {"name": "allreduce", "batch": "per_worker"},
    "server,\nsync": {**SERVER, "mode": "sync"},
    "server,\nssp": {**SERVER, "mode": "ssp"},
    "server,\nasync": {**SERVER, "mode": "async"},
    "mop,\nequal shares": {"name": "mop", "owners": "equal"},
    "mop": {"name": "mop"},
    "task_parallel": {"name": "task_parallel"},
}
WORKERS, SLOW = 4, 1  # the slow trainer; its rank is one higher
LEAST = WORKERS / (WORKERS - 0.5)  # makespan over the even one if nobody waits


def unit_s(trace, together):
    """Of the other workers. A unit's own seconds leave out how long its steps wait for other workers."""
    units = sorted((each for each in trace if each["tid"] != SLOW), key=lambda each: (each["tid"], each["ts"]))
    if not together:
        return statistics.median(each["dur"] for each in units) / 1e6

    def lap(each):
        return each["tid"], each["args"]["trial"], each["args"]["epoch"]

    return statistics.median(b["ts"] - a["ts"] for a, b in itertools.pairwise(units) if lap(a) == lap(b)) / 1e6


def one_run(job, kind, slow):
    """Seconds of the run, and of a unit of the other trainers."""
    experiment = training(job.digits(8, rows=job.pick(6400, 3200)), job.pick(8, 2), job.pick(3, 1), 32)
    experiment["model"] = {"name": "synthetic", "seconds_per_batch": 0.01}
    experiment["strategy"] = KINDS[kind]
    experiment["run"] = {"inject": [f"slow:rank={SLOW + 1},factor=2"]} if slow else {}
    together = experiment["strategy"]["name"] in ("allreduce", "parameter_server")

    def read(run):
        trace = [each for each in json.loads((run / "trace.json").read_text()) if each.get("cat") == "unit"]
        return json.loads((run / "summary.json").read_text())["makespan_s"], unit_s(trace, together)

    runs = [job.run(experiment, WORKERS, read=read) for _ in range(job.pick(3, 1))]
    return sorted(runs)[len(runs) // 2]


def measure(job):
    out = []
    for kind in KINDS:
        even = job.part(f"{kind} even", lambda k=kind: one_run(job, k, False))
        slow = job.part(f"{kind} slow", lambda k=kind: one_run(job, k, True))
        out.append({"kind": kind, "even": even, "slow": slow})
    return {"full": job.size == "full", "rows": out}


def claims(data):
    rows = data["rows"]
    run, others = ({row["kind"]: row["slow"][i] / row["even"][i] for row in rows} for i in (0, 1))
    together = {kind: others[kind] for kind in ("allreduce", "server,\nsync")}
    yield claim(
        "Synchronous: every other worker becomes 1.7 to 2.1 times as slow",
        all(1.7 <= value <= 2.1 for value in together.values()),
        the_others=list(together.values()),
    )
    yield claim(
        "Asynchronous: no other worker becomes slower, within 10 %",
        others["server,\nasync"] <= 1.1,
        the_others=others["server,\nasync"],
    )
    yield claim(
        "Asynchronous: the run does not become slower, within 10 %",
        run["server,\nasync"] <= 1.1,
        "The rows stay with the worker that has them, so the epoch ends when the slow worker has trained on its rows. The "
        "published advantage is of updates in a second, and of epochs only where rows go to the worker that is free.",
        the_run=run["server,\nasync"],
    )
    yield claim(
        "Hopping: no other trainer becomes slower, within 10 %",
        max(others["mop"], others["mop,\nequal shares"]) <= 1.1,
        the_others=[others["mop"], others["mop,\nequal shares"]],
    )
    if data["full"]:  # shards move when laps have told the speed
        yield claim(
            "Hopping with shards by speed loses less than a third of the time that equal shards lose",
            run["mop"] - 1 < (run["mop,\nequal shares"] - 1) / 3,
            by_speed=run["mop"],
            equal=run["mop,\nequal shares"],
            least=LEAST,
        )


def chart(data):
    rows = data["rows"]
    return {
        "kind": "bars",
        "title": "Seconds with one worker of half the speed, over seconds without",
        "x": {"label": "strategy", "categories": [row["kind"] for row in rows]},
        "y": {"label": "ratio"},
        "series": [
            {"name": "the others", "values": [row["slow"][1] / row["even"][1] for row in rows]},
            {"name": "the run", "values": [row["slow"][0] / row["even"][0] for row in rows]},
        ],
    }
