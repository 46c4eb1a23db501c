#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts that are lost while a job trains: rank 0 and one trainer on a host, and three hosts of one or two trainers, by TCP,
under mpirun --enable-recovery (Open MPI 4). Whatever happens, the states, metrics and best model must be the undisturbed
run's; where the job cannot go on by itself, after --resume. Then data.stage with a disk of its own for each host.

    tests/hosts/losses.py [--rounds N] [--silence S] [CASE...]        as root; a minute a round

Prints for each case in how many rounds the same job finished, when a loss was noticed, when the others went on, and how
mpirun ended: by itself, or after one or two SIGTERM ("told"; the second within 5 s makes it leave hosts alone that do not
answer). Exit code 77: this machine does not permit network namespaces.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HOSTS = SOURCE / "tests/hosts/hosts.sh"
os.environ.setdefault("HOPSCOTCH", str(SOURCE / "build/hopscotch"))
os.environ.setdefault("HOPSCOTCH_SOURCE", str(SOURCE))
os.environ.setdefault("HOPSCOTCH_MPIRUN", "mpirun")
sys.path.insert(1, str(SOURCE / "tests/e2e"))
from chaos import outcome  # noqa: E402
from harness import BINARY, experiment, strict_json  # noqa: E402

COUNT, RANKS, SHARDS = 4, 7, 8  # ranks 0 and 4 on host 0, 1 and 5 on host 1, 2 and 6 on host 2, 3 on host 3
TRAINERS = {0: [3], 1: [0, 4], 2: [1, 5], 3: [2]}
FOLDER = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / "hopscotch-hosts"


def hosts(*args):
    subprocess.run([HOSTS, *map(str, args)], check=True, capture_output=True)


def pids(host, of_rank):
    """The processes of a host: its ranks, or all."""
    out = []
    for pid in subprocess.run(["ip", "netns", "pids", f"hsc{host}"], capture_output=True, text=True).stdout.split():
        try:
            if not of_rank or b"OMPI_COMM_WORLD_RANK=" in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                out.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return out


def send(host, number, of_rank):
    for pid in pids(host, of_rank):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


# What happens to a host. Each returns when it is done, at latest long after silence_s.
def cut(host, _):
    hosts("cut", host)


def lose(host, _):
    hosts("lose", host)


def kill(host, _):
    send(host, signal.SIGKILL, of_rank=False)


def blink(host, silence_s):
    hosts("cut", host)
    time.sleep(silence_s / 4)
    hosts("heal", host)


def come_back(host, silence_s):
    hosts("cut", host)
    time.sleep(2 * silence_s)
    hosts("heal", host)


def stop(host, silence_s):
    send(host, signal.SIGSTOP, of_rank=True)
    time.sleep(2 * silence_s)
    send(host, signal.SIGCONT, of_rank=True)


# name: (strategy, what happens, what shall come of it): the others go on, nothing is lost, or the job ends and is resumed
CASES = {
    "cut": ("mop", cut, "goes on"),
    "lost": ("mop", lose, "goes on"),
    "killed": ("mop", kill, "goes on"),
    "homes": ("mop", cut, "goes on"),
    "blink": ("mop", blink, "unharmed"),
    "back": ("mop", come_back, "goes on"),
    "stopped": ("mop", stop, "goes on"),
    "whole_trials": ("task_parallel", cut, "goes on"),
    "together": ("allreduce", cut, "resumed"),
}
TOLD = {
    "cut": "its link is cut",
    "lost": "its power fails",
    "killed": "all its processes are killed",
    "homes": "cut: it has the most homes of living trials",
    "blink": "cut for silence_s / 4",
    "back": "cut for 2 silence_s",
    "stopped": "its ranks stopped for 2 silence_s",
    "whole_trials": "cut, task_parallel",
    "together": "cut, allreduce",
}


