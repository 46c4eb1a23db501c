# SPDX-License-Identifier: Apache-2.0
"""What is acknowledged is in the journal, or in effect, after a pause at once, a kill at once, and a resume on other
trainers. Each case is a small live experiment that gets random orders (the files that hopscotch ctl writes, several at
once), is struck as soon as the answers are there, and resumed elsewhere until it has finished. What must then hold of its
orders is in order_promises.py.
  order_chaos.py [CASES [SEED]]                    cases SEED/0, SEED/1, ...
  order_chaos.py --only SEED/NUMBER [--times N]    exactly this one"""

import json
import random
import subprocess
import time

import chaos_rounds
from chaos_rounds import Failure, Kind
from harness import BINARY, SOURCE, strict_json
from limits import WAIT_LIMIT_S
from order_promises import Letter, broken_promise
from random_chaos import Round
from random_misfortunes import END, Job
from random_outcome import leftovers

STRIKES = ("", "SIGUSR1", "SIGTERM", "kill all", "kill all", "kill all")
AGAIN = 5  # so often is an order sent that comes before its trial has ended
RATES = {True: (0.001, 0.1), False: (0.01, 0.5)}  # lowest and highest, where the model is real


def document_of(draw):
    procedure = draw.choice(("grid", "random", "asha", "pbt"))
    strategy = draw.choices(("mop", "task_parallel", "sequential", "allreduce"), (6, 4, 3, 2))[0]
    real = draw.random() < 0.5
    trials = draw.randint(3, 5) * (2 if procedure == "asha" else 1)
    epochs = draw.randint(30, 60) if real else draw.randint(8, 30)
    sleep_s = (4 if strategy in ("mop", "task_parallel") else 2) / (trials * epochs * 45)
    asleep = {"name": "synthetic", "parameters": 2000, "seconds_per_batch": sleep_s}
    train = train_of(draw, procedure, real, epochs)
    search = search_of(draw, procedure, trials)
    seed = draw.randrange(1000)
    if draw.random() < 0.3:
        search["in_flight"] = draw.randint(1, 3)
    return {
        "name": "orders",
        "seed": seed,
        "data": {"path": "../data/digits4"},
        "model": {"name": "mlp", "hidden": [32], "dropout": 0.1} if real else asleep,
        "train": train,
        "search": search,
        "space": {"train.optimizer.lr": rates_of(procedure, real, trials)},
        "strategy": {"name": strategy},
        "run": {"dir": "out", "device": "cpu", "checkpoint_every_s": round(0.02 * 3000 ** draw.random(), 3)},
    }


def train_of(draw, procedure, real, epochs):
    optimizer = draw.choice(({"name": "sgd", "momentum": 0.9}, {"name": "adam"})) if real else {"name": "sgd"}
    lowest, _ = RATES[real]
    train = {"epochs": epochs, "batch_size": 8 if real else 32, "optimizer": {**optimizer, "lr": lowest}}
    if real and procedure != "pbt" and draw.random() < 0.2:
        train["early_stopping"] = {"patience": 3}
    return train


def search_of(draw, procedure, trials):
    """Draws for every procedure, so that what is drawn later does not depend on which one it is."""
    own = {
        "grid": {},
        "random": {"trials": trials},
        "asha": {"trials": trials, "eta": 2, "min_epochs": draw.choice((1, 2))},
        "pbt": {"population": trials, "interval": draw.randint(2, 5), "quantile": 0.34},
    }[procedure]
    return {"procedure": procedure, "metric": "val_loss", **own}


def rates_of(procedure, real, trials):
    low, high = RATES[real]
    if procedure != "grid":
        return {"type": "float", "low": low, "high": high, "log": True}
    return [round(low * (high / low) ** (number / trials), 6) for number in range(trials)]


def trials_in(document):
    search, lrs = document["search"], document["space"]["train.optimizer.lr"]
    return search.get("trials") or search.get("population") or len(lrs)


def orders_of(draw, trials, last):
    """One to five; those that matter most are of trials that others are about, too."""
    of = draw.randrange(trials)
    trial = lambda: of if draw.random() < 0.5 else draw.randrange(trials + 2)
    clone = lambda: (
        "clone",
        trial(),
        {"train.optimizer.lr": round(draw.uniform(0.001, 0.02), 6)} if draw.random() < 0.8 else {},
    )
    out = [
        draw.choices((lambda: ("stop", trial(), {}), lambda: ("resume", trial(), {}), clone), (5, 4, 5))[0]()
        for _ in range(draw.randint(1, 5))
    ]
    return out + ([("finish", None, {})] if last and draw.random() < 0.2 else [])


def bursts_of(draw, trials, number, stopped):
    """Of a job: when (a part of all laps; close to 1 is the last moments), and what is sent then at once. stopped: trials,
    in earlier jobs."""
    if number == 0 and draw.random() < 0.15:  # found by a user
        others = [("clone", 1, {}), ("clone", 2, {}), ("clone", min(3, trials - 1), {"train.optimizer.lr": 0.0123})]
        return ((draw.uniform(0, 0.5), [("stop", 0, {}), *others]), (0, [("resume", 0, {})]))
    if stopped and draw.random() < 0.5:  # whose states no trainer of this job has
        return (
            (0, [("resume", draw.choice(stopped), {}), *(orders_of(draw, trials, False) if draw.random() < 0.3 else [])]),
        )
    if number > 0 and draw.random() < 0.4:
        return ()
    orders = orders_of(draw, trials, draw.random() < 0.7)
    when = draw.choice((0, draw.uniform(0, 0.6), draw.uniform(0, 0.6), draw.uniform(0.9, 1)))
    return (
        ((when, orders),)
        if draw.random() < 0.6
        else tuple((when + 0.05 * each, [order]) for each, order in enumerate(orders))
    )


