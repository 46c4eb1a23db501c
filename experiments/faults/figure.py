"""Epochs of a run that loses two trainers and gets one back.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from job import claim, training

TITLE = "Lost trainers"
MINUTES = 4
ASKS = "What do two lost trainers cost, and does the run end with the same bits?"
HOW = (
    "8 synthetic trials on 8 trainers with 8 shards under mpirun, 6 epochs, 40 batches of 50 ms in a unit. A trainer is "
    "killed (SIGKILL) when the first trial has ended epoch 1, another when the first has ended epoch 2. When the first has "
    "ended epoch 4, the job gets SIGUSR1, and a second job resumes the run on 7 trainers: a job does not take trainers in "
    "while it runs. Trainers that are silent for 3 s are lost, checkpoints are at most 1 s old. The seconds of an epoch are "
    "those between the ends of its last lap and of the last lap of the epoch before. The undisturbed run has 8 threads."
)
PAPER = (
    "Nakandala, Zhang and Kumar (2020), figure 8B, read off the chart: 8 models on 8 workers, each shard on three of them. "
    "An epoch takes 28.2 min; 33.4, 35.6 and 35.9 min while two workers fail and are away; 31.4 min when they are back."
)
PUBLISHED = [28.2, 33.4, 35.6, 35.9, 31.4]
TRAINERS, BATCHES = 8, 40  # small: 4, 2
UNIT_S = 0.05
RUN = {"checkpoint_every_s": 1, "silence_s": 3, "device": "cpu"}


def mpirun():
    """With the option that makes it leave a job alone that has lost a rank."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    old = int(re.search(r"\b(\d+)\.\d+", version)[1]) < 5
    return ["mpirun", "--oversubscribe", "--bind-to", "none", *(["--enable-recovery"] if old else ["--with-ft", "ulfm"])]


def rank_pid(launcher, rank):
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            ours = int(stat.read_text().rpartition(")")[2].split()[1]) == launcher
            if ours and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (stat.parent / "environ").read_bytes().split(b"\0"):
                return int(stat.parent.name)
    raise RuntimeError(f"rank {rank} of mpirun {launcher} has no process")


def journal(folder):
    lines = (folder / "run/journal.jsonl").read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


class Disturbed:
    """A run under way, in jobs."""

    def __init__(self, job):
        self.folder, self.program, self.process = job.folder, str(job.build / "hopscotch"), None
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment = {**os.environ, **root, "OMP_NUM_THREADS": "1"}
        self.marks = []  # what was done, and when

    def start(self, trainers, how):
        command = [*mpirun(), "-np", str(trainers + 1), self.program, "run", "experiment.json", how, "--quiet"]
        out = (self.folder / "out.txt").open("a")
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=out, stderr=out, env=self.environment, start_new_session=True
        )

    def wait_for(self, epoch):
        """Until the first trial has ended this epoch."""
        while not any(line["event"] == "lap_done" and line["epoch"] == epoch for line in self.lines()):
            if self.process.poll() is not None:
                raise RuntimeError(f"the job ended too early: {(self.folder / 'out.txt').read_text()[-2000:]}")
            time.sleep(0.02)

    def lines(self):
        return journal(self.folder) if (self.folder / "run/journal.jsonl").exists() else []

    def kill(self, rank):
        self.marks.append([f"trainer {rank - 1} killed", time.time()])
        os.kill(rank_pid(self.process.pid, rank), signal.SIGKILL)

    def end(self, signal_number=None):
        if signal_number:
            self.marks.append(["one more trainer", time.time()])
            self.process.send_signal(signal_number)
        try:
            self.process.wait(timeout=600)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


def sizes(job):
    """Trainers, which are as many as trials and shards; batches of a unit."""
    return job.pick((TRAINERS, BATCHES), (4, 2))


