# SPDX-License-Identifier: Apache-2.0
"""strategy.group_size: groups of trainers train mop's units together. The bits depend on the size of a group alone, in both
worlds, with and without kills; a lost trainer ends the job with an error, and --resume goes on."""

import os
import unittest
import unittest.mock

import resume_test
from harness import LONG, SHARDS, experiment, strict_json

PAIRS = {"name": "mop", "group_size": 2}
SHORT = {**resume_test.TRAIN, "batch_size": 16, "epochs": 3}


class Groups(resume_test.Disturbed):
    def run_pairs(self, folder, *args, np=None, **changes):
        self.write(resume_test.disturbed(folder, **{"train": SHORT, "strategy": PAIRS, **changes}))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", *args, np=np)
        self.assertEqual(code, 0, err + out)
        code, out, err = self.run_hopscotch("replay", folder)
        self.assertEqual((code, err), (0, ""), out)
        return self.outcome(folder)

    def outcome(self, folder):
        for lap in self.laps(folder):
            shards = [unit["shard"] for unit in lap["units"]]
            self.assertEqual(sorted(shards), list(range(SHARDS)))
            for first, second in zip(lap["units"][::2], lap["units"][1::2]):
                self.assertEqual((first["shard"] % 2, second["shard"]), (0, first["shard"] + 1))
                self.assertEqual((first["trainer"] % 2, second["trainer"]), (0, first["trainer"] + 1))
                self.assertEqual(first["state_hash"], second["state_hash"])
        return super().outcome(folder)

    def test_the_same_bits_on_any_number_of_trainers(self):
        expected = self.run_pairs("mpi", np=7)
        for trainers in ("2", "5", "4") if LONG else ("2", "5"):
            self.assertEqual(self.run_pairs(f"t{trainers}", "--trainers", trainers), expected)
        facts = strict_json((self.cwd / "t5/experiment.json").read_text())
        self.assertEqual((facts["trainers"], sorted(set(facts["owners"]))), (5, [0, 1, 2, 3]))
        self.assertTrue(self.summary("t5")["exact"])
        arrows = [event for event in strict_json((self.cwd / "t5/trace.json").read_text()) if event.get("cat") == "hop"]
        self.assertEqual(len(arrows), 2 * self.summary("t5")["hops"])
        self.assertEqual({event["tid"] for event in arrows}, {0, 2}, "the first members of both groups")
        code, out, err = self.run_hopscotch("predict", "mpi", "digits", "--out", "p.csv")
        self.assertEqual(code, 0, err + out)

    def test_killed_and_resumed(self):
        """Some of the files are of places inside units: of all members."""
        changes = {"train": {**SHORT, "epochs": 8, "batch_size": 4}, "strategy": PAIRS}
        expected = self.undisturbed("4", **changes)
        self.write(resume_test.disturbed(**changes))
        inside = lambda: any(line["batch"] > 0 for line in self.journal() if line["event"] == "checkpoint")
        self.killed_with_files(inside, 5, trainers="4")
        for trainers in ("2", "6") if LONG else ("2",):
            self.killed_at_lap(3, trainers, "--resume")
        self.resumed("6" if LONG else "4")
        self.assertEqual(self.outcome("out"), expected)
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, err), (0, ""), out)

    def test_a_search_that_decides_and_clones(self):
        search = {"procedure": "pbt", "population": 4, "interval": 2}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.1, "log": True}}
        outcomes = [
            self.run_pairs(f"t{n}", "--trainers", n, search=search, space=space, train={**SHORT, "epochs": 6})
            for n in ("2", "6")
        ]
        self.assertEqual(*outcomes)

    def test_a_lost_trainer_ends_the_job_and_it_resumes(self):
        """Rank 2, the second member of its group, dies while the first one waits for gradients; and rank 3, a first one."""
        expected = self.run_pairs("quiet", "--trainers", "4")
        for number, rank in enumerate((2, 3) if LONG else (2,)):
            with self.subTest(rank=rank):
                folder = f"out{number}"
                self.write(resume_test.disturbed(folder, train=SHORT, strategy=PAIRS))
                with unittest.mock.patch.dict(os.environ, {"HOPSCOTCH_FAULT": f"group.unit:5:kill:{rank}"}):
                    code, out, err = self.run_hopscotch("run", "e.json", "--quiet", np=5)
                self.assertNotEqual(code, 0, out + err)
                self.assertRegex(err, rf"rank {rank}\b")
                code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--resume", np=5)
                self.assertEqual(code, 0, err + out)
                self.assertEqual(self.outcome(folder), expected)

    def test_a_damaged_hop_goes_back(self):
        expected = self.run_pairs("quiet", "--trainers", "4")
        self.write(resume_test.disturbed(train=SHORT, strategy=PAIRS))
        with unittest.mock.patch.dict(os.environ, {"HOPSCOTCH_FAULT": "hop.send:7:flip"}):
            code, out, err = self.run_hopscotch("run", "e.json", "--quiet", np=5)
        self.assertEqual(code, 0, err + out)
        self.assertIn("damaged on its way", err)
        self.assertEqual(self.outcome("out"), expected)

    def test_auto_is_chosen_once(self):
        """Without an earlier run no one knows seconds. A resumed run keeps the number, whatever the trainers are then."""
        document = experiment(
            model={"name": "synthetic", "seconds_per_batch": 0, "seconds_per_row": 0.0005, "parameters": 1000},
            search={"procedure": "grid", "metric": "val_loss"},
            strategy={"name": "mop", "group_size": "auto", "batch": "split"},
        )
        self.write(document)

        def run(*args):
            code, out, err = self.run_hopscotch("run", "e.json", *args)
            self.assertEqual(code, 0, err + out)
            return strict_json((self.cwd / "out/experiment.json").read_text())["experiment"]["strategy"]["group_size"], err

        size, err = run("--trainers", "4")
        self.assertEqual(size, 1)
        self.assertIn("strategy.group_size auto is 1", err)
        code, out, err = self.run_hopscotch("run", "e.json", "--overwrite", "--dry-run", "--trainers", "4")
        self.assertRegex(out, r"(?m)^strategy     mop on 4 trainers in 2 groups of 2,")
        self.assertRegex(out, r"strategy.group_size auto: 2 trials on 4 trainers: strategy.group_size 2 would take")
        document["train"]["epochs"] = 4
        self.write(document)
        again = ("run", "e.json", "--quiet", "--overwrite", "--trainers", "4")
        code, out, err = self.run_hopscotch(*again, env={"HOPSCOTCH_FAULT": "lap.record:4:kill"})
        self.assertNotEqual(code, 0, err + out)
        self.assertEqual(run("--resume", "--trainers", "2")[0], 2)
        self.assertEqual({lap["epoch"] for lap in self.laps()}, set(range(4)))
        self.outcome("out")

    def refused(self, message, trainers, **strategy):
        self.write(experiment(train={**SHORT, "batch_size": 8}, strategy={"name": "mop", **strategy}))
        code, out, err = self.run_hopscotch("run", "e.json", "--trainers", trainers)
        self.assertEqual((code, out), (2, ""))
        self.assertIn(message, err)
        self.assertFalse((self.cwd / "out").exists())

    def test_what_cannot_be(self):
        self.refused("groups of 4 trainers cannot be made of 3 trainers; start at least 4", "3", group_size=4)
        self.refused(f"{SHARDS} shards cannot be bundled by 5", "5", group_size=5)
        self.refused('"lrtf" does not know groups of trainers', "4", group_size=2, policy="lrtf")
        self.refused('expected "auto" or a number of trainers (got "two")', "4", group_size="two")
        self.refused("batch: needs strategy.group_size", "4", batch="split")
        self.refused("owners: has no meaning with strategy.group_size", "4", group_size=2, owners="whole")
        self.refused("a batch of 8 cannot be split among 12 trainers", "12", group_size=12)


if __name__ == "__main__":
    unittest.main()
