# SPDX-License-Identifier: Apache-2.0
"""Jobs that lose trainers and go on without them."""

import os
import shutil
import signal
import unittest
import unittest.mock

import resume_test
from harness import LONG, RECOVERY, and_long, experiment, strict_json
from limits import SILENCE_S

TRAIN = {**resume_test.TRAIN, "epochs": 12}  # so that nothing has finished before it is killed from outside
SLOWER = "unit.begin:1:jitter"  # likewise, on a machine that starts the killer late
SHORT = {**resume_test.TRAIN, "epochs": 2}  # where a fault strikes


class Jobs(resume_test.Disturbed):
    launcher_options = RECOVERY
    processes, scheduler = 4, "dedicated"

    def begin(self, folder, strategy, fault=SLOWER, **changes):
        """changes: of sections; run: more keys of this one; processes: how many."""
        processes, run = changes.pop("processes", self.processes), changes.pop("run", {})
        document = resume_test.disturbed(folder, strategy=strategy, **{"train": TRAIN, **changes})
        document["run"].update({"checkpoint_every_s": 0.2, "scheduler": self.scheduler, **run})
        self.write(document)
        with unittest.mock.patch.dict(os.environ, {"HOPSCOTCH_FAULT": fault}):
            process = self.start("run", "e.json", "--quiet", np=processes)
        self.wait_for_event(process, folder=folder)
        return process

    def undisturbed(self, trainers="3", **changes):
        return super().undisturbed(trainers, **{"train": TRAIN, **changes})

    def finished(self, process, folder, expected, lost, how="is lost: its process has ended"):
        out, err = self.end_of(process, folder)
        self.ended_with(0, process, out + err)
        self.assertEqual(self.outcome(folder), expected)
        self.assertEqual(sorted(loss["trainer"] for loss in self.summary(folder).get("lost", [])), lost)
        for trainer in lost:
            self.assertRegex(err, rf"rank {trainer + 1} \(.*\) {how}.*; the job goes on without it")


class Survivors(Jobs):
    """Where the bits do not depend on the number of trainers, the others go on, in the same job, and nothing shows in the
    result."""

    def test_killed_trainers(self):
        for number, (strategy, fault, ranks, processes) in enumerate(
            and_long(
                [
                    ("mop", "hop.send:3:kill:4,unit.begin:6:kill:1", [1, 4], 5),
                    ("task_parallel", "unit.begin:5:kill:3", [3], 4),
                    ("sequential", "unit.begin:5:kill:1", [1], 4),
                ],
                [("mop", "hop.receive:2:kill:2", [2], 5)],
            )
        ):
            with self.subTest(strategy=strategy, ranks=ranks):
                expected = self.undisturbed(strategy={"name": strategy}, train=SHORT)
                folder = f"out{number}"
                process = self.begin(folder, {"name": strategy}, fault=fault, processes=processes, train=SHORT)
                self.finished(process, folder, expected, [rank - 1 for rank in ranks])
                if LONG or number == 0:
                    code, out, err = self.run_hopscotch("replay", f"out{number}")
                    self.assertEqual((code, err), (0, ""), out)

    def test_stopped_trainer_wakes(self):
        expected = self.undisturbed(strategy={"name": "mop"})
        process = self.begin("out", {"name": "mop"}, fault="unit.begin:60:stop:2", run={"silence_s": SILENCE_S})
        victim = self.pid_of_rank(process, 2)
        try:
            self.wait_for_event(process, "trainer_lost")
        finally:
            os.kill(victim, signal.SIGCONT)
        self.finished(process, "out", expected, [1], how=r"has been silent for \d+ s")
        # What the job had done before the loss is its own work: else the ETA would be unknown behind it.
        self.assertEqual(strict_json((self.cwd / "out/live.json").read_text())["progress"]["done_before"], 0)

    def test_killed_while_they_regroup(self):
        # Rank 3 dies when it has heard how the job goes on without rank 2, before it says so.
        expected = self.undisturbed(strategy={"name": "mop"}, train=SHORT)
        fault = "unit.begin:5:kill:2,start.hello:2:kill:3"
        process = self.begin("out", {"name": "mop"}, fault=fault, processes=5, train=SHORT)
        self.finished(process, "out", expected, [1, 2])

    def test_killed_when_it_is_asked_for_the_best_state(self):
        # The state is gone. The others train its lap again.
        train = {**SHORT, "epochs": 1}  # no one else has run it: so this folder has the journal
        expected = self.undisturbed(strategy={"name": "mop"}, train=train)
        best = self.summary("quiet")["best_trial"]
        home = next(lap["home"] for lap in self.laps("quiet") if lap["trial"] == best)
        process = self.begin("out", {"name": "mop"}, fault=f"end.fetch:1:kill:{home + 1}", train=train)
        self.finished(process, "out", expected, [home])

    def test_killed_while_it_leaves(self):
        # No one waits run.deadline_s (60 s) for the last word of a rank that is silent.
        expected = self.undisturbed(strategy={"name": "mop"}, train=SHORT)
        process = self.begin("out", {"name": "mop"}, fault="end.goodbye:1:kill:2", train=SHORT)
        out, err = self.end_of(process)
        self.ended_with(0, process, out + err)
        self.assertEqual(self.outcome("out"), expected, out + err)

    def test_those_that_stay_know_of_a_loss_at_the_end(self):
        # They must not wait for the dead in MPI_Finalize: there, only a launcher that kills them would end them.
        others = ",".join(f"end.finalize:1:throw:{rank}" for rank in (1, 3))
        process = self.begin("out", {"name": "mop"}, fault=f"end.goodbye:1:kill:2,{others}", train=SHORT)
        out, err = self.end_of(process)
        self.ended_with(0, process, out + err)
        self.assertNotIn("end.finalize", out + err)

    def test_all_trainers(self):
        # This mpirun returns 0 even if a rank asked for another code: the status in summary.json counts.
        process = self.begin("out", {"name": "mop"}, fault="unit.begin:60:kill:1,unit.begin:60:kill:2,unit.begin:60:kill:3")
        out, err = self.end_of(process)
        self.assertIn("no trainer is left", err)
        self.assertEqual(self.summary()["status"], "interrupted")


