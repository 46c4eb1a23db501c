# SPDX-License-Identifier: Apache-2.0
"""One long job with everything at once: soak.py [SECONDS [SEED]]. A search that decides on the way, on six trainers by
mpirun. Every few seconds something happens: an order of a user, a trainer that stands still or dies, a state that is damaged
on its hop, a clock that steps, a disk that is full for a moment. At the end the run must finish by itself, obey the orders
that it has acknowledged, leave nothing behind, and replay to the same bits; and no process may have grown since the first
sixth of the time, but for what rank 0 keeps of each new trial. Prints the counts; ends with 1 if anything is wrong."""

import collections
import json
import mmap
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from harness import BINARY, MPIRUN, RECOVERY, SOURCE, end_of_job, without_launcher
from limits import RUN_LIMIT_S
from losses import rank_pid
from random_outcome import leftovers, lines_of, lost_order

TRAINERS = 6
MOST_LOST = 2
REPLAYED = 12  # trials
GROWTH = 1.03  # of resident memory, from the first sixth of the time to the end
A_TRIAL_KB = 3  # besides, what rank 0 keeps of each trial that begins: it must know them all
FLIPS = ",".join(f"hop.send:{nth}:flip:{rank}" for nth, rank in ((200, 1), (2000, 3)))
DOCUMENT = {
    "name": "soak",
    "seed": 7,
    "data": {"path": "digits"},
    "model": {"name": "mlp", "hidden": [256, 256], "dropout": 0.1},
    "train": {"epochs": 27, "batch_size": 4, "optimizer": {"name": "adam", "lr": 0.01}},
    "search": {"procedure": "asha", "trials": 100000, "metric": "val_loss", "mode": "min", "in_flight": 24},
    "space": {
        "train.optimizer.lr": {"type": "float", "low": 0.0003, "high": 0.03, "log": True},
        "model.dropout": {"type": "float", "low": 0, "high": 0.5},
    },
    "run": {"dir": "out", "device": "cpu", "checkpoint_every_s": 2, "silence_s": 8, "state_memory": "16MB"},
}


