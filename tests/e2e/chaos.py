# SPDX-License-Identifier: Apache-2.0
"""Rounds of misfortune. In each a run is hit again and again at random instants (a rank, all of them or the launcher killed,
the disk full, a signal, delays at units and messages) and resumed on another number of trainers until it finishes. In the
end its states, metrics, decisions and best model must be those of the same run undisturbed. chaos_test.py does two rounds,
scripts/chaos.sh as many as you like."""

import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from harness import BINARY, MPIRUN, SOURCE, children, end_of_job, experiment, strict_json
from units import with_units

ADAM = {"epochs": 10, "batch_size": 8, "optimizer": {"name": "adam", "lr": 0.01}}
SEARCHED = {
    "model": {"name": "mlp", "hidden": [32], "dropout": 0.1},
    "train": {**ADAM, "epochs": 9, "batch_size": 16},
    "space": {
        "train.optimizer.lr": {"type": "float", "low": 0.0003, "high": 0.3, "log": True},
        "model.dropout": {"type": "float", "low": 0, "high": 0.5},
    },
}
# What is trained: 16 trials with Adam and dropout; trials that stop by themselves; whole trials on a trainer; a schedule
# with a memory; searches that decide on the way.
EXPERIMENTS = [
    {
        "model": {"name": "mlp", "hidden": [32], "dropout": 0.2},
        "train": ADAM,
        "space": {"train.optimizer.lr": [0.001, 0.003, 0.01, 0.03], "model.hidden": [[16], [32], [48], [64]]},
    },
    {
        "model": {"name": "mlp", "hidden": [32]},
        "train": {**ADAM, "epochs": 20, "early_stopping": {"patience": 1}},
        "space": {"train.optimizer.lr": [0.001, 0.01, 0.03, 0.1]},
    },
    {
        "model": {"name": "mlp", "hidden": [32], "dropout": 0.2},
        "train": ADAM,
        "strategy": {"name": "task_parallel"},
        "space": {"train.optimizer.lr": [0.001, 0.003, 0.01, 0.03]},
    },
    {
        "model": {"name": "mlp", "hidden": [32]},
        "train": {**ADAM, "epochs": 10, "schedule": {"name": "plateau", "patience": 1}, "ema": 0.9},
        "space": {"train.optimizer.lr": [0.01, 0.03, 0.1]},
    },
    *(
        {**SEARCHED, "search": search}
        for search in (
            {"procedure": "asha", "trials": 12},
            {"procedure": "pbt", "population": 6, "interval": 2, "quantile": 0.34},
            {"procedure": "tpe", "trials": 8, "startup": 4},
            {"procedure": "hyperband"},
            {"procedure": "bohb", "startup": 4},
        )
    ),
]
JITTER = ",".join(f"{point}:1:jitter" for point in ("unit.begin", "hop.send", "hop.receive", "lap.done", "lap.record"))
# What can happen, and how often. A fault strikes at the nth write, wherever that is.
MISFORTUNES = {
    "kill a rank": 4,
    "kill all": 4,
    "kill the launcher": 2,
    "disk full": 3,
    "torn write": 2,
    "flipped bit": 2,
    "SIGUSR1": 2,
    "SIGTERM": 2,
}
# The misfortunes that strike by themselves: where, and what then happens.
FAULTS = {
    "disk full": (
        [
            "journal.append",
            "journal.sync",
            "checkpoint.append",
            "checkpoint.sync",
            "checkpoint.rename",
            "summary.append",
            "model.append",
            "lap.record",
        ],
        "enospc",
    ),
    "torn write": (["journal.append", "checkpoint.append"], "tear"),
    "flipped bit": (["checkpoint.append", "hop.send", "spill.read"], "flip"),
}


