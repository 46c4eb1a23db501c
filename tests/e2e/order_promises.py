# SPDX-License-Identifier: Apache-2.0
"""What a run that has ended owes to the orders that its jobs have acknowledged: broken_promise(). Orders that are in the
journal count whether or not their answer came out: the last word on a trial may be one of them."""

import collections
import json
import os
import re
import time

from harness import strict_json
from limits import WAIT_LIMIT_S
from random_outcome import lines_of

BY_USER = {"stop": "stopped by a user", "finish": "finished by a user"}


class Letter:
    """A request as hopscotch ctl writes it, and what came back."""

    def __init__(self, number, kind, trial, changes):
        self.name, self.kind, self.trial, self.changes = f"{number:04}-{os.getpid()}", kind, trial, changes
        self.answer = None

    def text(self):
        body = {"kind": self.kind, "trial": self.trial, "changes": self.changes, "until_unix_s": time.time() + WAIT_LIMIT_S}
        return json.dumps({key: value for key, value in body.items() if value is not None and value != {}})

    @property
    def ok(self):
        return self.answer is not None and self.answer["ok"]

    def __str__(self):
        what = " ".join(str(each) for each in (self.kind, self.trial, *self.changes.values()) if each is not None)
        return f"ctl {what}: {self.answer['text'] if self.answer else 'no answer'}"


class Run:
    """What has become of every trial."""

    def __init__(self, folder, document, counts):
        self.journal, self.summary = lines_of(folder / "journal.jsonl"), strict_json((folder / "summary.json").read_text())
        self.counts, self.epochs = counts, document["train"]["epochs"]
        self.decides = document["search"]["procedure"] in ("asha", "pbt")
        self.stops_early = "early_stopping" in document["train"]
        self.orders = [line for line in self.journal if line["event"] == "order"]
        self.trials = self.summary["trials"]
        self.came, self.done, self.sources = (
            [],
            collections.defaultdict(list),
            {},
        )  # by order; by trial: the journal's lines of its laps; of clones
        for at, line in enumerate(self.journal):
            if line["event"] == "lap_done":
                self.came += [(at, order) for order in line.get("orders", [])]
                if line["outcome"] == "finished":
                    self.done[line["trial"]].append((at, line["epoch"]))
            elif line["event"] == "lap_released" and line["trial"] not in self.sources:
                source = line.get("clone_of")
                begins = source and line["epoch"] == source["epoch"] + 1 and line["trial"] != source["trial"]
                self.sources[line["trial"]] = (source["trial"], source["epoch"]) if begins else None

    def last_epoch(self, trial, before=None):
        return max([epoch for at, epoch in self.done[trial] if before is None or at <= before], default=-1)

    def first_epoch(self, trial):
        return self.sources[trial][1] + 1 if self.sources.get(trial) else 0

    def ends_of(self, trial):
        """After how many epochs it has ended; more than once, if it was taken up."""
        return [line["epochs"] for line in self.journal if line["event"] == "trial_ended" and line["trial"] == trial]

    def never_got_a_lap(self, trial):
        """It was stopped in its first lap, and no one took it up. Laps that came afterwards do not count."""
        return not self.done[trial] or self.ends_of(trial)[-1:] == [self.first_epoch(trial)]

    def wrong_beginning(self):
        """Each lap begins with the state that the one before has left, or that whose clone it is."""
        before, ends = {}, {}
        for line in self.journal:
            if line["event"] == "lap_released":
                source = line.get("clone_of") or {"trial": line["trial"], "epoch": line["epoch"] - 1}
                before[line["trial"], line["epoch"]] = source["trial"], source["epoch"]
            elif line["event"] == "lap_done" and line["outcome"] == "finished":
                lap = line["trial"], line["epoch"]
                if ends.get(before[lap]) != line["begin_hash"]:
                    return (
                        f"trial {lap[0]}, epoch {lap[1]} begins with state {line['begin_hash']}, not {ends.get(before[lap])}"
                    )
                if ends.setdefault(lap, line["end_hash"]) != line["end_hash"]:
                    return f"trial {lap[0]}, epoch {lap[1]} has come twice, with other states"
        return None

    def has_order(self, kind, trial=None):
        return any(order["kind"] == kind and order.get("trial") == trial for order in self.orders)

    def note(self, what):
        self.counts[what] += 1


def same(a, b):
    return all(a.get(key) == b.get(key) for key in ("kind", "trial", "epoch", "assignment", "why"))


def broken_promise(folder, document, letters, counts):
    """The first one; None: all are kept."""
    run = Run(folder, document, counts)
    if run.summary["status"] != "finished" and not (run.summary["status"] == "failed" and not any(run.done.values())):
        return f"the run's status is {run.summary['status']}"
    if len(run.came) != len(run.orders) or not all(same(order, came) for order, (_, came) in zip(run.orders, run.came)):
        return f"{len(run.orders)} orders are in the journal, and {len(run.came)} have come with laps: {run.orders}"
    run.counts["laps that came twice"] += sum(len(laps) - len({epoch for _, epoch in laps}) for laps in run.done.values())
    words = (lost_word(run, trial) for trial in run.trials)
    return (
        run.wrong_beginning()
        or unknown_letter(run, letters)
        or lost_finish(run)
        or lost_clone(run)
        or next(filter(None, words), None)
    )


