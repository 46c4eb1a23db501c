# SPDX-License-Identifier: Apache-2.0
"""hopscotch ctl: what users ask of a running job, and limits of hours."""

import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest
import unittest.mock

from harness import BINARY, LONG, Case, experiment, strict_json
from limits import RUN_LIMIT_S, SILENCE_S, WAIT_LIMIT_S

SLOW = {"name": "synthetic", "parameters": 2000, "seconds_per_batch": 0.002}
RATES = (0.1, 0.2, 0.3)


EPOCHS = 400


def live(folder="out", epochs=EPOCHS, search=None, lrs=RATES, **changes):
    """Trials that sleep instead of training, for longer than any test takes."""
    return experiment(
        model=dict(SLOW),
        train={"epochs": epochs, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        search={"metric": "val_loss", "mode": "min", **(search or {"procedure": "grid"})},
        space={"train.optimizer.lr": list(lrs)},
        run={"dir": folder, "device": "cpu", "checkpoint_every_s": 0.05},
        **changes,
    )


class Ctl(Case):
    def ctl(self, *args):
        return self.run_hopscotch("ctl", "out", *args)

    def do(self, *args):
        code, out, err = self.ctl(*args)
        self.assertEqual((code, err), (0, ""), out)
        return out.strip()

    def refused(self, *args):
        code, out, err = self.ctl(*args)
        self.assertEqual((code, out), (1, ""), err)
        return err.strip()

    def begun(self, *args, np=None, quiet=("--quiet",), **sections):
        shutil.rmtree(self.cwd / "out", ignore_errors=True)
        self.write(live(**sections))
        process = self.start("run", "e.json", *quiet, *args, np=np)
        self.wait_for_event(process)
        return process

    def post(self, **request):
        """What hopscotch ctl would, for a job that has not begun to look."""
        inbox = self.cwd / "out/inbox"
        inbox.mkdir(exist_ok=True)
        (inbox / "0001-test.tmp").write_text(json.dumps({**request, "until_unix_s": time.time() + WAIT_LIMIT_S}))
        (inbox / "0001-test.tmp").rename(inbox / "0001-test.json")

    def ended(self, trial):
        return [line for line in self.journal() if line["event"] == "trial_ended" and line["trial"] == trial]

    def orders(self):
        return [line["kind"] for line in self.journal() if line["event"] == "order"]

    def lap_of(self, trial, at_least=0):
        return any(lap["trial"] == trial and lap["epoch"] >= at_least for lap in self.laps())

    def finished(self, process):
        out, err = self.end_of(process)
        self.assertEqual(process.returncode, 0, out + err)
        return self.summary()

    def statuses(self):
        return [(trial["status"], trial["reason"]) for trial in self.summary()["trials"]]


class Wishes(Ctl):
    def test_stop_and_finish(self):
        for strategy in ({"name": "mop"}, {"name": "task_parallel"}, {"name": "sequential"}):
            with self.subTest(strategy=strategy):
                process = self.begun("--trainers", "2", strategy=strategy)
                self.assertEqual(self.do("stop", "1"), "trial 1 stops")
                self.wait_for(lambda: self.ended(1), "the end of trial 1", process)
                self.assertEqual([end["reason"] for end in self.ended(1)], ["stopped by a user"])
                self.assertEqual(self.refused("stop", "1"), "trial 1 has ended already: stopped")
                self.assertTrue(self.do("finish").startswith("the run finishes"))
                summary = self.finished(process)
                self.assertEqual((summary["status"], summary["reason"]), ("finished", "finished by a user"))
                self.assertEqual(self.statuses()[1], ("stopped", "stopped by a user"))
                self.assertEqual(self.orders(), ["stop", "finish"])
                self.assertEqual(list((self.cwd / "out/inbox").iterdir()), [])

    def test_a_stopped_trial_leaves_its_lap(self):
        process = self.begun("--trainers", "2", quiet=(), lrs=[0.1, 0.2])
        self.do("stop", "0")
        left = lambda: [lap for lap in self.laps() if lap["outcome"] == "stopped"]
        self.wait_for(left, "the lap that is left", process)
        self.do("finish")
        out, err = self.end_of(process)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("] 100%  in ", err, "the laps that were not trained do not count as work that is left")
        self.assertEqual([(lap["trial"], lap["reason"]) for lap in left()], [(0, "stopped by a user")])
        self.assertEqual(left()[0]["validation"]["rows"], 0)
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_resume(self):
        process = self.begun("--trainers", "2", lrs=[0.1, 0.2], epochs=80)
        self.do("stop", "0")
        self.wait_for(lambda: self.ended(0), "the end of trial 0", process)
        done = max([lap["epoch"] for lap in self.laps() if lap["trial"] == 0 and lap["outcome"] == "finished"], default=-1)
        self.assertIn("up to 80", self.do("resume", "0"))
        self.wait_for(lambda: self.lap_of(0, done + 3), "a lap of the trial that goes on", process)
        self.assertNotIn("stopped", self.do("status").split("best")[0])
        self.finished(process)
        self.assertEqual(self.statuses(), [("finished", "")] * 2)
        self.assertEqual([trial["epochs"] for trial in self.summary()["trials"]], [80, 80])
        laps = [(lap["trial"], lap["epoch"], lap["state_hash"]) for lap in self.laps() if lap["outcome"] == "finished"]
        # The lap under way at the stop may end behind it. Then it does not count, and comes again with the same bits.
        if len(laps) > len(set(laps)):
            ((trial, epoch, _),) = [lap for lap in set(laps) if laps.count(lap) == 2]
            self.assertEqual(trial, 0)
            self.assertIn(epoch, (done, done + 1))
        self.assertEqual(sorted(lap[:2] for lap in set(laps)), [(trial, epoch) for trial in range(2) for epoch in range(80)])
        self.assertLessEqual(len(laps), 161)

    def test_clone(self):
        process = self.begun("--trainers", "2", lrs=[0.1, 0.2], epochs=40)
        self.assertIn("a clone of trial 1 goes on after epoch ", self.do("clone", "1", "train.optimizer.lr=0.05"))
        self.wait_for(lambda: self.lap_of(2), "a lap of the clone", process)
        self.finished(process)
        released = [line for line in self.journal() if line["event"] == "lap_released" and line["trial"] == 2]
        source = released[0]["clone_of"]
        self.assertEqual((source["trial"], source["epoch"] + 1), (1, released[0]["epoch"]))
        self.assertEqual(self.summary()["trials"][2]["config"], {"train.optimizer.lr": 0.05})
        self.assertEqual(self.statuses()[2], ("finished", ""))
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_a_clone_that_cannot_begin_is_told(self):
        """A user clones a trial in its first lap, and then stops the trial before that lap ends."""
        self.write(live(lrs=[0.1], strategy={"name": "sequential"}))
        ordered = self.cwd / "ordered"
        fault = {
            "HOPSCOTCH_FAULT": "unit.begin:1:hold:1",
            "HOPSCOTCH_FAULT_HOLD_S": str(RUN_LIMIT_S),
            "HOPSCOTCH_FAULT_HOLD_UNTIL": str(ordered),
        }
        process = self.start("run", "e.json", np=2, env=fault)
        self.wait_for_event(process, "lap_released")
        for kind in ("clone", "stop"):
            self.post(kind=kind, trial=0)
            self.wait_for(lambda: kind in self.orders(), "the order", process)
        ordered.touch()
        out, err = self.end_of(process)
        self.assertEqual(process.returncode, 1, out + err)  # no trial has an epoch
        self.assertEqual(self.statuses(), [("stopped", "stopped by a user")])
        self.assertIn("a clone of trial 0 has not begun (the trial ended before the end of epoch 0)", err)

    def test_what_makes_no_sense_is_refused(self):
        process = self.begun("--trainers", "1", lrs=[0.1, 0.2])
        for message, args in (
            ("there is no trial 9 (there are 2: 0 to 1)", ("stop", "9")),
            ("trial 0 is running; only paused and stopped trials can continue", ("resume", "0")),
        ):
            self.assertEqual(self.refused(*args), message)
        self.assertIn("must be > 0", self.refused("clone", "0", "train.batch_size=0") + "must be > 0")
        self.assertIn("unknown", self.refused("clone", "0", "train.optimizer.lrr=0.1"))
        self.assertIn("alter the layout of the state", self.refused("clone", "0", "train.optimizer.momentum=0.9"))
        new_code = ("clone", "0", "model.name=plugin", "model.file=odd.so")
        self.assertIn("the run did not begin with the model file odd.so", self.refused(*new_code))
        inbox = self.cwd / "out/inbox"
        for number, text in enumerate(
            ("", "[]", '{"kind": "jump"}', '{"kind": "stop", "trial": -1}', "\0" * 100, '{"kind": "finish"}')
        ):
            (inbox / f"{number:04}-x.json").write_text(text)
            self.wait_for(lambda: (inbox / f"{number:04}-x.done.json").exists(), f"an answer to {text}", process)
            self.assertIn('"ok":false', (inbox / f"{number:04}-x.done.json").read_text().replace(" ", ""))
        self.do("finish")
        self.finished(process)

    def test_without_a_job(self):
        self.write(live(epochs=1))
        self.succeed("--quiet", "--trainers", "1")
        self.assertEqual(self.refused("finish"), "out: this run is finished; no job works on it that could obey")
        self.assertFalse(any((self.cwd / "out/inbox").glob("*")))
        (self.cwd / "out/summary.json").rename(self.cwd / "summary.json")  # as of a job that was killed
        self.assertIn("no job has answered within 0.2 s", self.refused("finish", "--timeout", "0.2"))
        self.assertEqual(list((self.cwd / "out/inbox").iterdir()), [])
        (self.cwd / "summary.json").rename(self.cwd / "out/summary.json")
        out = self.do("status")
        for part in ("e2e: out", "status    finished", "progress  100 %", "trials    3 finished", "best      trial"):
            self.assertIn(part, out)
        for args, message in (
            (("jump",), "is unknown (known: status, stop, resume, clone, finish)\n"),
            (("stauts",), 'is unknown (known: status, stop, resume, clone, finish); did you mean "status"?\n'),
            (("stop",), "no trial is given"),
            (("stop", "x"), "is not a trial"),
            (("stop", "1", "2"), "unexpected argument"),
            (("clone", "1", "lr"), "expected path=value"),
        ):
            code, _, err = self.ctl(*args)
            self.assertEqual(code, 2)
            self.assertIn(message, err)
        self.assertEqual(self.run_hopscotch("ctl", "nowhere", "status")[0], 2)


class Followed(Ctl):
    """ctl RUN_DIR status --follow, and the view on the terminal of the run."""

    def killed(self):
        process = self.begun("--trainers", "2")
        self.wait_for(lambda: (self.cwd / "out/live.json").exists(), "a view", process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def test_until_the_end(self):
        process = self.begun("--trainers", "2")
        follower = subprocess.Popen(
            [BINARY, "ctl", "out", "status", "--follow"],
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.do("finish")
        self.finished(process)
        out, err = follower.communicate(timeout=RUN_LIMIT_S)
        self.assertEqual((follower.returncode, err), (0, ""), out)
        self.assertIn("status    finished\nprogress  100 %\n", out)
        self.assertEqual(self.ctl("status", "--follow")[0], 0)
        self.assertEqual(self.ctl("stop", "1", "--follow")[0], 2)

    def test_after_a_crash(self):
        self.killed()
        path = self.cwd / "out/live.json"
        view = json.loads(path.read_text())
        self.assertEqual((view["status"], len(view["trainers"])), ("training", 2))
        view["unix_s"] -= 500
        path.write_text(json.dumps(view))
        lines = (self.cwd / "out/journal.jsonl").read_text().splitlines()
        old = [
            json.dumps({**line, **({"unix_s": line["unix_s"] - 500} if "unix_s" in line else {})})
            for line in map(json.loads, lines)
        ]
        (self.cwd / "out/journal.jsonl").write_text("\n".join(old) + "\n")
        code, out, err = self.ctl("status", "--follow")
        self.assertEqual((code, err), (1, ""), out)
        self.assertRegex(
            out, r"status    no sign of life for 8m\d\ds: the job was killed, or its host is out of reach; --resume"
        )
        path.write_text('{"name": 3}')
        code, out, err = self.ctl("status")
        self.assertEqual(code, 0)
        self.assertIn("status    no sign of life for 8m", out)
        self.assertIn("out/live.json: ", err)
        code, _, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2)
        self.assertIn("out: holds a run that has not finished; use --resume to continue it", err)

    def test_on_a_terminal(self):
        self.write(live())
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        process = subprocess.Popen(
            [BINARY, "run", "e.json", "--trainers", "2"],
            cwd=self.cwd,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        os.close(terminal)
        said = b""
        while b" epochs" not in said or b"trainer 1 " not in said or b"config" not in said:
            said += os.read(master, 65536)
        process.send_signal(signal.SIGINT)
        try:
            while part := os.read(master, 65536):
                said += part
        except OSError:  # Linux: no one has the other end open
            pass
        os.close(master)
        self.assertEqual(process.wait(), 75)
        text = said.decode()
        self.assertIn("e2e: grid, mop, 12 shards, 2 trainers", text)
        self.assertRegex(text, r"\x1b\[\d+A\r\x1b\[\?7h")  # the cursor goes back above the lines
        self.assertLess(text.rindex("\x1b[J"), text.index("rank trial"), "the view is erased before the result")
        self.assertTrue(text.isascii())


class Decided(Ctl):
    """A search that decides goes on deciding, and a run that goes on after orders takes the same decisions."""

    ASHA = {"procedure": "asha", "trials": 6, "eta": 2, "sampler": "random"}

    def test_orders_outlive_a_crash(self):
        for seed, order in enumerate((("stop", "0"), ("clone", "0", "train.optimizer.lr=0.05"), ("finish",))):
            with self.subTest(order=order):
                document = live(search=self.ASHA, epochs=64)
                document["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.5}}
                document["seed"] = seed
                self.write(document)
                shutil.rmtree(self.cwd / "out", ignore_errors=True)
                process = self.start("run", "e.json", "--quiet", "--trainers", "3")
                self.wait_for_event(process)
                self.do(*order)
                self.wait_for_event(process, "order")
                laps = len(self.laps()) + (2 if order != ("finish",) else 0)  # which comes with the next one, or with none
                self.wait_for(lambda: len(self.laps()) >= laps, "two more laps", process)
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                before = [line for line in self.journal() if line["event"] == "decision"]
                process = self.start("run", "e.json", "--quiet", "--resume", "--trainers", "2")
                self.finished(process)
                after = [line for line in self.journal() if line["event"] == "decision"]
                self.assertEqual(after[: len(before)], before)
                self.assertEqual({status for status, _ in self.statuses()} - {"finished", "stopped"}, set())
                self.assertEqual([each["kind"] for lap in self.laps() for each in lap.get("orders", [])], [order[0]])
                if order[0] == "clone":
                    self.assertEqual(len(self.summary()["trials"]), 7)

    def test_the_best_lap_came_after_a_stop(self):
        """A lap that was under way at a stop may become the best one. A job that was killed before it wrote best/ has left
        no file of its end, so the lap is trained again."""
        run = {"dir": "out", "device": "cpu", "checkpoint_every_s": 1000, "silence_s": RUN_LIMIT_S}
        train = {"epochs": 30, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.01}}
        search = {"procedure": "grid", "metric": "val_loss"}
        self.write(
            experiment(
                run=run, train=train, search=search, space={"train.optimizer.lr": [0.01]}, strategy={"name": "sequential"}
            )
        )
        # The trainer stops for the order after nine laps. Rank 0 acts on it when the trainer has ended fifteen.
        ahead = self.cwd / "ahead"
        fault = {
            "HOPSCOTCH_FAULT": "lap.done:9:stop:1,lap.done:14:stop:1,order.record:1:hold:0,end.best:1:kill:0",
            "HOPSCOTCH_FAULT_HOLD_S": str(RUN_LIMIT_S),
            "HOPSCOTCH_FAULT_HOLD_UNTIL": str(ahead),
        }
        process = self.start("run", "e.json", "--quiet", np=2, env=fault)
        self.wait_for_event(process)
        trainer = self.pid_of_rank(process, 1)
        self.wait_for_stop(process, trainer)
        self.post(kind="finish")
        self.wait_for(lambda: "finish" in self.orders(), "the order", process)
        os.kill(trainer, signal.SIGCONT)
        self.wait_for_stop(process, trainer)
        ahead.touch()
        os.kill(trainer, signal.SIGCONT)
        self.end_of(process)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse((self.cwd / "out/best/model.json").exists())
        (end,) = self.ended(0)
        best = max(lap["epoch"] for lap in self.laps())
        self.assertGreater(best, end["epochs"], "the last laps came after the end")
        self.finished(self.start("run", "e.json", "--quiet", "--resume", "--trainers", "2"))
        self.assertEqual(self.summary()["trials"][0]["best"]["epoch"], best)
        self.assertEqual(strict_json((self.cwd / "out/best/model.json").read_text())["epoch"], best)
        self.assertEqual(len(self.laps()), best + 1, "each lap is in the journal once")

    def test_a_paused_trial_is_taken_up(self):
        document = live(search={"procedure": "asha", "trials": 4, "eta": 4, "min_epochs": 2}, epochs=30)
        document["space"] = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.5}}
        self.write(document)
        process = self.start("run", "e.json", "--quiet", "--trainers", "2")
        self.wait_for_event(process, "decision")
        self.wait_for(
            lambda: any(d["event"] == "decision" and d["kind"] == "pause" for d in self.journal()), "a pause", process
        )
        paused = next(d["trial"] for d in self.journal() if d["event"] == "decision" and d["kind"] == "pause")
        code, out, err = self.ctl("resume", str(paused))
        self.finished(process)
        if code == 0:  # else it had gone on already
            self.assertEqual(self.summary()["trials"][paused]["epochs"], 30)

    def test_an_order_outlives_its_job(self):
        self.write(live())
        process = self.start(
            *("run", "e.json", "--quiet", "--trainers", "2"), env={"HOPSCOTCH_FAULT": "order.record:1:kill"}
        )
        self.wait_for_event(process)
        self.post(kind="stop", trial=1)
        process.communicate()
        self.assertEqual((process.returncode, self.orders()), (-signal.SIGKILL, ["stop"]))
        process = self.start("run", "e.json", "--quiet", "--resume", "--trainers", "2")
        self.wait_for(lambda: self.ended(1), "the end of trial 1", process)
        self.do("finish")
        self.finished(process)
        self.assertEqual(self.statuses()[1], ("stopped", "stopped by a user"))


class Late(Ctl):
    """Orders that come while rank 0 is far behind its trainers, or that a job finds when it goes on with a run."""

    GRID = {"train.optimizer.lr": [0.03, 0.1]}

    def begin(self, folder="out", **run):
        """Small networks; the job is killed when it hears of the first lap, which is not recorded."""
        run = {"dir": folder, "device": "cpu", "checkpoint_every_s": 1000, **run}
        train = {"epochs": 8, "batch_size": 64, "optimizer": {"name": "sgd", "lr": 0.1}}
        self.write(experiment(train=train, space=self.GRID, run=run), f"{folder}.json")
        self.go_on_with(folder, "lap.record:1:kill", -signal.SIGKILL)

    def go_on_with(self, folder="out", fault="", expected=0):
        code, out, err = self.run_hopscotch(
            "run", f"{folder}.json", "--quiet", "--resume", "--trainers", "1", env={"HOPSCOTCH_FAULT": fault}
        )
        self.assertEqual(code, expected, out + err)
        return err

    def append(self, folder="out", **line):
        """A line of the journal, as the job before would have written it."""
        with open(self.cwd / folder / "journal.jsonl", "a") as journal:
            journal.write(json.dumps({"unix_s": time.time(), **line}) + "\n")

    def states(self, folder="out"):
        return [(trial["status"], trial["epochs"], trial["state_hash"]) for trial in self.summary(folder)["trials"]]

    def replays(self):
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_the_end_of_a_lap_that_is_asked_for_too_late(self):
        """Rank 0 stands still while its trainer goes on: what it asks for then is gone, and that lap is trained again."""
        train = {"epochs": 150, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}}
        # Rank 0 waits deadline_s for a state that is gone.
        run = {
            "dir": "out",
            "device": "cpu",
            "checkpoint_every_s": 1000,
            "deadline_s": 2 * SILENCE_S,
            "silence_s": RUN_LIMIT_S,
        }
        self.write(experiment(train=train, space={"train.optimizer.lr": [0.1]}, run=run))
        # Rank 0 stops when it has heard of 54 laps, its trainer far behind them: on a busy machine rank 0 is many laps late,
        # and what a trainer has not sent when it stops does not come.
        fault = {"HOPSCOTCH_FAULT": "lap.record:55:stop:0,lap.done:140:stop:1"}
        process = self.start("run", "e.json", "--quiet", np=2, env=fault)
        self.wait_for_event(process)
        rank0, trainer = (self.pid_of_rank(process, rank) for rank in (0, 1))
        for pid in (rank0, trainer):
            self.wait_for_stop(process, pid)
        self.post(kind="clone", trial=0, changes={"train.optimizer.lr": 0.05})
        os.kill(rank0, signal.SIGCONT)
        self.wait_for(lambda: not (self.cwd / "out/inbox/0001-test.json").exists(), "look at the inbox", process)
        os.kill(trainer, signal.SIGCONT)
        out, err = self.end_of(process)
        self.assertEqual([status for status, _, _ in self.states()], ["finished"] * 2, out + err)
        self.assertRegex(err, r"trial 1 begins with the state of trial 0 after epoch \d+, which no file holds")
        self.replays()

    def test_laps_of_the_life_before_do_not_count(self):
        """A trial is stopped and taken up, while rank 0 has not heard yet of laps that it had ended before."""
        self.begin("quiet")
        self.go_on_with("quiet")
        self.begin()
        self.append(event="order", kind="stop", trial=0, why="stopped by a user")
        faults = ",".join(["lap.record:1:delay"] * 5)
        with unittest.mock.patch.dict(os.environ, {"HOPSCOTCH_FAULT": faults}):
            process = self.start("run", "out.json", "--quiet", "--resume", "--trainers", "1")
        self.wait_for(lambda: self.ended(0), "the end of trial 0", process)
        self.post(kind="resume", trial=0)
        self.finished(process)
        self.assertIn("resume", self.orders())
        self.assertEqual(self.states(), self.states("quiet"))
        self.replays()

    def test_a_clone_in_a_journal_without_hashes(self):
        """As older versions have written it: first the order waits, then the clone has begun."""
        self.begin(checkpoint_every_s=0.01)
        self.go_on_with(fault="lap.record:4:kill", expected=-signal.SIGKILL)
        clone = {"kind": "clone", "trial": 0, "epoch": 0, "assignment": {"train.optimizer.lr": 0.05}}
        self.append(event="order", **clone, why="cloned by a user")
        shutil.copytree(self.cwd / "out", self.cwd / "old")
        self.go_on_with()
        document = strict_json((self.cwd / "out.json").read_text())
        document["run"]["dir"] = "old"
        self.write(document, "old.json")
        for fault in ("lap.record:5:kill", ""):
            lines = self.journal("old")
            for line in lines:
                for key in ("begin_hash", "end_hash", *(["state_hash"] if line["event"] == "checkpoint" else [])):
                    line.pop(key, None)
            (self.cwd / "old/journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            self.go_on_with("old", fault, -signal.SIGKILL if fault else 0)
            self.assertTrue(any("clone_of" in line for line in self.journal("old")))
        self.assertEqual(len(self.states()), 3)
        self.assertEqual(self.states("old"), self.states())


class Retries(Ctl):
    """Rows that cannot be read are not the fault of a trial."""

    def run_with(self, retries, folder, fault, strategy="mop"):
        self.write(
            experiment(
                train={"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                strategy={"name": strategy},
                search={"procedure": "grid", "retries": retries},
                run={"dir": folder, "device": "cpu", "checkpoint_every_s": 0.02},
            )
        )
        code, out, err = self.run_hopscotch(
            "run", "e.json", "--quiet", "--trainers", "2", env={"HOPSCOTCH_FAULT": fault} if fault else {}
        )
        self.assertEqual(code, 0, out + err)
        summary = self.summary(folder)
        return [(trial["status"], trial["epochs"], trial["state_hash"]) for trial in summary["trials"]], summary.get(
            "retries", 0
        )

    def test_goes_back_and_ends_with_the_same_bits(self):
        expected, none = self.run_with(0, "quiet", "")
        self.assertEqual(none, 0)
        for strategy in ("mop", "task_parallel"):
            with self.subTest(strategy=strategy):
                once, twice = "unit.rows:30:enospc", "unit.rows:30:enospc,unit.rows:60:enospc"
                if LONG or strategy == "mop":
                    failed, _ = self.run_with(0, f"none-{strategy}", once, strategy)
                    self.assertEqual(sorted(status for status, _, _ in failed), ["failed", "finished"])
                    self.assertEqual(self.run_with(1, f"one-{strategy}", once, strategy), (expected, 1))
                self.assertEqual(self.run_with(2, f"two-{strategy}", twice, strategy), (expected, 2))
                retries = [line for line in self.journal(f"two-{strategy}") if line["event"] == "retry"]
                self.assertEqual(len(retries), 2)
                self.assertIn("No space left on device", retries[0]["reason"])
                code, out, err = self.run_hopscotch("replay", f"two-{strategy}")
                self.assertEqual((code, err), (0, ""), out)

    def test_what_is_its_own_is_not_tried_again(self):
        statuses, retries = self.run_with(3, "own", "unit.rows:30:throw")
        self.assertEqual((sorted(status for status, _, _ in statuses), retries), (["failed", "finished"], 0))


class Hours(Ctl):
    def test_the_whole_run(self):
        self.write(live(search={"procedure": "grid", "budget": {"hours": 1 / 3600}}))
        process = self.start("run", "e.json", "--quiet", "--trainers", "2")
        summary = self.finished(process)
        self.assertRegex(summary["reason"], "budget.hours .* are used up")
        self.assertTrue(all(trial["epochs"] < EPOCHS for trial in summary["trials"]))

    def test_one_trial(self):
        self.write(live(lrs=[0.1], search={"procedure": "grid", "budget": {"hours_per_trial": 0.5 / 3600}}))
        process = self.start("run", "e.json", "--quiet", "--trainers", "1")
        summary = self.finished(process)
        self.assertRegex(self.statuses()[0][1], "budget.hours_per_trial .* are used up")
        self.assertLess(summary["trials"][0]["epochs"], EPOCHS)


if __name__ == "__main__":
    unittest.main()
