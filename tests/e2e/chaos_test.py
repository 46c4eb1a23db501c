# SPDX-License-Identifier: Apache-2.0
"""A short version of scripts/chaos.sh, every point at which HOPSCOTCH_FAULT can strike, and a job that another has
replaced."""

import json
import re
import shutil
import signal
import subprocess
import unittest

import chaos
from harness import BINARY, LONG, and_long, long_only
from limits import RUN_LIMIT_S
from resume_test import Disturbed, disturbed

KINDS = ("kill", "throw", "enospc", "tear")
OF_IMPORT = {"import.shard", "import.manifest"}
OF_SIGNALS = {"pause.save"}
OF_RESUMED_RUNS = {"journal.rename"}
OF_SPILLING = {"spill.write", "spill.read"}
OF_MPI = {"end.finalize"}  # survivors_test
OF_GROUPS = {"group.look", "group.unit"}  # resume_test, groups_test
OF_FILES = {"resume.checkpoint"}  # resume_test
OF_POLICIES = {"hop.visit"}  # policies_test
OF_ORDERS = {"order.record"}  # ctl_test
OF_VIEWS = {
    "report.append",
    "report.rename",
    "live.append",
    "live.rename",
    "events.append",
    "events.open",
}  # cost no run: report_test, tools_test
OF_TRIALS = {"unit.rows"}  # ends the trial alone: ctl_test
SMALL = {
    "train": {"epochs": 2, "batch_size": 8, "optimizer": {"name": "adam", "lr": 0.01}},
    "space": {"train.optimizer.lr": [0.003, 0.01]},
}


def points():
    text = subprocess.run([BINARY, "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?m)^  (\S+) ", text))


def kinds_at(point):
    """Where nothing is written, a full disk or a torn write changes nothing."""
    return KINDS if re.search(r"\.(append|sync|rename)$", point) else KINDS[:2]


def end_of_a_run(point):
    return re.match(r"(end|model|summary|trials|validation)\.", point) is not None


class Chaos(unittest.TestCase):
    def test_rounds(self):
        chaos.rounds(6 if LONG else 1, seed="suite")