class Soak:
    def __init__(self, folder, seconds, seed):
        self.folder, self.seconds, self.draw = folder, seconds, random.Random(f"soak {seed}")
        self.counts = collections.Counter()
        self.memory = collections.defaultdict(list)  # by rank: (seconds, kB, trials so far)
        self.acknowledged, self.lost = [], []
        self.shim = self.make_shim()

    def make_shim(self):
        subprocess.run(
            ["cc", "-O1", "-shared", "-fPIC", "-o", self.folder / "shim.so", pathlib.Path(__file__).parent / "soak_shim.c"],
            check=True,
        )
        (self.folder / "shim").write_bytes(bytes(16))
        with open(self.folder / "shim", "r+b") as file:
            return mmap.mmap(file.fileno(), 16)

    def start(self):
        (self.folder / "e.json").write_text(json.dumps(DOCUMENT))
        preloaded = ["env", f"LD_PRELOAD={self.folder}/shim.so", f"SOAK_SHIM={self.folder}/shim", f"HOPSCOTCH_FAULT={FLIPS}"]
        command = [*MPIRUN, *RECOVERY, "-np", str(TRAINERS + 1), *preloaded, BINARY, "run", "e.json", "--quiet"]
        with open(self.folder / "said", "w") as said:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
        while not (self.folder / "out/journal.jsonl").exists():
            if self.process.poll() is not None:
                raise AssertionError(f"the job does not start: {self.said()}")
            time.sleep(0.1)
        self.pids = {rank: rank_pid(self.process.pid, rank) for rank in range(TRAINERS + 1)}

    def said(self):
        return "\n".join(without_launcher((self.folder / "said").read_text()))[-3000:]

    def run(self):
        self.start()
        began = time.monotonic()
        happenings = (self.order, self.order, self.order, self.stand_still, self.kill, self.step_clock, self.fill_disk)
        while (passed := time.monotonic() - began) < self.seconds:
            if self.process.poll() is not None:
                raise AssertionError(f"the job has ended with {self.process.returncode} after {passed:.0f} s: {self.said()}")
            self.look(passed)
            self.draw.choice(happenings)(passed)
            time.sleep(self.draw.uniform(1, 4))
        self.shim[:] = bytes(16)
        self.ctl("finish")
        end_of_job(self.process, timeout=RUN_LIMIT_S)

    def look(self, passed):
        trials = len({line["trial"] for line in self.released()})
        for rank, pid in self.pids.items():
            if rank in self.lost:
                continue
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            self.memory[rank].append((passed, int(status.partition("VmRSS:")[2].split()[0]), trials))

    def ctl(self, *arguments):
        done = subprocess.run([BINARY, "ctl", "out", *arguments], cwd=self.folder, capture_output=True, text=True)
        self.counts["orders"] += 1
        if done.returncode == 0:
            self.acknowledged.append(list(arguments))

    def order(self, passed):
        trial = str(self.draw.randrange(max(1, len({line["trial"] for line in self.released()}))))
        kind = self.draw.choice(("stop", "resume", "clone"))
        self.ctl(kind, trial, *([f"train.optimizer.lr={self.draw.uniform(0.001, 0.02):.4f}"] if kind == "clone" else []))

    def released(self):
        return [line for line in lines_of(self.folder / "out/journal.jsonl") if line["event"] == "lap_released"]

    def trainer(self):
        return self.draw.choice([rank for rank in range(1, TRAINERS + 1) if rank not in self.lost])

    def stand_still(self, passed):
        pid = self.pids[self.trainer()]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.draw.uniform(0.2, 3))
        os.kill(pid, signal.SIGCONT)
        self.counts["standstills"] += 1

    def kill(self, passed):
        if len(self.lost) == MOST_LOST or passed < (1 + len(self.lost)) * self.seconds / 20 or passed > self.seconds / 6:
            return  # all before the memory is measured: heirs load the shards
        rank = self.trainer()
        os.kill(self.pids[rank], signal.SIGKILL)
        self.lost.append(rank)
        self.counts["kills"] += 1

    def step_clock(self, passed):
        self.shim[:8] = struct.pack("<q", self.draw.choice((-3600, -5, 0, 5, 3600)))
        self.counts["clock steps"] += 1

    def fill_disk(self, passed):
        self.shim[8:] = struct.pack("<q", 1)
        time.sleep(1)
        self.shim[8:] = struct.pack("<q", 0)
        self.counts["full disks"] += 1

    def verdicts(self):
        """What is wrong, in words."""
        if self.process.returncode != 0:
            yield f"the job ended with {self.process.returncode}: {self.said()}"
            return
        out = self.folder / "out"
        if order := lost_order(out, self.acknowledged):
            yield order
        if left := leftovers(out):
            yield f"left behind: {', '.join(left[:5])}"
        lines = lines_of(out / "journal.jsonl")
        self.counts["laps"] = sum(line["event"] == "lap_done" for line in lines)
        self.counts["trials"] = len({line["trial"] for line in lines if line["event"] == "lap_done"})
        self.counts["damages"] = (self.folder / "said").read_text().count("damaged")
        trained = sorted({line["trial"] for line in lines if line["event"] == "lap_done" and line["outcome"] == "finished"})
        for trial in self.draw.sample(trained, min(REPLAYED, len(trained))):
            replayed = subprocess.run(
                [BINARY, "replay", "out", "--trial", str(trial)], cwd=self.folder, capture_output=True, text=True
            )
            self.counts["replayed"] += 1
            if replayed.returncode != 0:
                yield f"trial {trial} has other bits: {replayed.stdout}{replayed.stderr}"
        yield from self.growth()

    def growth(self):
        early, late = (self.seconds / 6, self.seconds / 3), (self.seconds * 5 / 6, self.seconds)
        for rank, looks in sorted(self.memory.items()):
            if rank in self.lost:
                continue
            before, after = (self.median(looks, *span, 1) for span in (early, late))
            trials = self.median(looks, *late, 2) - self.median(looks, *early, 2)
            kept = A_TRIAL_KB * trials if rank == 0 else 0
            sizes = f"{before / 1000:.1f} MB, at the end {after / 1000:.1f} MB ({after / before - 1:+.1%}"
            print(f"soak: rank {rank}: {sizes}; {trials:.0f} trials began)")
            if after > GROWTH * before + kept:
                yield f"rank {rank} grew by {after / before - 1:.1%}"

    def median(self, looks, first, last, column):
        return statistics.median(look[column] for look in looks if first <= look[0] < last)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
    with tempfile.TemporaryDirectory(prefix="hopscotch-soak-") as place:
        folder = pathlib.Path(place)
        options = ["--shards", "12", "--valid", "0.2", "--shape", "1x8x8", "--label", "label"]
        importing = [BINARY, "data", "import", "csv", str(SOURCE / "data/digits.csv"), "--out", str(folder / "digits")]
        subprocess.run([*importing, *options], check=True, capture_output=True)
        soak = Soak(folder, seconds, sys.argv[2] if len(sys.argv) > 2 else "0")
        try:
            soak.run()
            wrong = list(soak.verdicts())
        finally:
            if soak.process.poll() is None:
                os.killpg(soak.process.pid, signal.SIGKILL)
                soak.process.wait()
        counted = ", ".join(f"{count} {name}" for name, count in sorted(soak.counts.items()))
        print(f"soak: {seconds:.0f} s: {counted}, {len(soak.acknowledged)} acknowledged, {len(wrong)} wrong")
        for problem in wrong:
            print(f"soak: {problem}")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