class SharedOut(Jobs):
    """A heir of the whole shard would have twice the work of the others, until a lap has ended."""

    shards, processes = 4, 5

    def test_as_soon_as_the_trainer_is_lost(self):
        changes = {
            "model": {"name": "synthetic", "seconds_per_batch": 0.004, "parameters": 3000},
            "train": {**TRAIN, "batch_size": 32},
            "space": {"train.optimizer.lr": [0.01 * i for i in range(1, 9)]},
        }
        expected = self.undisturbed(strategy={"name": "mop"}, **changes)
        process = self.begin("out", {"name": "mop"}, fault="unit.begin:40:kill:2", **changes)
        self.finished(process, "out", expected, [1])
        events = [line["event"] for line in self.journal()]
        self.assertEqual(events[events.index("trainer_lost") + 1], "owners_moved")


class Replaced(Jobs):
    """Those that are left read again what the lost one had: it must be what the run began with."""

    processes = 3

    def lost_and_replaced(self, folder, name, complaint, **changes):
        process = self.begin(folder, {"name": "mop"}, fault="unit.begin:60:stop:2", **changes)
        victim = self.pid_of_rank(process, 2)
        self.wait_for_stop(process, victim)
        path = self.cwd / (name or f"digits/train-{self.shard_of(1, folder):05}.h5")
        kept = path.read_bytes()
        other = bytearray(kept)
        other[len(other) // 2] ^= 1
        aside = path.with_name("aside")  # a trainer may have the file open
        aside.write_bytes(other)
        aside.rename(path)
        os.kill(victim, signal.SIGKILL)
        _, err = self.end_of(process, folder)
        self.assertIn(complaint, err)
        self.assertEqual(self.summary(folder)["status"], "interrupted")  # mpirun may return 0
        path.write_bytes(kept)
        self.resumed(trainers="2", folder=folder)
        if LONG or name is None:
            code, out, err = self.run_hopscotch("replay", folder)
            self.assertEqual((code, err), (0, ""), out)

    def shard_of(self, trainer, folder):
        return strict_json((self.cwd / folder / "experiment.json").read_text())["owners"].index(trainer)

    def test_a_shard(self):
        self.lost_and_replaced("out", None, ".h5: is not the file that dataset.json describes")

    def test_initial_weights(self):
        self.write(experiment(model=resume_test.MODEL, train={**resume_test.TRAIN, "epochs": 1}))
        self.succeed("--quiet", "--trainers", "1")
        shutil.copy(self.cwd / "out/best/model.safetensors", self.cwd / "w.safetensors")
        model = {**resume_test.MODEL, "init_from": "w.safetensors"}
        self.lost_and_replaced("new", "w.safetensors", "w.safetensors: was replaced while the run went on", model=model)


class DamagedHop(resume_test.Disturbed):
    def test_its_trial_goes_back_to_its_last_checkpoint(self):
        expected = self.undisturbed(strategy={"name": "mop"})
        for np, trainers in ((None, ("--trainers", "3")), (4, ())):
            document = resume_test.disturbed("out", strategy={"name": "mop"})
            self.write(document)
            code, out, err = self.run_hopscotch(
                "run", "e.json", "--quiet", "--overwrite", *trainers, np=np, env={"HOPSCOTCH_FAULT": "hop.send:9:flip:1"}
            )
            self.assertEqual(code, 0, out + err)
            self.assertRegex(
                err,
                r"trial \d+, epoch \d+: its state was damaged on its way from rank \d to rank \d \(.*; the trial goes back "
                r"to its last checkpoint",
            )
            self.assertEqual(self.outcome("out"), expected)
            self.assertEqual((self.summary()["jobs"], self.summary().get("lost")), (2, None))

    def test_what_came_damaged_and_waits_is_not_saved(self):
        # While one is found out, others wait in queues; the pause that follows saves what waits.
        space = {
            "train.optimizer.lr": [0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.02, 0.03],
            "model.hidden": [[16], [32], [48]],
        }
        train = {**resume_test.TRAIN, "epochs": 3}
        expected = self.undisturbed(strategy={"name": "mop"}, space=space, train=train)
        for nth in and_long([5], [3, 9]):
            self.write(resume_test.disturbed("out", strategy={"name": "mop"}, space=space, train=train))
            code, out, err = self.run_hopscotch(
                "run", "e.json", "--quiet", "--overwrite", np=5, env={"HOPSCOTCH_FAULT": f"hop.send:{nth}:flip"}
            )
            if code != 0:  # found out one after another: too many for a job
                self.assertEqual(code, 75, out + err)
                self.resumed("2")
            self.assertEqual(self.outcome("out"), expected)

    def test_a_job_whose_states_are_damaged_again_and_again_ends(self):
        expected = self.undisturbed(strategy={"name": "mop"})
        self.write(resume_test.disturbed("out", strategy={"name": "mop"}))
        # Some strike states that are dropped unseen, because the trial of another one goes back.
        faults = ",".join(f"hop.send:{nth}:flip" for nth in range(5, 200, 15))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "3", env={"HOPSCOTCH_FAULT": faults})
        self.assertEqual(code, 75, out + err)
        self.assertEqual(err.count("the trial goes back to its last checkpoint"), 3)
        self.assertIn("this is damaged state 4 of this job, so the job ends; continue with --resume", err)
        self.assertEqual(self.summary()["status"], "interrupted")
        self.resumed("2")
        self.assertEqual(self.outcome("out"), expected)