class Round:
    def __init__(self, number, folder, numbers):
        self.number, self.folder, self.numbers = number, folder, numbers
        self.history = []

    def document(self, name, index):
        return experiment(run={"dir": name, "device": "cpu", "checkpoint_every_s": 0.02}, **EXPERIMENTS[index])

    def write(self, document):
        (self.folder / "e.json").write_text(json.dumps(document))

    def launch(self, misfortune=None):
        """One job with --resume; its process. Faults that strike by themselves are set here."""
        numbers = self.numbers
        trainers = numbers.randint(1, 4)
        with_mpi = misfortune in ("kill a rank", "kill the launcher") or numbers.random() < 0.3
        fault = fault_of(misfortune, numbers)
        shared, spilling = numbers.random() < 0.3, numbers.random() < 0.3
        delays, helper = numbers.random() < 0.3, numbers.random() < 0.5
        command = [BINARY, "run", "e.json", "--resume", "--quiet", "--set", f"run.helper={'on' if helper else 'off'}"]
        if spilling:
            command += ["--set", "run.state_memory=2kB"]
        if with_mpi and shared:
            command += ["--set", "run.scheduler=shared"]
        command = (
            [*MPIRUN, "-np", str(trainers + (0 if shared and trainers > 1 else 1)), *command]
            if with_mpi
            else [*command, "--trainers", str(trainers)]
        )
        self.history.append(
            f"{fault or misfortune} {'and delays ' if delays else ''}"
            f"on {trainers} trainers{' by mpirun' if with_mpi else ''}{', shared' if with_mpi and shared else ''}"
            f"{', spilling' if spilling else ''}{', with helpers' if helper else ''}"
        )
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment_with(fault, delays),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def strike(self, process, misfortune, after_s):
        """The misfortunes that come from outside, at an instant that depends on nothing."""
        try:
            process.wait(timeout=after_s)
            return
        except subprocess.TimeoutExpired:
            pass
        try:
            if misfortune == "kill all":
                os.killpg(process.pid, signal.SIGKILL)
            elif misfortune == "kill the launcher":
                process.kill()
            elif misfortune == "kill a rank":
                ranks = list(children(process.pid))
                if ranks:
                    os.kill(self.numbers.choice(ranks), signal.SIGKILL)
            elif misfortune in ("SIGUSR1", "SIGTERM"):
                process.send_signal(getattr(signal, misfortune))
        except ProcessLookupError:
            pass  # it ended just now

    def disturbed(self, duration_s):
        for attempt in range(40):
            misfortune = self.numbers.choices(list(MISFORTUNES), MISFORTUNES.values())[0] if attempt < 6 else None
            process = self.launch(misfortune)
            if misfortune:
                self.strike(process, misfortune, self.numbers.uniform(0.2, 0.5 + duration_s))
            try:
                out, _ = end_of_job(process)
            except subprocess.TimeoutExpired:
                alive = children(process.pid)
                os.killpg(process.pid, signal.SIGKILL)
                out, _ = process.communicate()
                raise AssertionError(f"{self.story()}: the job hangs; processes {alive}; it said: {out}")
            finally:
                end_all(process)
            self.history[-1] += f": exit {process.returncode}"
            if process.returncode == 0:
                return
            if misfortune is None:
                raise AssertionError(f"{self.story()}: nothing happened to the last job, but it said: {out}")
            if process.returncode == 2:
                raise AssertionError(f"{self.story()}: the run cannot be resumed: {out}")
        raise AssertionError(f"{self.story()}: did not finish")

    def story(self):
        return f"round {self.number} ({'; '.join(self.history)})"

    def run(self):
        index = self.number % len(EXPERIMENTS)
        self.write(self.document("quiet", index))
        start = time.monotonic()
        subprocess.run(
            [BINARY, "run", "e.json", "--quiet", "--overwrite", "--trainers", "2"],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        duration_s = time.monotonic() - start
        expected = outcome(self.folder / "quiet")
        self.write(self.document("out", index))
        self.disturbed(duration_s)
        if outcome(self.folder / "out") != expected:
            raise AssertionError(f"{self.story()}: the run came out different")
        return len(self.history)


def fault_of(misfortune, numbers):
    """As HOPSCOTCH_FAULT wants it; None if the misfortune comes from outside."""
    nth = numbers.choice([1, 2, 3, 5, 10, 20, 40, 80])
    if misfortune not in FAULTS:
        return None
    points, kind = FAULTS[misfortune]
    return f"{numbers.choice(points)}:{nth}:{kind}"


def environment_with(fault, delays):
    environment = dict(os.environ)
    if fault:
        environment["HOPSCOTCH_FAULT"] = fault
    if delays:
        before = environment.get("HOPSCOTCH_FAULT")
        environment["HOPSCOTCH_FAULT"] = f"{before},{JITTER}" if before else JITTER
    return environment


def end_all(process):
    """Ranks that outlive a launcher that was killed end by themselves; no later job may meet them."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def decisions(journal):
    """Of all jobs together: what is decided again after a resumption is journalled once."""
    return [
        tuple(line[key] for key in ("kind", "trial", "epoch", "until_epoch", "virtual_time", "why"))
        for line in journal
        if line["event"] == "decision"
    ]


def outcome(folder):
    journal = [strict_json(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    summary = strict_json((folder / "summary.json").read_text())
    trials = [
        (
            trial["id"],
            trial["status"],
            trial["state_hash"],
            trial["epochs"],
            trial["best"]["epoch"],
            trial["best"]["val_loss"],
        )
        for trial in summary["trials"]
    ]
    units = sorted(
        (line["trial"], line["epoch"], unit["shard"], unit["state_hash"])
        for line in journal
        if line["event"] == "lap_done"
        for unit in with_units(folder, line)["units"]
    )
    return (
        summary["status"],
        summary["best_trial"],
        trials,
        units,
        decisions(journal),
        hashlib.sha256((folder / "best/model.safetensors").read_bytes()).hexdigest(),
    )


def rounds(count, seed=0, said=lambda text: None):
    """All rounds; raises AssertionError with the story of the first that goes wrong."""
    jobs = 0
    with tempfile.TemporaryDirectory(prefix="hopscotch-chaos-") as place:
        folder = pathlib.Path(place)
        subprocess.run(
            [
                BINARY,
                "data",
                "import",
                "csv",
                str(SOURCE / "data/digits.csv"),
                "--out",
                str(folder / "digits"),
                "--shards",
                "4",
                "--valid",
                "0.2",
                "--shape",
                "1x8x8",
                "--label",
                "label",
            ],
            check=True,
            capture_output=True,
        )
        for number in range(count):
            one = Round(number, folder, random.Random(f"{seed}/{number}"))
            subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
            jobs += one.run()
            said(f"{one.story()}: same")
    return jobs


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    began = time.monotonic()
    try:
        started = rounds(wanted, int(sys.argv[2]) if len(sys.argv) > 2 else 0, lambda text: print(text, flush=True))
    except AssertionError as error:
        sys.exit(f"chaos: {error}")
    print(
        f"chaos: {wanted} rounds, {started} jobs, {time.monotonic() - began:.0f} s: every state hash, metric, decision and "
        f"best model is the undisturbed run's"
    )
