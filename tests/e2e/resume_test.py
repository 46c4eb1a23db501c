# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed and go on with --resume: the same states, metrics and best model as one that no one disturbed."""

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import unittest

from harness import LONG, Case, and_long, every, experiment, owners, strict_json
from limits import PATIENCE
from stored import machine

TRAIN = {"epochs": 6, "batch_size": 4, "optimizer": {"name": "adam", "lr": 0.01}}
TOGETHER = {**TRAIN, "epochs": 4, "batch_size": 16}  # where trainers wait for each other in every step, which takes longer
MODEL = {"name": "mlp", "hidden": [48], "dropout": 0.2}
SPACE = {"train.optimizer.lr": [0.001, 0.003, 0.01, 0.03]}
RANGE = {"type": "float", "low": 0.001, "high": 0.03}
OTHERS = [
    {"name": "task_parallel"},
    {"name": "sequential"},
    {"name": "allreduce"},
    {"name": "parameter_server"},
    {"name": "model_averaging", "momentum": "averaged"},
]
OTHERS = [*every("strategy", "name", OTHERS, without=("mop",)), {"name": "model_averaging"}]
TOGETHER_NAMES = owners("strategy", "scale_lr", name="mop")


def disturbed(folder="out", **changes):
    """Checkpoints all the time, also inside units."""
    run = {"dir": folder, "device": "cpu", "checkpoint_every_s": 0.02}
    return experiment(**{"model": MODEL, "train": TRAIN, "space": SPACE, "run": run, **changes})