class SharedScheduler(Jobs):
    """run.scheduler "shared": rank 0's process trains too, so that every process does."""

    processes, scheduler = 3, "shared"

    def test_same_bits_as_a_dedicated_one(self):
        for number, strategy in enumerate(
            [{"name": "mop"}, {"name": "allreduce"}, {"name": "task_parallel", "data": "remote"}]
        ):
            with self.subTest(strategy=strategy["name"]):
                train = {**SHORT, "batch_size": 16}
                expected = self.undisturbed(trainers="3", strategy=strategy, train=train)
                self.finished(self.begin(f"out{number}", strategy, train=train), f"out{number}", expected, [])
                self.assertEqual(self.summary(f"out{number}")["trainers"], 3)

    def test_killed_trainers(self):
        expected = self.undisturbed(strategy={"name": "mop"})
        process = self.begin("out", {"name": "mop"}, fault="unit.begin:60:kill:2")
        self.finished(process, "out", expected, [1])

    def test_interrupted_and_resumed_elsewhere(self):
        expected = self.undisturbed(strategy={"name": "mop"})
        process = self.begin("out", {"name": "mop"})
        process.send_signal(signal.SIGUSR1)
        out, err = self.end_of(process)
        self.assertEqual(self.summary()["status"], "interrupted", out + err)
        self.resumed(trainers="2")
        self.assertEqual(self.outcome("out"), expected)

    def test_number_of_trainers(self):
        document = resume_test.disturbed()
        document["run"]["scheduler"] = "shared"
        self.write(document)
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run", np=3)
        self.assertEqual((code, "3 trainers" in out), (0, True), out + err)
        code, out, err = self.run_hopscotch("run", "e.json", "--trainers", "2", np=3)
        self.assertIn(
            "--trainers 2 under a launcher with 3 processes (all of them train); leave --trainers out, or start 2 processes",
            err,
        )


class WayOut(Jobs):
    """No one can know of a death on the way out: the others wait half a minute in MPI_Finalize. So this job begins before
    all other tests of this file, and its end is checked after them."""

    processes = 3

    @classmethod
    def begin_early(cls):
        cls.setUpClass()
        cls.early = cls("test_killed_on_the_way_out")
        cls.early.setUp()
        cls.job = cls.early.begin("out", {"name": "mop"}, fault="end.finalize:1:kill:2", train=SHORT)
        unittest.addModuleCleanup(cls.early.doCleanups)

    def test_killed_on_the_way_out(self):
        out, err = self.early.end_of(self.job)
        self.ended_with(0, self.job, out + err)
        self.assertEqual(self.early.summary()["status"], "finished", out + err)


def setUpModule():
    WayOut.begin_early()


if __name__ == "__main__":
    unittest.main()
