# SPDX-License-Identifier: Apache-2.0
"""What may happen to a job: where it runs, when it is struck and with what, and what a user asks of it. A plan is a list of
jobs, each of which goes on with --resume where the one before was stopped."""

import dataclasses
import os
import pathlib
import re
import signal

END = 1000
KILLS = ("kill all", "kill all", "SIGUSR1", "SIGTERM", "SIGUSR1 and kill all")
OF_RANKS = ("kill a rank", "kill the launcher")


@dataclasses.dataclass
class Job:
    """When: this many undisturbed runs after the job has begun to write; below 0: before that; END: as soon as its journal
    says that it has ended."""

    trainers: int
    world: str = "threads"  # or mpirun, shared (rank 0 trains too), recovery (the job survives the loss of a trainer)
    misfortune: str = ""
    when: float = 0
    gap_s: float = 0  # from the signal to the kill
    orders: tuple = ()  # (seconds to wait, arguments of ctl)


def plan_of(draw, group, ordered):
    """Jobs with a misfortune each; a last one without is for whoever runs them."""
    trainers = draw.randint(2, 3)
    count = min(draw.randint(1, 6), draw.randint(1, 3 if ordered else 6))
    jobs = []
    for number in range(count):
        world = draw.choices(("threads", "mpirun", "shared", "recovery"), (6, 2, 2, 0 if group or ordered else 1))[0]
        job = Job(trainers if group else draw.randint(1, 4), world)
        if world in ("shared", "recovery"):
            job.trainers = max(2, job.trainers)
        job.misfortune = (
            "kill a rank" if world == "recovery" else draw.choice(KILLS + (OF_RANKS if world != "threads" else ()))
        )
        job.when = draw.uniform(0, 1.2 / count)
        if world != "recovery":
            job.when = draw.choices((job.when, draw.uniform(-1, 0) if number > 0 else job.when, END), (13, 4, 3))[0]
        job.gap_s = draw.uniform(0, 0.3)
        job.orders = tuple(order_of(draw) for _ in range(draw.randint(0, 3))) if ordered else ()
        jobs.append(job)
    return jobs + [
        Job(
            trainers,
            draw.choice(("threads", "threads", "threads", "mpirun")),
            orders=tuple(order_of(draw) for _ in range(2 * ordered)),
        )
    ]


def order_of(draw):
    trial = str(draw.randrange(6))
    kind = draw.choices(("stop", "resume", "clone", "finish"), (6, 6, 5, 1))[0]
    return draw.uniform(0.05, 0.6), {
        "finish": ("finish",),
        "clone": ("clone", trial, f"train.optimizer.lr={draw.uniform(0.001, 0.01):.4f}"),
    }.get(kind, (kind, trial))


def processes_of(session):
    """All that has come of a job, also ranks whose launcher is gone: pid, rank 0 or another (None: no rank), state and
    command."""
    out = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its = stat.read_text().rpartition(")")[2].split()[:4]
            if int(its) == session:
                rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", (stat.parent / "environ").read_bytes())
                out.append(
                    (
                        int(stat.parent.name),
                        rank and int(rank[1]),
                        state,
                        (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(),
                    )
                )
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return out


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended just now