class Job:
    """One job over the hosts: 80 epochs of eight small trials, some ten seconds."""

    def __init__(self, folder, silence_s):
        self.folder, self.silence_s = folder, silence_s

    def write(self, name, strategy, stage=""):
        epochs = 12 if strategy == "allreduce" else 80
        document = experiment(
            data={"path": "digits", **({"stage": stage} if stage else {})},
            model={"name": "mlp", "hidden": [64], "dropout": 0.2},
            strategy={"name": strategy},
            train={
                "epochs": epochs,
                "batch_size": 4 if strategy != "allreduce" else 24,
                "optimizer": {"name": "adam", "lr": 0.01},
            },
            space={"train.optimizer.lr": [0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.02, 0.03]},
            run={"dir": name, "device": "cpu", "checkpoint_every_s": 1, "silence_s": self.silence_s},
        )
        (self.folder / "e.json").write_text(json.dumps(document))

    def quietly(self, *options):
        subprocess.run(
            [BINARY, "run", "e.json", "--quiet", "--trainers", str(RANKS - 1), *options],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def undisturbed(self, strategy):
        name = f"quiet-{strategy}"
        if not (self.folder / name).exists():
            self.write(name, strategy)
            self.quietly()
        return outcome(self.folder / name)

    def start(self):
        """Until the first lap is done."""
        subprocess.run(["rm", "-rf", str(self.folder / "out")], check=True)
        self.said = open(self.folder / "said", "w+")
        self.process = subprocess.Popen(
            [HOSTS, "run", str(RANKS), "--enable-recovery", BINARY, "run", "e.json", "--quiet"],
            cwd=self.folder,
            stdout=self.said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        while self.process.poll() is None and not self.events("lap_done"):
            time.sleep(0.02)

    def events(self, name):
        journal = self.folder / "out/journal.jsonl"
        text = journal.read_text() if journal.exists() else ""
        return [strict_json(line) for line in text.split("\n")[:-1] if f'"event":"{name}"' in line]

    def busiest(self):
        """The host with the most homes of trials that are under way."""
        home = {lap["trial"]: lap["home"] for lap in self.events("lap_done") if lap["epoch"] < 70}
        return max((1, 2, 3), key=lambda host: sum(home[trial] in TRAINERS[host] for trial in home))

    def text(self):
        return (self.folder / "said").read_text()

    def end(self):
        """How mpirun ended: by itself within 2 s of the run, or told to. Raises if the run itself does not end."""
        deadline = time.monotonic() + 90
        while self.process.poll() is None and not self.events("run_ended"):
            if time.monotonic() > deadline:
                raise AssertionError(f"the job hangs:\n{self.text()}")
            time.sleep(0.05)
        for how in ("itself", "told", "told twice"):
            try:
                self.process.wait(timeout=2)
                return how
            except subprocess.TimeoutExpired:
                for pid in pids(0, of_rank=False):
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "mpirun\n":
                            os.kill(pid, signal.SIGTERM)
        self.process.wait(timeout=2)
        return "told twice"

    def clean_up(self):
        for host in range(COUNT):
            send(host, signal.SIGKILL, of_rank=False)
            hosts("heal", host)
        self.process.wait()


def one(job, case, numbers):
    strategy, strike, promise = CASES[case]
    expected = job.undisturbed(strategy)
    job.write("out", strategy)
    job.start()
    time.sleep(numbers.uniform(0, 1.5))
    host = job.busiest() if case == "homes" else numbers.choice((1, 2, 3))
    when = time.time()
    strike(host, job.silence_s)
    if job.events("run_ended"):
        raise AssertionError(f"{case}: the run had ended before it could be harmed; it needs more epochs here")
    result = {"mpirun": job.end()}
    ended = job.events("run_ended")
    summary = job.folder / "out/summary.json"  # there is none if mpirun killed all
    result["same_job"] = summary.exists() and strict_json(summary.read_text())["status"] == "finished"
    result["said"] = job.text()
    job.clean_up()
    if not result["same_job"]:
        job.quietly("--resume")
    if outcome(job.folder / "out") != expected:
        raise AssertionError(f"{case}, host {host}: it came out different")
    lost = job.events("trainer_lost")
    wanted = {"goes on": TRAINERS[host]}.get(promise, [])
    others = [line for line in lost if line["trainer"] not in wanted]
    if result["same_job"] and len(lost) - len(others) < len(wanted) or others and strike is not kill:
        raise AssertionError(f"{case}, host {host}: trainers {wanted} should be lost:\n{result['said']}")
    result["others"] = len(others)
    result["noticed_s"] = [line["unix_s"] - when for line in lost if line not in others] if promise == "goes on" else []
    if promise == "resumed" and ended:
        result["noticed_s"] = [ended[0]["unix_s"] - when]
    result["went_on_s"] = []
    if lost and result["same_job"]:
        result["went_on_s"] = [job.events("run_resumed")[-1]["unix_s"] - max(line["unix_s"] for line in lost)]
    return result


def row(case, results):
    def seconds(key):
        values = sorted(value for result in results for value in result[key])
        return (
            f"{statistics.median(values):6.2f} {values[math.ceil(0.95 * len(values)) - 1]:6.2f}"
            if values
            else "     -      -"
        )

    others = sum(
        result["others"] for result in results
    )  # Open MPI 4 may end a rank that was just writing to one that is killed
    ends = [result["mpirun"] for result in results]
    return (
        f"{TOLD[case]:44} {len(results):6} {sum(result['same_job'] for result in results):8}  {seconds('noticed_s')}  "
        f"{seconds('went_on_s')}  "
        + ", ".join(f"{ends.count(how)} {how}" for how in dict.fromkeys(ends))
        + (f"; {others} other ranks died of it" if others else "")
    )


def staged(job):
    """Each host copies what its trainers own to its own disk; the next run takes the copies, and makes one that is damaged
    again."""
    expected = job.undisturbed("mop")
    job.write("out", "mop", stage=str(FOLDER / "disk/stage"))
    before, damaged = {}, None
    for _ in range(2):
        job.start()
        job.end()
        job.clean_up()
        if outcome(job.folder / "out") != expected:
            raise AssertionError("a staged run came out different")
        copies = {
            copy: copy.stat().st_ino
            for host in range(COUNT)
            for copy in (FOLDER / f"tmp{host}/stage").glob("hopscotch-*/**/*.h5")
        }
        for copy in copies:
            original = job.folder / "digits" / copy.relative_to(FOLDER).as_posix().split("/", 3)[3]
            if copy.read_bytes() != original.read_bytes():
                raise AssertionError(f"{copy} is not {original}")
        if before and {copy for copy in copies if copies[copy] != before.get(copy)} != {damaged}:
            raise AssertionError(f"only {damaged} should have been copied again")
        before, damaged = copies, sorted(copies)[0]
        with open(damaged, "r+b") as file:
            file.seek(100)
            file.write(b"damage")
    counts = [sum(f"/tmp{host}/" in str(copy) for copy in before) for host in range(COUNT)]
    print(
        f"data.stage: files on the disks of hosts 0 to 3: {', '.join(map(str, counts))}; all whole, a damaged one copied "
        f"again, same bits",
        flush=True,
    )


def import_digits(place):
    layout = ["--shards", str(SHARDS), "--valid", "0.2", "--shape", "1x8x8", "--label", "label"]
    source, target = str(SOURCE / "data/digits.csv"), f"{place}/digits"
    subprocess.run([BINARY, "data", "import", "csv", source, "--out", target, *layout], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}, stage; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--silence", type=float, default=2, help="run.silence_s")
    parser.add_argument("--keep", type=pathlib.Path, help="what each job printed goes there")
    options = parser.parse_args()
    wanted = options.cases or [*CASES, "stage"]
    if unknown := set(wanted) - {*CASES, "stage"}:
        parser.error(f"no case {', '.join(unknown)}")
    if subprocess.run([HOSTS, "up", str(COUNT)], capture_output=True).returncode != 0:
        subprocess.run([HOSTS, "down"], capture_output=True)
        print("skipped: no network namespaces here (they need root, CAP_NET_ADMIN and iproute2)")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and the hosts go away
    try:
        with tempfile.TemporaryDirectory(prefix="hopscotch-losses-") as place:
            job = Job(pathlib.Path(place), options.silence)
            import_digits(place)
            run_all(job, wanted, options)
    except AssertionError as error:
        sys.exit(f"losses: {error}")
    finally:
        subprocess.run([HOSTS, "down"], check=True)


def run_all(job, wanted, options):
    print(
        f"{'a host, run.silence_s ' + format(options.silence, 'g'):44} {'rounds':>6} {'same job':>8}  {'noticed after':13}  "
        f"{'went on after':13}  "
        f"mpirun ended by\n{'':60}  median    p95  median    p95",
        flush=True,
    )
    for case in wanted:
        if case == "stage":
            staged(job)
            continue
        results = []
        for number in range(options.rounds):
            results.append(one(job, case, random.Random(f"{case}/{number}")))
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{case}-{number}.log").write_text(results[-1]["said"])
        print(row(case, results), flush=True)


if __name__ == "__main__":
    main()