def jobs_of(draw, document):
    """Struck at once, but for the last one."""
    trials, group = trials_in(document), document["strategy"]["name"] == "allreduce"
    fixed, out = draw.randint(1, 3), []
    for number in range(draw.choice((1, 1, 1, 2, 3)) + 1):
        world = draw.choices(("threads", "mpirun", "shared", "recovery"), (6, 2, 1, 2))[0]
        stopped = [trial for job in out for _, orders in job.orders for kind, trial, _ in orders if kind == "stop"]
        job = Job(fixed if group else draw.randint(1, 3), world, orders=bursts_of(draw, trials, number, stopped))
        if world in ("shared", "recovery"):
            job.trainers = fixed = max(2, job.trainers) if not group or number == 0 else fixed
        job.misfortune = draw.choice(
            STRIKES
            + (
                ("kill a rank",) * 3
                if world in ("mpirun", "shared")
                else ("kill a rank",) * 9
                if world == "recovery"
                else ()
            )
        )
        job.when = END if draw.random() < 0.08 else 0
        job.gap_s = draw.choice((0, 0, draw.uniform(0, 0.3)))
        out.append(job)
    out[-1].misfortune = ""
    return out


class Orders(Round):
    def __init__(self, name, folder, counts, document, plan):
        draw = random.Random(f"orders {name}")
        document = document or document_of(draw)
        super().__init__(name, folder, counts, document, plan or jobs_of(draw, document))
        self.ordered = True  # it may also be told to stop everybody before the first lap
        self.letters, self.decided = [], []
        self.laps = (
            document["train"]["epochs"] * trials_in(document) * (0.3 if document["search"]["procedure"] == "asha" else 1)
        )  # without orders, about

    def run(self):
        self.expected_code, self.start_s, self.work_s = 0, 0.5, 2
        search, run = self.document["search"], self.document["run"]
        model, strategy = self.document["model"]["name"], self.document["strategy"]["name"]
        self.story.append(f"{search['procedure']}, {strategy}, {model}, checkpoint_every_s {run['checkpoint_every_s']}")
        self.write("out")
        self.disturbed()
        self.take_answers()
        for letter in self.letters:
            self.counts["acknowledged"] += letter.ok
            self.story.append(f"{letter}")
        for path in (self.folder / "out/inbox").glob("*"):
            if path.name in {letter.name + ".json" for letter in self.letters if letter.answer is None}:
                path.unlink()  # taken back
        self.check_decisions()
        if broken := broken_promise(self.folder / "out", self.document, self.letters, self.counts):
            raise Failure(broken)
        if self.status() == "finished" and (left := leftovers(self.folder / "out")):
            raise Failure(f"out/ still holds {', '.join(left[:5])}")
        if self.document["model"]["name"] != "synthetic":
            self.replay([0])

    def befall(self, process, job):
        self.check_decisions()
        self.wait_until_it_writes(process)
        for when, orders in job.orders:
            self.wait_for(
                lambda: self.journal().exists() and self.journal().read_text().count('"lap_done"') >= when * self.laps - 2,
                process,
            )
            self.send(orders, process)
        if not job.misfortune:
            return
        if job.when == END:
            self.wait_for(lambda: self.journal().exists() and '"run_ended"' in self.journal().read_text()[-300:], process)
        if self.lives_for(process, job.gap_s):
            self.strike(process, job)

    def send(self, orders, process):
        """All of them at once; returns when the answers are there, or no one answers any more."""
        for attempt in range(AGAIN):
            if process.poll() is not None or not orders:
                return
            sent = [Letter(len(self.letters) + number, *order) for number, order in enumerate(orders)]
            self.letters += sent
            self.counts["orders"] += len(sent)
            (self.folder / "out/inbox").mkdir(parents=True, exist_ok=True)
            for letter in sent:
                (self.folder / letter.name).write_text(letter.text())
            for letter in sent:
                (self.folder / letter.name).rename(self.folder / f"out/inbox/{letter.name}.json")
            end = time.monotonic() + WAIT_LIMIT_S
            while self.take_answers() and process.poll() is None:
                if time.monotonic() > end:
                    raise Failure(f"no answer within {WAIT_LIMIT_S:g} s: {[str(letter) for letter in self.letters]}")
                time.sleep(0.001)
            orders = [
                order for letter, order in zip(sent, orders) if letter.answer and "try again when" in letter.answer["text"]
            ]

    def take_answers(self):
        """As hopscotch ctl takes them. Whether some are still missing."""
        for letter in self.letters:
            path = self.folder / f"out/inbox/{letter.name}.done.json"
            if letter.answer is None and path.exists():
                letter.answer = strict_json(path.read_text())
                path.unlink()
        return any(letter.answer is None for letter in self.letters)

    def check_decisions(self):
        """What had been decided when the last job was struck must still be."""
        lines = [json.dumps(line) for line in whole_lines(self.journal()) if line["event"] == "decision"]
        if lines[: len(self.decided)] != self.decided:
            raise Failure("the journal has lost decisions")
        self.decided = lines


def whole_lines(path):
    return [strict_json(line) for line in path.read_text().rpartition("\n")[0].splitlines()] if path.exists() else []


def dataset(folder):
    subprocess.run(
        [
            BINARY,
            "data",
            "import",
            "csv",
            str(SOURCE / "data/digits.csv"),
            "--out",
            str(folder / "digits4"),
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


def main():
    chaos_rounds.main(__doc__, Kind("orders", Orders), dataset, by="cases", default=200)


if __name__ == "__main__":
    main()