def waits_for(number, pid):
    """Whether that signal has reached the process, which cannot take it now."""
    pending = re.search(r"ShdPnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]
    return int(pending, 16) >> (number - 1) & 1 == 1


class Disturbed(Case):
    def outcome(self, folder):
        """What must not depend on how often a run was killed."""
        return *self.results(folder), self.hashes(folder)

    def results(self, folder):
        summary = self.summary(folder)
        best = hashlib.sha256((self.cwd / folder / "best/model.safetensors").read_bytes()).hexdigest()
        trials = [
            (
                trial["id"],
                trial["status"],
                trial["state_hash"],
                trial["epochs"],
                *((trial["best"]["epoch"], trial["best"]["val_loss"]) if trial["best"] else ()),
            )
            for trial in summary["trials"]
        ]
        return [summary["status"], summary["best_trial"], trials, best]

    known_outcomes = {}  # of all suites of this process

    def undisturbed(self, trainers="3", **changes):
        document = disturbed("quiet", **{"strategy": {"name": "mop"}, **changes})
        key = trainers + json.dumps(document)
        if key not in self.known_outcomes:
            self.write(document, "quiet.json")
            code, out, err = self.run_hopscotch("run", "quiet.json", "--quiet", "--overwrite", "--trainers", trainers)
            self.assertEqual(code, 0, err + out)
            self.known_outcomes[key] = self.outcome("quiet")
        return self.known_outcomes[key]

    def killed_at_lap(self, laps, trainers="3", *options):
        """SIGKILL as rank 0 receives the lap after this many of this job: never too late, however slow the machine is."""
        fault = {"HOPSCOTCH_FAULT": f"lap.record:{laps + 1}:kill"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", trainers, *options, env=fault)
        self.assertEqual(code, -signal.SIGKILL, err + out)

    def interrupted_at_lap(self, laps, trainers):
        """SIGUSR1, likewise."""
        fault = {"HOPSCOTCH_FAULT": f"lap.record:{laps}:signal"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", trainers, env=fault)
        self.assertEqual(code, 75, err + out)

    def files_by_trial(self):
        """Of trials that have not ended: the names of their files that are there, the newest first."""
        ended = {line["trial"] for line in self.journal() if line["event"] == "trial_ended"}
        files = {}
        for line in self.journal():
            if line["event"] == "checkpoint" and line["trial"] not in ended and (self.cwd / "out" / line["file"]).exists():
                place = (line["epoch"], line["step"], line["batch"])
                files.setdefault(line["trial"], set()).add((place, line["file"]))
        return {trial: [name for _, name in sorted(those, reverse=True)] for trial, those in files.items()}

    def killed_with_files(self, there, number, trainers="3"):
        """Killed at a checkpoint, and the jobs after it, too, until the files are what the test needs: how many laps a
        machine ends between two checkpoints is its own affair."""
        self.killed_at_a_checkpoint(number, trainers=trainers)
        for _ in range(20):
            if there():
                return
            self.killed_at_a_checkpoint(5, "--resume", trainers=trainers)
        self.fail("20 kills, and still not the files that the test needs")

    def killed_at_a_checkpoint(self, number, *more, trainers="3"):
        code, _, err = self.run_hopscotch(
            *("run", "e.json", "--quiet", "--trainers", trainers, *more),
            env={"HOPSCOTCH_FAULT": f"unit.begin:1:jitter,checkpoint.rename:{number}:kill"},
        )
        self.assertEqual(code, -signal.SIGKILL, err)
        return err

    def resumed(self, trainers="3", folder="out"):
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", trainers)
        self.assertEqual(code, 0, err + out)
        return err


SLOW_LIMIT_S = 4 * PATIENCE


class SlowStart(Disturbed):
    """Ranks that take longer for the start than others wait for an answer: they are slow, not lost."""

    def start_with(self, fault, scheduler="dedicated", np=3):
        document = disturbed(train={**TRAIN, "epochs": 1})
        document["run"] |= {"scheduler": scheduler, "deadline_s": SLOW_LIMIT_S}
        self.write(document)
        trainers = () if np else ("--trainers", "2")
        code, out, err = self.run_hopscotch(
            *("run", "e.json", "--quiet", "--overwrite", *trainers),
            np=np,
            env={
                "HOPSCOTCH_FAULT": fault,
                "HOPSCOTCH_FAULT_HOLD_S": str(2 * SLOW_LIMIT_S),
                "HOPSCOTCH_START_DEADLINE_S": str(SLOW_LIMIT_S),
            },
        )
        self.assertEqual(code, 0, err + out)
        self.assertGreaterEqual(self.summary()["setup_s"], 2 * SLOW_LIMIT_S)  # else the fault was none

    def test_rank_0_prepares(self):
        self.start_with("start.prepare:1:hold:0")
        for fault, options in and_long([], [(":0", {"scheduler": "shared"}), ("", {"np": None})]):
            self.start_with(f"start.prepare:1:hold{fault}", **options)

    def test_a_trainer_that_never_opens_its_data(self):
        """The job ends when run.setup_s is over."""
        document = disturbed()
        document["run"]["setup_s"] = 1
        self.write(document)
        code, _, err = self.run_hopscotch(
            "run", "e.json", "--quiet", "--trainers", "2", env={"HOPSCOTCH_FAULT": "start.hello:1:hold"}
        )
        self.assertEqual(code, 75, err)
        self.assertRegex(
            err, r"rank\(s\) [12] did not open their data within 1 s .*; look at their hosts, or raise run.setup_s"
        )
        self.assertFalse((self.cwd / "out").exists())

    def test_a_trainer_opens_its_data(self):
        for fault, np in and_long([("start.hello:1:hold", None)], [("start.hello:1:hold:1", 3)]):
            self.start_with(fault, np=np)


class TestRows(Disturbed):
    import_options = ("--test", "0.1")
    known_outcomes = {}  # not those of other suites: the training rows differ

    def test_killed_between_the_best_model_and_the_summary(self):
        """What the first job found on the test rows is not lost."""
        self.undisturbed()
        self.write(disturbed())
        fault = {"HOPSCOTCH_FAULT": "summary.append:1:kill"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "3", env=fault)
        self.assertEqual(code, -signal.SIGKILL, err + out)
        self.assertTrue((self.cwd / "out/best/model.json").exists())
        self.assertFalse((self.cwd / "out/summary.json").exists())
        self.resumed()
        self.assertIsNotNone(self.summary("out")["test"])
        self.assertEqual(self.summary("out")["test"], self.summary("quiet")["test"])


class Resume(Disturbed):
    def test_killed_again_and_again(self):
        expected = self.undisturbed()
        self.write(disturbed())
        self.killed_at_lap(2)
        numbers = random.Random(7)
        for laps in and_long([4, 6], [5, 3]):  # fewer than are left, whatever was lost
            self.killed_at_lap(laps, str(numbers.randrange(1, 5)), "--resume")
        self.resumed(trainers="2")
        self.assertEqual(self.outcome("out"), expected)
        self.assertIn(
            sum(line["event"] == "run_resumed" for line in self.journal()), range(1, 6)
        )  # some die before they say so
        self.assertFalse((self.cwd / "out/checkpoints").exists())
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_damaged_checkpoints(self):
        """The newest of every second trial has another bit, that of the others is cut."""
        expected = self.undisturbed()
        self.write(disturbed())
        self.killed_with_files(self.files_by_trial, 13)
        newest = [names[0] for _, names in sorted(self.files_by_trial().items())]
        for number, name in enumerate(newest):
            path = self.cwd / "out" / name
            content = bytearray(path.read_bytes())
            if number % 2 == 0:
                content[len(content) // 2] ^= 1
            else:
                del content[len(content) // 3 :]
            path.write_bytes(content)
        with open(self.cwd / "out/journal.jsonl", "a") as journal:
            journal.write('{"event": "lap_do' + 5000 * "\0")  # torn by a power cut
        err = self.resumed()
        for name in newest:
            self.assertIn(name, err)
        self.assertIn("an older checkpoint is used", err)
        self.assertEqual(self.outcome("out"), expected)

    def saving(self, keep):
        """Many checkpoints within one lap, of which this many stay; what the undisturbed run leaves."""
        train = {**TRAIN, "epochs": 1, "batch_size": 2}
        document = disturbed(train=train)
        slow = [f"slow:rank={rank},factor=20" for rank in (1, 2, 3)]  # the disk keeps up
        document["run"] |= {"checkpoint_keep": keep, "checkpoint_every_s": 0.001, "inject": slow}
        self.write(document)
        return self.undisturbed(train=train)

    def test_as_many_files_as_the_experiment_keeps(self):
        """The newest are damaged: the one before them is where the trial continues, and nothing else changes. The next job
        is killed, too, when it has saved again: its own files count, not those that it could not use."""
        expected = self.saving(keep=4)
        self.killed_with_files(lambda: max(map(len, self.files_by_trial().values()), default=0) >= 4, 20)
        files = self.files_by_trial()
        trial = max(files, key=lambda each: len(files[each]))
        *damaged, left = files[trial][:4]
        for name in damaged:
            path = self.cwd / "out" / name
            path.write_bytes(path.read_bytes()[:-1])
        err = self.killed_at_a_checkpoint(9, "--resume")
        for name in damaged:
            self.assertIn(f"{name}: is", err)
        self.assertNotIn(left, err)
        self.assertTrue(set(self.files_by_trial()[trial]) - {*damaged}, "a file that the trial can continue from")
        self.resumed()
        self.assertEqual(self.outcome("out"), expected)

    def test_one_file_of_a_trial(self):
        """While a trial trains, its newest file is always there; without that file the trial is trained from its begin."""
        expected = self.saving(keep=1)
        self.killed_with_files(self.files_by_trial, 12)
        for name in next(iter(self.files_by_trial().values())):
            (self.cwd / "out" / name).write_bytes(b"")
        self.assertIn("an older checkpoint is used", self.resumed())
        self.assertEqual(self.outcome("out"), expected)

    def test_only_files_that_trials_start_from_are_read(self):
        expected = self.undisturbed()
        self.write(disturbed())
        older = lambda: [name for names in self.files_by_trial().values() for name in names[1:]]
        self.killed_with_files(lambda: len(older()) > 2, 21)
        others = older()
        for file in others:
            path = self.cwd / "out" / file
            path.write_bytes(path.read_bytes()[:-1])
        code, out, err = self.run_hopscotch(
            *("run", "e.json", "--resume", "--trainers", "3"), env={"HOPSCOTCH_FAULT": "resume.checkpoint:1:hold"}
        )
        self.assertEqual(code, 0, err + out)
        # The way to the best state so far may begin with one of them.
        self.assertLess(len({file.partition("-e")[0] for file in others if file in err}), 2, err)
        self.assertRegex(err, r"resume: [0-9.]+ of [0-9.]+ MB of checkpoints verified")
        self.assertEqual(self.outcome("out"), expected)

    def test_damaged_units(self):
        """Only times are lost, not the run."""
        *results, _ = self.undisturbed()
        self.write(disturbed())
        self.killed_at_lap(8)
        path = self.cwd / "out/units-1.bin"
        path.write_bytes(path.read_bytes()[:100])
        self.assertRegex(
            self.resumed(), r"units-1.bin: the units of trial \d+, epoch \d+ cannot be read .*; the run goes on"
        )
        self.assertEqual(self.results("out"), results)

    def test_a_file_that_holds_another_state(self):
        """The journal knows what is in each file: one with other contents is as good as none, however whole it is."""
        expected = self.undisturbed()
        self.write(disturbed())
        self.killed_with_files(self.files_by_trial, 17)
        path = self.cwd / "out/journal.jsonl"
        whole, _, _ = path.read_text().rpartition("\n")
        lines = [strict_json(line) for line in whole.splitlines()]
        newest = {line["trial"]: line for line in lines if line["event"] == "checkpoint"}
        for line in newest.values():
            line["state_hash"] = "00000000000000ff"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        err = self.resumed()
        self.assertIn("its state differs from the journal's; an older checkpoint is used", err)
        self.assertEqual(self.outcome("out"), expected)

    def inside_laps(self, folder):
        """Trials whose newest file is of a lap that was not finished, behind its first step."""
        done, newest = {}, {}
        for line in self.journal(folder):
            if line["event"] == "lap_done":
                done[line["trial"]] = line["epoch"] + 1
            elif line["event"] == "checkpoint":
                newest[line["trial"]] = (line["epoch"], line["batch"])
        return [trial for trial, (epoch, batch) in newest.items() if batch > 0 and epoch == done.get(trial, 0)]

    def test_inside_a_lap_of_all_trainers(self):
        """Batch statistics of each trainer's own rows, optimizers of its own: each goes on with its own."""
        changes = {"model": {**MODEL, "batch_norm": True}, "train": {**TOGETHER, "batch_size": 12}}
        some = [{"name": "allreduce"}, {"name": "model_averaging", "every": 5}]
        for number, strategy in enumerate(and_long(some, [{**some[1], "momentum": "averaged"}])):
            with self.subTest(strategy=strategy):
                expected = self.undisturbed(strategy=strategy, **changes)
                folder = f"out{number}"
                document = disturbed(folder, strategy=strategy, **changes)
                document["run"]["checkpoint_every_s"] = 0.0001  # at every step: some file is of the middle of a lap
                self.write(document)
                inside = times = 0
                while times < (4 if LONG else 1) or inside == 0 and times < 10:
                    # Trainers are slower than the disk: otherwise the newest file may be of a lap that has ended.
                    at_a_checkpoint = {"HOPSCOTCH_FAULT": f"group.look:1:jitter,checkpoint.rename:{5 + times}:kill"}
                    resume = ["--resume"] if times else []
                    code, out, err = self.run_hopscotch(
                        "run", "e.json", "--quiet", "--trainers", "3", *resume, env=at_a_checkpoint
                    )
                    self.assertEqual(code, -signal.SIGKILL, out + err)
                    inside += len(self.inside_laps(folder))
                    times += 1
                self.assertGreater(inside, 0)
                self.resumed()
                self.assertEqual(self.outcome(folder), expected)

    def test_without_any_checkpoint(self):
        expected = self.undisturbed()
        document = disturbed()
        document["run"]["checkpoint_every_s"] = 1000
        self.write(document)
        self.killed_at_lap(12)
        self.resumed()
        self.assertEqual(self.outcome("out"), expected)

    def test_of_a_run_that_has_ended(self):
        self.write(disturbed(train={**TRAIN, "epochs": 1}))
        self.resumed()  # nothing is there yet
        expected = self.outcome("out")
        self.assertEqual(expected[0], "finished")
        before = self.listing()
        self.resumed(trainers="2")
        self.assertEqual((self.listing(), self.outcome("out")), (before, expected))
        # What a job had not removed when it was killed.
        (self.cwd / "out/checkpoints").mkdir()
        (self.cwd / "out/checkpoints/trial.ckpt").write_text("left")
        self.resumed()
        self.assertFalse((self.cwd / "out/checkpoints").exists())
        # The same under a launcher: trainers that are sent home before they were welcomed leave in good order.
        code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--quiet", np=3)
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("nothing is left to do", out)

    def test_trials_in_flight(self):
        """As many as the experiment says, however many trials the jobs before have begun."""
        changes = {
            "search": {"procedure": "grid", "in_flight": 2},
            "space": {"train.optimizer.lr": [0.001 * n for n in range(1, 13)]},
            "train": {**TRAIN, "epochs": 2},
        }
        self.write(disturbed(**changes))
        self.interrupted_at_lap(13, "2")  # two laps a trial
        code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--dry-run", "--trainers", "2")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"\b2 (trials )?in flight")
        self.resumed(trainers="2")
        alive, most = set(), 0
        for line in self.journal():
            if line["event"] == "lap_released":
                alive.add(line["trial"])
            elif line["event"] == "trial_ended" and line["status"] != "interrupted":
                alive.discard(line["trial"])
            most = max(most, len(alive))
        self.assertEqual(most, 2)

    def test_seconds_of_all_jobs(self):
        document = experiment(
            model={"name": "synthetic", "parameters": 2000, "seconds_per_batch": 0.005},
            train={"epochs": 4, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        )
        self.write(document)
        self.interrupted_at_lap(2, "1")
        first = self.summary()["wall_s"]
        self.resumed(trainers="1")
        summary = self.summary()
        self.assertEqual((summary["status"], summary["jobs"]), ("finished", 2))
        self.assertLess(summary["makespan_s"], summary["wall_s"])
        self.assertGreater(summary["makespan_s"], summary["lower_bound_s"] * 0.99)
        self.assertGreater(first, 0)

    def test_states_on_the_disk(self):
        # More states than run.state_memory holds: they come and go, and nothing changes.
        expected = self.undisturbed()
        document = disturbed()
        document["run"]["state_memory"] = "1kB"
        document["search"]["in_flight"] = 4  # by default as few as the memory has room for
        self.write(document)
        self.killed_at_lap(6, "1")
        self.resumed(trainers="1")
        self.assertEqual(self.outcome("out"), expected)
        self.assertGreater(self.summary()["spilled_bytes"], 100_000)

    def test_best_of_every_trial(self):
        # Killed in the middle, too: a state that is wanted and lost is trained again.
        document = disturbed("quiet")
        document["run"]["keep_best"] = "trial"
        self.write(document)
        self.succeed("--quiet", "--trainers", "2")
        expected = self.models_of_trials("quiet")
        for laps in and_long([12], [3]):
            document["run"]["dir"] = f"out{laps}"
            self.write(document)
            self.killed_at_lap(laps)
            self.resumed(folder=f"out{laps}")
            self.assertEqual(self.models_of_trials(f"out{laps}"), expected)

    def models_of_trials(self, folder):
        best = {}
        for trial in self.summary(folder)["trials"]:
            directory = self.cwd / folder / f"best/trial-{trial['id']}"
            about = strict_json((directory / "model.json").read_text())
            self.assertEqual((about["trial"], about["epoch"]), (trial["id"], trial["best"]["epoch"]))
            best[trial["id"]] = (
                about["state_hash"],
                hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest(),
            )
        self.assertEqual(len(best), 4)
        of_run = (self.cwd / folder / "best/model.safetensors").read_bytes()
        self.assertEqual(best[self.summary(folder)["best_trial"]][1], hashlib.sha256(of_run).hexdigest())
        return best

    def test_changed_experiments_are_refused(self):
        self.write(disturbed())
        self.killed_at_lap(1)
        self.refuse(
            "out: cannot continue this run with a changed experiment (only the section run, data.stage and strategy.owners "
            "may change, and search.trials may grow); use another run.dir, or undo:\n"
            "  seed: was 42, is 43\n  train.batch_size: was 4, is 8",
            "run",
            "e.json",
            "--resume",
            "--set",
            "train.batch_size=8",
            "--set",
            "seed=43",
            "--trainers",
            "3",
        )
        self.refuse(
            "--resume and --overwrite exclude each other (one continues a run, the other deletes it); choose one",
            "run",
            "e.json",
            "--resume",
            "--overwrite",
        )


class ResumeCommand(Disturbed):
    """`hopscotch resume DIR`: the directory keeps the experiment, with the settings of the first command."""

    def test_settings_of_the_first_command_are_remembered(self):
        document = disturbed()
        expected = self.undisturbed(train={**TRAIN, "batch_size": 8})
        self.write(document)
        self.killed_at_lap(7, "3", "--set", "train.batch_size=8")
        (self.cwd / "e.json").unlink()
        (self.cwd / "out").rename(self.cwd / "moved")
        code, out, err = self.run_hopscotch("resume", "moved", "--quiet", "--trainers", "2")
        self.assertEqual(code, 0, err + out)
        self.assertEqual(self.outcome("moved"), expected)
        code, out, err = self.run_hopscotch("resume", "moved", "--quiet")
        self.assertEqual((code, out), (0, "moved: this run has finished; nothing is left to do\n"), err)

    def test_more_settings(self):
        self.write(disturbed(search={"procedure": "random", "trials": 2}, space={"train.optimizer.lr": RANGE}))
        self.killed_at_lap(3)
        code, out, err = self.run_hopscotch("resume", "out", "--quiet", "--set", "search.trials=3", "--trainers", "2")
        self.assertEqual(code, 0, err + out)
        self.assertEqual(len(self.summary()["trials"]), 3)

    def test_no_run(self):
        self.refuse(
            "digits: holds no run (journal.jsonl or experiment.json is missing); name the run.dir of a run",
            "resume",
            "digits",
        )

    def test_an_experiment_that_somebody_changed(self):
        self.write(disturbed())
        self.killed_at_lap(3)
        path = self.cwd / "out/experiment.json"
        facts = json.loads(path.read_text())
        for experiment, problem in (
            ([], r"out/experiment.json: expected an object \(got an array\).* \(not written by this hopscotch\?\)"),
            (
                {**facts["experiment"], "data": "x"},
                r"out/experiment.json:\d+:\d+: /data: expected an object \(got a string\)",
            ),
            ({**facts["experiment"], "run": 5}, r"out: cannot continue this run with a changed experiment"),
        ):
            path.write_text(json.dumps({**facts, "experiment": experiment}))
            code, out, err = self.run_hopscotch("resume", "out", "--trainers", "2")
            self.assertEqual((code, out), (2, ""), err)
            self.assertRegex(err, "^" + problem)

    def test_what_may_be_somebody_elses_is_not_started(self):
        self.write(
            disturbed(
                run={**disturbed()["run"], "on_end": ["touch", "ended"], "spill": "elsewhere"},
                data={**disturbed()["data"], "stage": "copies"},
            )
        )
        self.killed_at_lap(3)
        for place in ("elsewhere", "copies"):
            shutil.rmtree(self.cwd / place, ignore_errors=True)
        code, out, err = self.run_hopscotch("resume", "out", "--trainers", "2")
        self.assertEqual(code, 0, err + out)
        for key in ("run.on_end", "run.spill", "data.stage"):
            self.assertIn(
                f"{key} of out is not used (the directory may come from another person); --allow-code uses it", err
            )
        for place in ("ended", "elsewhere", "copies"):
            self.assertFalse((self.cwd / place).exists(), place)


class Signals(Disturbed):
    def interrupted(self, folder, strategy, np=None, train=TRAIN):
        """A run that a signal interrupts after five laps; it saves nothing before. Under MPI rank 0 stops until mpirun has
        passed the signal on."""
        document = disturbed(folder, strategy=strategy, train=train)
        document["run"]["checkpoint_every_s"] = 1000
        self.write(document)
        # The others go on until rank 0 has told them: not far, if they wait before units.
        strikes = "lap.record:6:stop:0" if np else "lap.record:6:signal"
        fault = {"HOPSCOTCH_FAULT": f"unit.begin:1:jitter,{strikes}"}
        process = self.start("run", "e.json", "--quiet", *([] if np else ["--trainers", "3"]), np=np, env=fault)
        if np:
            self.wait_for_event(process, folder=folder)
            rank0 = self.pid_of_rank(process, 0)
            self.wait_for_stop(process, rank0)
            process.send_signal(signal.SIGUSR1)
            self.wait_for(lambda: waits_for(signal.SIGUSR1, rank0), "signal from mpirun", process)
            os.kill(rank0, signal.SIGCONT)
        out, err = self.end_of(process, folder)
        self.assertEqual(process.returncode, 75, out + err)
        self.assertEqual(self.summary(folder)["status"], "interrupted")

    def nothing_is_lost(self, folder, epochs):
        """Every trial that was under way has a file of where it was: no lap is trained again."""
        done, saved = {}, {}
        for line in self.journal(folder):
            if line["event"] == "lap_done":
                done[line["trial"]] = line["epoch"] + 1
            elif line["event"] == "checkpoint":
                saved[line["trial"]] = max(saved.get(line["trial"], 0), line["epoch"])
                self.assertTrue((self.cwd / folder / line["file"]).exists() or saved[line["trial"]] > line["epoch"])
        for trial, laps in done.items():
            if laps < epochs:
                self.assertEqual(saved.get(trial), laps, f"trial {trial}")

    def test_every_strategy(self):
        """A signal, then a kill; the last strategy saves inside laps only, since its trainers' optimizers differ. The
        default suite has one strategy of those that hop, one with servers, and the last one."""
        some = [{"name": "mop"}, OTHERS[3], OTHERS[-1]]
        for number, strategy in enumerate([{"name": "mop"}, *OTHERS] if LONG else some):
            np = 4 if strategy["name"] == "mop" else None
            with self.subTest(strategy=strategy):
                train = TOGETHER if strategy["name"] in TOGETHER_NAMES else TRAIN
                expected = self.undisturbed(strategy=strategy, train=train)
                folder = f"out{number}"
                self.interrupted(folder, strategy, np, train)
                if strategy is not OTHERS[-1]:
                    self.nothing_is_lost(folder, train["epochs"])
                left = len(SPACE["train.optimizer.lr"]) * train["epochs"] - len(self.laps(folder))
                if left > 0:
                    self.killed_at_lap(min(4, left - 1), "3", "--resume", "--set", "run.checkpoint_every_s=0.01")
                self.resumed()
                self.assertEqual(self.outcome(folder), expected)


class WrongStates(Disturbed):
    """Files and journals that only hashes can tell from good ones."""

    interrupted = Signals.interrupted

    def edit(self, change):
        """Every line of the journal, by change."""
        lines = self.journal()
        for line in lines:
            change(line)
        (self.cwd / "out/journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def two_files_of_a_trial(self):
        """Of one that has not ended: the file that it goes on from, and one of another place. If no file holds the best
        state of all, the best trial goes on from an older file than its newest. None: there is no such trial."""
        ended = {line["trial"] for line in self.journal() if line["event"] == "trial_ended"}
        most = max((line["validation"]["correct"] for line in self.laps()), default=0)
        left_out = ended | {line["trial"] for line in self.laps() if line["validation"]["correct"] == most}
        files = {}
        for line in self.journal():
            if (
                line["event"] == "checkpoint"
                and line["trial"] not in left_out
                and (self.cwd / "out" / line["file"]).exists()
            ):
                files.setdefault(line["trial"], {})[line["epoch"], line["step"], line["batch"]] = line
        for saved in files.values():
            newest, *others = (saved[place] for place in sorted(saved, reverse=True))
            for older in others:  # a lap ends with the state of its last step
                if older["state_hash"] != newest["state_hash"]:
                    return newest, self.cwd / "out" / newest["file"], self.cwd / "out" / older["file"]
        return None

    @staticmethod
    def take_state(path, other):
        """The file stays whole, and says what it said; only the state in it is the other's."""
        mine, theirs = path.read_bytes(), other.read_bytes()
        header, state = struct.unpack_from("<2Q", mine, 16)
        begin = 48 + struct.unpack_from("<Q", theirs, 16)[0]
        path.write_bytes(
            mine[:40] + theirs[40:48] + mine[48 : 48 + header] + theirs[begin : begin + state] + mine[48 + header + state :]
        )

    def test_a_trainer_finds_one_when_it_has_read_it(self):
        expected = self.undisturbed()
        self.write(disturbed())
        self.killed_with_files(self.two_files_of_a_trial, 17)
        line, path, older = self.two_files_of_a_trial()
        self.take_state(path, older)
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", "3")
        self.assertEqual(code, 75, err + out)
        self.assertRegex(
            err,
            rf"trial {line['trial']}, epoch {line['epoch']}: {line['file']} does not hold the state in the journal "
            rf"\([0-9a-f]{{16}} instead of {line['state_hash']}; nothing was trained on it",
        )
        self.assertFalse(path.exists())
        self.assertTrue(path.with_name(path.name + ".wrong").exists())
        self.resumed()
        self.assertEqual(self.outcome("out"), expected)

    def test_a_lap_that_began_with_another_state_does_not_count(self):
        """Here it is the journal that is wrong: the state at the end of a lap, with nothing known of the trial's files."""
        expected = self.undisturbed()
        self.interrupted("out", {"name": "mop"})
        last = next(lap for lap in self.laps() if lap["epoch"] + 1 < TRAIN["epochs"])
        last = max((lap for lap in self.laps() if lap["trial"] == last["trial"]), key=lambda lap: lap["epoch"])
        is_last = lambda line: all(line.get(key) == last[key] for key in ("event", "trial", "epoch"))

        def spoil(line):
            if is_last(line):
                line["end_hash"] = "00000000000000ff"
            if line["event"] == "checkpoint" and line["trial"] == last["trial"]:
                line["state_hash"] = line["begin_hash"] = None

        self.edit(spoil)
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", "--trainers", "3")
        self.assertEqual(code, 75, err + out)
        complaint = (
            f"trial {last['trial']}, epoch {last['epoch'] + 1} began with state {last['end_hash']} instead of state "
            "00000000000000ff"
        )
        self.assertEqual(err.count(f"{complaint}; the trial goes back to its last checkpoint"), 3)
        self.assertIn(f"{complaint}; this is damaged state 4 of this job, so the job ends", err)
        self.assertEqual(max(lap["epoch"] for lap in self.laps() if lap["trial"] == last["trial"]), last["epoch"])
        self.edit(lambda line: line.update(end_hash=last["end_hash"]) if is_last(line) else None)
        self.resumed()
        self.assertEqual(self.outcome("out"), expected)


class Steps(Disturbed):
    def begun(self):
        return {line["trial"] for line in self.journal() if line["event"] == "lap_released"}

    def test_a_run_of_an_earlier_version_keeps_its_binary_sums(self):
        """Earlier versions trained 0.1 + 2 * 0.1 = 0.30000000000000004. A list of such numbers makes the same journal; then
        the range takes its place in the documents."""
        key, run = "train.optimizer.lr", {"dir": "out", "device": "cpu"}
        sums = [0.1, 0.2, 0.30000000000000004, 0.4, 0.5, 0.6, 0.7]
        steps = {"type": "float", "low": 0.1, "high": 0.7, "step": 0.1}
        train = {**TRAIN, "epochs": 3, "optimizer": {"name": "sgd", "lr": 0.1}}
        listed, ranged = ({key: values} for values in (sums, steps))
        self.write(experiment(train=train, space=listed, run=run))
        args = ("run", "e.json", "--quiet", "--trainers", "2")
        code, out, err = self.run_hopscotch(*args, env={"HOPSCOTCH_FAULT": "lap.record:3:kill"})
        self.assertEqual(code, -signal.SIGKILL, err + out)
        # What has not begun by then has no value yet, and gets that of the range.
        self.assertEqual(len(self.begun()), len(sums))
        self.write(experiment(train=train, space=ranged, run=run))
        stored = self.cwd / "out/experiment.json"
        document = json.loads(stored.read_text())
        document["experiment"]["space"] = ranged
        stored.write_text(json.dumps(document))
        self.succeed("--quiet", "--trainers", "2", "--resume")
        self.assertEqual([trial["config"][key] for trial in self.summary()["trials"]], sums)
        self.succeed("--quiet", "--trainers", "2", "--set", 'run.dir="new"', "--set", "train.epochs=1")
        tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
        self.assertEqual([trial["config"][key] for trial in self.summary("new")["trials"]], tenths)


class Engines(Disturbed):
    """train.engine: a run goes on with the step that it began with."""

    def with_engine(self, engine=None):
        return disturbed(train=TRAIN if engine is None else {**TRAIN, "engine": engine})

    def recorded(self, change=lambda train: None):
        stored = self.cwd / "out/experiment.json"
        document = json.loads(stored.read_text())
        change(document["experiment"]["train"])
        stored.write_text(json.dumps(document))
        return document["experiment"]["train"]

    def whole_run(self, engine):
        self.write(self.with_engine(engine))
        self.succeed("--quiet", "--overwrite", "--trainers", "3")
        return self.outcome("out")

    @unittest.skipUnless("avx2" in machine(), "a CPU with AVX2")
    def test_auto_is_written_down(self):
        lean, torch = self.whole_run("lean"), self.whole_run("torch")
        self.assertNotEqual(lean, torch)
        shutil.rmtree(self.cwd / "out")
        self.write(self.with_engine())
        self.killed_at_lap(4)
        self.assertEqual(self.recorded()["engine"], "lean")
        self.write(self.with_engine("torch"))
        code, out, err = self.run_hopscotch("run", "e.json", "--resume", "--trainers", "3")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn('train.engine: was "lean", is "torch"', err)
        self.write(self.with_engine())
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(self.outcome("out"), lean)

    def test_a_run_of_a_version_without_the_key(self):
        """They had LibTorch's step alone."""
        torch = self.whole_run("torch")
        shutil.rmtree(self.cwd / "out")
        self.write(self.with_engine("torch"))
        self.killed_at_lap(4)
        self.recorded(lambda train: train.pop("engine"))
        for document in (self.with_engine("auto"), self.with_engine()):
            self.write(document)
            self.killed_at_lap(1, "3", "--resume")
            self.recorded(lambda train: train.pop("engine"))
        self.succeed("--quiet", "--resume", "--trainers", "2")
        self.assertEqual(self.outcome("out"), torch)
        self.recorded(lambda train: train.pop("engine"))
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 0, err + out)


if __name__ == "__main__":
    unittest.main()