class Faults(Disturbed):
    def small(self, folder):
        document = disturbed(folder)
        document.update(SMALL)
        document["run"]["checkpoint_every_s"] = 1e-9  # at each unit: no clock says which points a short run reaches
        self.write(document)

    def test_every_point_of_a_run(self):
        """Each strikes the run that the one before has interrupted; in the long suite each has a run of its own."""
        self.small("quiet")
        self.succeed("--quiet", "--trainers", "2")
        expected, runs = self.outcome("quiet"), 0
        elsewhere = OF_IMPORT | OF_SIGNALS | OF_SPILLING | OF_MPI | OF_GROUPS | OF_FILES | OF_POLICIES | OF_TRIALS | OF_VIEWS
        elsewhere |= OF_ORDERS
        if LONG:
            elsewhere |= OF_RESUMED_RUNS
        kinds = {point: kinds_at(point)[n % len(kinds_at(point))] for n, point in enumerate(sorted(points() - elsewhere))}
        for point in sorted(kinds, key=end_of_a_run):
            with self.subTest(point=point, kind=kinds[point]):
                folder = f"out{runs}"
                self.small(folder)
                code, out, err = self.run_hopscotch(
                    *("run", "e.json", "--quiet", "--resume", "--trainers", "2"),
                    env={"HOPSCOTCH_FAULT": f"{point}:1:{kinds[point]}"},
                )
                # Training goes on without a checkpoint, or a file that the journal makes again.
                dispensable = point.startswith(("checkpoint", "trace", "metrics", "trials", "validation"))
                survived = dispensable and kinds[point] in ("throw", "enospc")
                self.assertEqual(code == 0, survived, out + err)
                self.assertNotEqual(code, 2, out + err)
                if LONG or end_of_a_run(point) or survived:
                    self.resumed("2", folder)
                    self.assertEqual(self.outcome(folder), expected)
                    runs += 1

    def test_every_write(self):
        """The disk fills up within a write, or fails: at every file, at every step of writing one. One after the other they
        strike the same run, which then comes out the same."""
        self.small("quiet")
        self.succeed("--quiet", "--trainers", "2")
        expected = self.outcome("quiet")
        kinds = {"append": and_long(["partial"], ["eio"]), "sync": ["eio"], "rename": and_long([], ["eio"])}
        strikes = [(point, kind) for point in sorted(points()) for kind in kinds.get(point.rpartition(".")[2], ())]
        self.assertGreater(len(strikes), 20 if LONG else 10)
        self.small("out")
        for number, (point, kind) in enumerate(sorted(strikes, key=lambda strike: end_of_a_run(strike[0]))):
            with self.subTest(point=point, kind=kind):
                code, out, err = self.run_hopscotch(
                    *("run", "e.json", "--quiet", "--resume", "--trainers", "2"),
                    env={"HOPSCOTCH_FAULT": f"{point}:{1 + number % 3}:{kind}"},
                )
                self.assertNotIn(code, (2, -signal.SIGKILL), out + err)
                if code == 0:  # it struck a file that the run can do without, or nothing
                    self.assertEqual(self.outcome("out"), expected)
                    shutil.rmtree(self.cwd / "out")
        self.resumed("2")
        self.assertEqual(self.outcome("out"), expected)

    def test_a_limit_of_file_sizes(self):
        """As of a disk that is full for ever after: what was written is whole, and the run goes on elsewhere."""
        self.small("quiet")
        self.succeed("--quiet", "--trainers", "2")
        self.small("out")
        for kilobytes in (2, 5, 9):
            done = subprocess.run(
                ["bash", "-c", f'ulimit -f {kilobytes}; exec "$@"', "bash", BINARY]
                + ["run", "e.json", "--quiet", "--resume", "--trainers", "2"],
                cwd=self.cwd,
                capture_output=True,
                text=True,
                timeout=RUN_LIMIT_S,
            )
            self.assertNotIn(done.returncode, (0, 2, -signal.SIGXFSZ), done.stderr)
            self.assertIn("File too large", done.stderr)
        self.resumed("2")
        self.assertEqual(self.outcome("out"), self.outcome("quiet"))

    def test_points_of_spilling(self):
        expected = self.undisturbed()
        codes = {"kill": -signal.SIGKILL, "throw": 0, "enospc": 0, "flip": 0}
        first = [("spill.write", "kill"), ("spill.write", "enospc"), ("spill.read", "throw"), ("spill.read", "flip")]
        others = [(point, kind) for point in sorted(OF_SPILLING) for kind in codes if (point, kind) not in first]
        for point, kind in and_long(first, others):
            with self.subTest(point=point, kind=kind):
                folder = f"out-{point}-{kind}"
                document = disturbed(folder)
                document["search"]["in_flight"] = 4  # with so little memory fewer trials would wait
                self.write(document)
                code, out, err = self.run_hopscotch(
                    *("run", "e.json", "--quiet", "--trainers", "1", "--set", "run.state_memory=1kB"),
                    env={"HOPSCOTCH_FAULT": f"{point}:3:{kind}"},
                )
                self.assertEqual(code, codes[kind], out + err)
                self.assertEqual("stay in memory" in err, point == "spill.write" and kind in ("throw", "enospc"), err)
                if code != 0:
                    self.resumed("2", folder)
                self.assertEqual(self.outcome(folder), expected)

    @long_only
    def test_points_of_a_resumed_run(self):
        self.small("out")
        for number, point in enumerate(
            ("lap.record", "journal.rename", "journal.append", "experiment.rename", "start.hello", "end.best")
        ):
            kind = kinds_at(point)[number % len(kinds_at(point))]
            code, out, err = self.run_hopscotch(
                "run",
                "e.json",
                "--quiet",
                "--resume",
                "--trainers",
                "2",
                env={"HOPSCOTCH_FAULT": f"{point}:2:{kind}" if number == 0 else f"{point}:1:{kind}"},
            )
            self.assertNotIn(code, (0, 2), f"{point}: {out}{err}")
        self.resumed("2")
        resumed = self.outcome("out")
        self.small("quiet")
        self.succeed("--quiet", "--trainers", "2")
        self.assertEqual(resumed, self.outcome("quiet"))

    def test_while_it_saves(self):
        self.write(disturbed())
        fault = {"HOPSCOTCH_FAULT": "lap.record:3:signal,pause.save:1:kill"}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2", env=fault)
        self.assertEqual(code, -signal.SIGKILL, out + err)
        self.resumed()
        self.assertEqual(self.outcome("out"), self.undisturbed())

    def test_import(self):
        (self.cwd / "table.csv").write_text("a,label\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
        first = [
            ("import.shard", "kill"),
            ("import.shard", "enospc"),
            ("import.manifest", "tear"),
            ("import.manifest", "throw"),
        ]
        others = [(point, kind) for point in sorted(OF_IMPORT) for kind in KINDS if (point, kind) not in first]
        for point, kind in and_long(first, others):
            with self.subTest(point=point, kind=kind):
                arguments = ("data", "import", "csv", "table.csv", "--out", f"{point}-{kind}", "--shards", "2")
                code, out, err = self.run_hopscotch(*arguments, env={"HOPSCOTCH_FAULT": f"{point}:1:{kind}"})
                self.assertNotEqual(code, 0, out + err)
                code, out, err = self.run_hopscotch("data", "verify", f"{point}-{kind}")
                self.assertNotEqual(code, 0, "half a dataset passes for a whole one")

    def test_bad_variable(self):
        first = ["nowhere:1:kill", "hop.send:0:kill", "hop.send:1:maim"]
        for text in and_long(first, ["hop.send:1", "hop.send:1:kill:x", "a:1:kill:2:3"]):
            code, out, err = self.run_hopscotch("models", env={"HOPSCOTCH_FAULT": text})
            self.assertEqual((code, out), (2, ""))
            self.assertIn(f'HOPSCOTCH_FAULT: "{text}" is not POINT:NTH:KIND[:RANK]', err)


class Replaced(Disturbed):
    def stopped_at(self, fault, **run):
        """The first job is stopped, as a host that is cut off; a second goes on with the run; then the first wakes."""
        self.write(disturbed(run={**disturbed()["run"], **run}))
        awake = self.cwd / "awake"  # until then no trainer gets further than where the fault holds it
        env = {
            "HOPSCOTCH_FAULT": fault,
            "HOPSCOTCH_FAULT_HOLD_S": str(RUN_LIMIT_S),
            "HOPSCOTCH_FAULT_HOLD_UNTIL": str(awake),
        }
        orphan = self.start("run", "e.json", "--quiet", "--trainers", "3", env=env)
        self.wait_for_stop(orphan, orphan.pid)
        self.assertNotIn("run_ended", (self.cwd / "out/journal.jsonl").read_text())
        self.resumed(trainers="2")
        before = self.listing()
        awake.touch()
        orphan.send_signal(signal.SIGCONT)
        out, err = self.end_of(orphan)
        awake.unlink()
        self.assertEqual(orphan.returncode, 1, out + err)
        self.assertIn("out: another job continues this run", err)
        after = {name: size for name, size in self.listing().items() if not name.startswith("out/checkpoints")}
        # Whichever thread meets the fault, rank 0 may stand just before the units of a lap: it adds them to its own file,
        # behind the laps of the journal. If the first lap had not ended, the file is new.
        units = "out/units-1.bin"
        self.assertGreaterEqual(after.pop(units, 0), before.get(units, 0))
        after |= {units: before[units]} if units in before else {}
        self.assertEqual(self.outcome("out"), self.expected)
        self.assertEqual(json.loads((self.cwd / "out/live.json").read_text())["status"], "finished")
        shutil.rmtree(self.cwd / "out")
        return before, after

    def test_the_job_before_stops_and_harms_nothing(self):
        self.expected = self.undisturbed()
        for point in ("lap.record:5", "units.append:2"):
            with self.subTest(point):
                before, after = self.stopped_at(f"{point}:stop", tensorboard=False)
                self.assertEqual(after, before)
        # The thread for the pages has looked whether the run is still its own, and writes.
        for point in and_long(("live.append", "report.append"), ("live.rename", "report.rename")):
            with self.subTest(point):
                before, after = self.stopped_at(f"{point}:1:stop,unit.begin:60:hold", report_every_s=0.1)
                self.assertEqual({name: size for name, size in after.items() if size != 0 or name in before}, before)
        # Its thread for TensorBoard's files has looked whether the run is still its own, and writes. It may leave an empty
        # file of its own name: viewers show nothing of that. The 60th unit is of a second lap, so a first one has ended.
        for point in ("events.open", "events.append"):
            with self.subTest(point):
                before, after = self.stopped_at(f"{point}:1:stop,unit.begin:60:hold")
                self.assertEqual({name: size for name, size in after.items() if size != 0 or name in before}, before)


if __name__ == "__main__":
    unittest.main()