def experiment(job):
    trainers, batches = sizes(job)
    out = training(job.digits(trainers, rows=trainers * batches * 10 * 5 // 4), trainers, 6, 10)
    out["model"] = {"name": "synthetic", "seconds_per_batch": UNIT_S, "parameters": 100_000}
    return out


def disturbed(job):
    shutil.rmtree(job.folder / "run", ignore_errors=True)
    (job.folder / "experiment.json").write_text(json.dumps({**experiment(job), "run": {**RUN, "dir": "run"}}))
    run, trainers = Disturbed(job), sizes(job)[0]
    run.start(trainers, "--overwrite")
    try:
        run.wait_for(1)
        run.kill(2)
        run.wait_for(2)
        run.kill(job.pick(5, 3))
        run.wait_for(4)
    except BaseException:
        os.killpg(run.process.pid, signal.SIGKILL)
        raise
    run.end(signal.SIGUSR1)
    run.start(trainers - 1, "--resume")
    run.end()
    return outcome(job.folder, run.marks)


def undisturbed(job):
    shutil.rmtree(job.folder / "run", ignore_errors=True)
    (job.folder / "experiment.json").write_text(json.dumps({**experiment(job), "run": {**RUN, "dir": "run"}}))
    job.program("hopscotch", "run", "experiment.json", "--overwrite", "--quiet", "--trainers", sizes(job)[0])
    return outcome(job.folder, [])


def outcome(folder, marks):
    summary = json.loads((folder / "run/summary.json").read_text())
    lines = journal(folder)
    laps = [line for line in lines if line["event"] == "lap_done" and line["outcome"] == "finished"]
    epochs = sorted({lap["epoch"] for lap in laps})
    ends = [max(lap["unix_s"] for lap in laps if lap["epoch"] == epoch) for epoch in epochs]
    begin = next(line["unix_s"] for line in lines if line["event"] == "lap_released")
    return {
        "status": summary["status"],
        "lost": [each["trainer"] for each in summary.get("lost", [])],
        "epochs_s": [end - before for before, end in zip([begin, *ends], ends, strict=False)],
        "marks": [[words, at - begin] for words, at in marks],
        "noticed_s": [line["unix_s"] - begin for line in lines if line["event"] == "trainer_lost"],
        "resumed_s": [line["unix_s"] - begin for line in lines if line["event"] == "run_resumed"],
        "hashes": sorted(f"{lap['trial']} {lap['epoch']} {lap['end_hash']}" for lap in laps),
    }


def measure(job):
    quiet = job.part("undisturbed", lambda: undisturbed(job))
    rough = job.part("disturbed", lambda: disturbed(job))
    rough = {**rough, "same_laps": len({*quiet["hashes"]} & {*rough["hashes"]}), "laps": len(quiet["hashes"])}
    del rough["hashes"]
    unit_s = UNIT_S * sizes(job)[1]
    return {"full": job.size == "full", "unit_s": unit_s, "undisturbed_s": quiet["epochs_s"], "disturbed": rough}


def claims(data):
    rough = data["disturbed"]
    yield claim(
        "The run finishes, with the bits of the undisturbed run after every epoch of every trial",
        rough["status"] == "finished" and rough["same_laps"] == rough["laps"],
        laps=rough["laps"],
        equal=rough["same_laps"],
    )
    pauses = [min(at for at in rough["resumed_s"] if at >= noticed) - noticed for noticed in rough["noticed_s"]]
    silent = [at - killed for (_, killed), at in zip(rough["marks"], rough["noticed_s"], strict=False)]
    yield claim(
        "After a loss the others go on within a second from when it is noticed",
        len(pauses) == 2 and max(pauses) < 1,
        until_noticed_s=silent,
        until_they_go_on_s=pauses,
    )
    if data["full"]:  # else an epoch is shorter than the silence until a loss is noticed
        yield from claims_of_epochs(data["undisturbed_s"], rough["epochs_s"], data["unit_s"])
        used = {"undisturbed": use(data["undisturbed_s"], [], data["unit_s"])}
        used["disturbed"] = use(rough["epochs_s"], [at for _, at in rough["marks"]], data["unit_s"])
        yield claim(
            "Of the seconds of the trainers that live, at least 80 % are units of the result",
            used["disturbed"] >= 0.8,
            **used,
        )


def use(epochs_s, marks, unit_s):
    """Seconds of all units that count, over those of living trainers: eight, seven, six, and seven again."""
    ends = [0, *marks, sum(epochs_s)]
    there = zip((TRAINERS, TRAINERS - 1, TRAINERS - 2, TRAINERS - 1), itertools.pairwise(ends), strict=False)
    return len(epochs_s) * TRAINERS * TRAINERS * unit_s / sum(n * (end - begin) for n, (begin, end) in there)


def claims_of_epochs(quiet, rough, unit_s):
    normal, away, back = rough[0], rough[3], rough[5]
    limit = normal * TRAINERS / (TRAINERS - 2) + unit_s
    yield claim(
        "With two of eight trainers away, an epoch takes at most 8/6 of the time, and a unit",
        away <= limit,
        seconds=away,
        at_most=limit,
        over_normal=away / normal,
        published=PUBLISHED[3] / PUBLISHED[0],
    )
    yield claim(
        "The trainer that comes back makes epochs shorter",
        back < away,
        "Where trainers are fewer than trials, epochs overlap: units of an epoch are trained while other trials still are "
        "in the epoch before. The 64 units of an epoch take six trainers 21.3 s and seven 18.3 s; what an epoch's end shows "
        "is shorter or longer by that overlap.",
        with_six=away,
        with_seven=back,
    )
    yield claim(
        "The epochs with a loss take less than twice the time",
        max(rough[1:4]) < 2 * normal,
        over_normal=[seconds / normal for seconds in rough],
        undisturbed_over_its_first=[seconds / quiet[0] for seconds in quiet],
        published=[each / PUBLISHED[0] for each in PUBLISHED],
    )


def chart(data):
    rough = data["disturbed"]["epochs_s"]
    words = ["", "one lost", "another\nlost", "six", "to seven", "seven"]
    return {
        "kind": "bars",
        "title": "Seconds of an epoch of 8 trials on 8 trainers that lose two and get one back",
        "x": {"label": "epoch", "categories": [f"{i}\n{each}".strip() for i, each in enumerate(words)]},
        "y": {"label": "seconds"},
        "series": [{"name": "undisturbed", "values": data["undisturbed_s"]}, {"name": "disturbed", "values": rough}],
    }