def unknown_letter(run, letters):
    """Acknowledged, and not in the journal."""
    left = list(run.orders)
    for letter in letters:
        if not letter.ok:
            run.note("letters unanswered" if letter.answer is None else "orders refused")
            continue
        again = "already" in letter.answer["text"]
        epoch = re.search(r"goes on after epoch (\d+)", letter.answer["text"]) if letter.kind == "clone" else None
        fits = [
            order
            for order in (run.orders if again else left)
            if order["kind"] == letter.kind
            and order.get("trial") == letter.trial
            and (epoch is None or order["epoch"] == int(epoch[1]))
            and letter.changes.items() <= order.get("assignment", letter.changes).items()
        ]
        if not fits:
            return f"{letter}: is not in the journal"
        if not again:
            left.remove(fits[0])
    run.counts["orders journalled, and not answered before the end"] += len(left)
    return None


def lost_finish(run):
    finish = next((at for at, order in run.came if order["kind"] == "finish"), None)
    if finish is None:
        return None
    if run.summary["status"] == "finished" and run.summary["reason"] != BY_USER["finish"]:
        return f"the run was to finish, but its reason is '{run.summary['reason']}'"
    told = [
        at for at, line in enumerate(run.journal) if line["event"] == "decision" and line.get("why") == BY_USER["finish"]
    ]
    for line in run.journal[told[0] :] if told else []:
        if line["event"] == "decision" and line["kind"] not in ("stop", "finish"):
            return f"the search goes on after it was told to finish: {line}"
    if run.decides:
        return None
    begun = {line["trial"] for line in run.journal[:finish] if line["event"] == "lap_released"}
    for line in run.journal[finish:]:
        if line["event"] == "lap_released" and line["trial"] not in begun:
            return f"trial {line['trial']} starts after the run was told to finish"
        if line["event"] == "trial_ended" and line["reason"] == BY_USER["finish"]:
            had = max(run.first_epoch(line["trial"]), run.last_epoch(line["trial"], finish) + 1)
            if line["epochs"] > had + 1:
                went = f"went on to {line['epochs']}"
                return f"trial {line['trial']} had {had} epochs when the run was told to finish, and {went}"
    return None


def lost_clone(run):
    """Each has a trial of its own, and no other trial begins as one."""
    clones = {trial["id"]: run.sources.get(trial["id"]) for trial in run.trials if run.sources.get(trial["id"])}
    finish = next((at for at, order in run.came if order["kind"] == "finish"), None)
    for at, order in run.came:
        if order["kind"] != "clone":
            continue
        source, epoch = order["trial"], order["epoch"]
        fits = [
            (start[1], -trial)
            for trial, start in clones.items()
            if start[0] == source and start[1] <= epoch and run.trials[trial]["config"] == order["assignment"]
        ]
        if not fits:
            none = run.never_got_a_lap(source)
            ready = max(at, next((end for end, lap in run.done[source] if lap == epoch), len(run.journal)))
            if none or (finish is not None and (run.decides or finish <= ready)):
                run.note("clones of sources without a lap" if none else "clones that a finish forestalled")
                continue
            return f"there is no clone of trial {source} after epoch {epoch} with {order['assignment']}: {order}"
        began, trial = max(fits)
        del clones[-trial]
        if began < epoch:
            if began + 1 not in run.ends_of(source):
                where = f"after epoch {began} of trial {source}, not {epoch}"
                return f"trial {-trial} begins {where}, and that one has not ended there"
            run.note("clones of sources that ended before")
        else:
            run.note("clones that begin where it was said")
    return f"trials {clones} are clones that no one ordered" if clones else None


def lost_word(run, trial):
    """The last stop or resume of this trial is in effect, and nothing else has been done to it."""
    number, status, reason = trial["id"], trial["status"], trial["reason"]
    epochs = sorted({epoch for _, epoch in run.done[number]})
    first = run.first_epoch(number)
    if epochs != list(range(first, first + len(epochs))):
        return f"trial {number} has trained epochs {epochs}"
    words = [
        (at, order["kind"]) for at, order in run.came if order["kind"] in ("stop", "resume") and order["trial"] == number
    ]
    whole = status == "finished" and run.last_epoch(number) + 1 == run.epochs
    spoilt = status in ("failed", "diverged")
    what = f"trial {number} is {status} ({reason}) after epoch {run.last_epoch(number)} of {run.epochs}"
    if not words or words[-1][1] == "resume":
        if reason == BY_USER["stop"]:
            return f"{what}; no one wanted that last"
        goes_on = words or (not run.stops_early and (run.sources.get(number) or not run.decides))  # clones stop early, too
        if goes_on and not (whole or spoilt or run.has_order("finish")):
            return f"{what}; it should have gone on to the end"
        if words:
            run.note(
                "resumes kept: trained to the end"
                if whole
                else f"resumes: the trial {'diverged' if spoilt else 'ended with the run'}"
            )
        return None
    at = words[-1][0]
    if status == "stopped" and reason == BY_USER["stop"]:
        run.note("stops kept: stopped")
    elif run.has_order("finish") and reason == BY_USER["finish"]:
        run.note("stops: ended with the run before")
    elif whole and (run.decides or run.last_epoch(number, at) + 1 == run.epochs):
        run.note("stops: had trained to the end before")
    elif spoilt or (status == "stopped" and (run.decides or run.stops_early)):
        run.note("stops: had failed, or been stopped by the search, before")
    else:
        return f"{what}; it was to stop"
    return None
