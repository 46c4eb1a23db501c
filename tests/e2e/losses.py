# SPDX-License-Identifier: Apache-2.0
"""Jobs that lose one trainer of four, then two, at random instants: losses.py [ROUNDS [SILENCE_S]]. Each must finish by
itself with the undisturbed run's states, metrics and best model. Prints how long the loss went unnoticed and how long the
others stood still."""

import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from chaos import outcome
from harness import BINARY, MPIRUN, RECOVERY, SOURCE, experiment, strict_json
from limits import RUN_LIMIT_S


def rank_pid(launcher, rank):
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            ours = int(stat.read_text().rpartition(")")[2].split()[1]) == launcher
            if ours and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (stat.parent / "environ").read_bytes().split(b"\0"):
                return int(stat.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return None


def document(name, silence_s):
    return experiment(
        model={"name": "mlp", "hidden": [64], "dropout": 0.2},
        train={"epochs": 60, "batch_size": 4, "optimizer": {"name": "adam", "lr": 0.01}},
        space={"train.optimizer.lr": [0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.02, 0.03]},
        run={"dir": name, "device": "cpu", "checkpoint_every_s": 1, "silence_s": silence_s},
    )


def events(folder, name):
    return [line for line in map(strict_json, (folder / "journal.jsonl").read_text().splitlines()) if line["event"] == name]


def one(folder, numbers, ranks, silence_s):
    """Seconds from each kill to its journal line, and from the last one to the new beginning."""
    (folder / "e.json").write_text(json.dumps(document("out", silence_s)))
    subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
    process = subprocess.Popen(
        [*MPIRUN, *RECOVERY, "-np", "5", BINARY, "run", "e.json", "--quiet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    journal = folder / "out/journal.jsonl"
    while process.poll() is None and not (journal.exists() and "lap_done" in journal.read_text()):
        time.sleep(0.01)
    killed = {}
    for rank in ranks:
        time.sleep(numbers.uniform(0, 1))
        pid = rank_pid(process.pid, rank)
        if pid:
            os.kill(pid, signal.SIGKILL)
            killed[rank - 1] = time.time()
    try:
        out, _ = process.communicate(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError("the job hangs")
    if strict_json((folder / "out/summary.json").read_text())["status"] != "finished":
        raise AssertionError(out)
    noticed = {line["trainer"]: line["unix_s"] for line in events(folder / "out", "trainer_lost")}
    resumed = [line["unix_s"] for line in events(folder / "out", "run_resumed")]
    if not noticed:
        return [], []  # it had finished before
    stood = [min(at for at in resumed if at >= when) - when for when in noticed.values()]
    return [noticed[trainer] - when for trainer, when in killed.items() if trainer in noticed], stood


def imported(folder):
    place = [str(SOURCE / "data/digits.csv"), "--out", str(folder / "digits"), "--shards", "8"]
    subprocess.run(
        [BINARY, "data", "import", "csv", *place, "--valid", "0.2", "--shape", "1x8x8", "--label", "label"],
        check=True,
        capture_output=True,
    )


def undisturbed(folder, silence_s):
    (folder / "e.json").write_text(json.dumps(document("quiet", silence_s)))
    subprocess.run([BINARY, "run", "e.json", "--quiet", "--trainers", "2"], cwd=folder, check=True, capture_output=True)
    return outcome(folder / "quiet")


def losses(folder, count, rounds, silence_s, expected):
    """Of all rounds with this many lost: the seconds until each was noticed, and those that the others stood still."""
    noticed, stood = [], []
    for number in range(rounds):
        numbers = random.Random(f"{count}/{number}")
        seconds = one(folder, numbers, numbers.sample((1, 2, 3, 4), count), silence_s)
        if outcome(folder / "out") != expected:
            sys.exit(f"losses: round {number} with {count} lost came out different")
        noticed += seconds[0]
        stood += seconds[1]
    return sorted(noticed), stood


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    silence_s = float(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory(prefix="hopscotch-losses-") as place:
        folder = pathlib.Path(place)
        imported(folder)
        expected = undisturbed(folder, silence_s)
        for count in (1, 2):
            noticed, stood = losses(folder, count, rounds, silence_s, expected)
            print(
                f"{count} of 4 lost, {rounds} jobs: all the same; {len(noticed)} losses noticed after "
                f"{statistics.median(noticed):.2f} s, p95 "
                f"{noticed[int(0.95 * (len(noticed) - 1))]:.2f} s, at most {noticed[-1]:.2f} s (run.silence_s "
                f"{silence_s:g}); then the others "
                f"went on after {statistics.median(stood):.3f} s, at most {max(stood):.3f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
