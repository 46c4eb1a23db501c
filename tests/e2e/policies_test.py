# SPDX-License-Identifier: Apache-2.0
"""strategy.policy: policies that rank 0 dispatches. Their visit orders depend on timing, so nothing compares two runs: each
run must visit every shard once a lap, replay from its journal, and go on after a kill or a loss."""

import json
import os
import unittest
import unittest.mock

import resume_test
import survivors_test
from harness import LONG, SHARDS, known, strict_json
from units import with_units

POLICIES = [name for name in known("strategy", "policy") if name != "planned"]
SHORT = {**resume_test.TRAIN, "epochs": 2}


def shards_of(checkpoint):
    """That its lap has visited, and is visiting."""
    head = checkpoint[16 + 4 * 8 :][: int.from_bytes(checkpoint[16:24], "little")]
    about = json.loads(head)
    return [unit["shard"] for unit in about["record"]["units"]] + ([about["shard"]] if about["batch"] else [])


class Policies(resume_test.Disturbed):
    def laps(self, folder="out"):
        lines = (self.cwd / folder / "journal.jsonl").read_text().splitlines()
        events = [strict_json(line) for line in lines if '"lap_done"' in line]
        return [with_units(self.cwd / folder, lap) for lap in events]

    def check(self, trials, epochs, folder="out"):
        laps = self.laps(folder)
        self.assertEqual(
            {(lap["trial"], lap["epoch"]) for lap in laps}, {(t, e) for t in range(trials) for e in range(epochs)}
        )
        for lap in laps:
            self.assertEqual(sorted(unit["shard"] for unit in lap["units"]), list(range(SHARDS)))
        for trainer in {unit["trainer"] for lap in laps for unit in lap["units"]}:
            units = [unit for lap in laps for unit in lap["units"] if unit["trainer"] == trainer]
            units.sort(key=lambda unit: unit["start_unix_s"])
            for before, after in zip(units, units[1:]):
                self.assertGreaterEqual(after["start_unix_s"], before["start_unix_s"] + before["seconds"] - 2e-3)
        self.assertFalse(self.summary(folder).get("exact", False))  # of promised bits
        code, out, err = self.run_hopscotch("replay", folder)
        self.assertEqual((code, err), (0, ""), out)
        return laps

    def test_every_policy_in_both_worlds(self):
        orders = set()
        for number, policy in enumerate(POLICIES):
            for np in (4, None) if LONG or number == 0 else ((None, 4)[number % 2],):
                with self.subTest(policy=policy, np=np):
                    document = resume_test.disturbed(train=SHORT, strategy={"name": "mop", "policy": policy})
                    document["run"]["checkpoint_every_s"] = 60
                    self.write(document)
                    trainers = () if np else ("--trainers", "3")
                    code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--overwrite", *trainers, np=np)
                    self.assertEqual(code, 0, err + out)
                    laps = self.check(4, 2)
                    self.run_hopscotch("report", "out")
                    self.assertIn("they depend on timing", (self.cwd / "out/report.html").read_text())
                    orders.add(json.dumps([[unit["shard"] for unit in lap["units"]] for lap in laps]))
        self.assertGreater(len(orders), 1)

    def test_killed_and_resumed(self):
        for policy in POLICIES:
            with self.subTest(policy=policy):
                folder = f"out-{policy}"
                self.write(resume_test.disturbed(folder, strategy={"name": "mop", "policy": policy}))
                self.killed_at_lap(5)
                for laps in (4, 6) if LONG else (4,):
                    self.killed_at_lap(laps, "3", "--resume")
                self.resumed("2" if LONG else "3")
                self.check(4, resume_test.TRAIN["epochs"], folder)

    def test_laps_of_the_journal_are_trained_again_in_their_order(self):
        """Without a checkpoint that can be used, the first laps come again, and must end as the journal says."""
        self.write(resume_test.disturbed(strategy={"name": "mop", "policy": "random"}))
        self.killed_at_lap(6)
        for file in (self.cwd / "out/checkpoints").glob("*.ckpt"):
            file.unlink()
        known_laps = {(lap["trial"], lap["epoch"]): [unit["shard"] for unit in lap["units"]] for lap in self.laps()}
        self.resumed()
        again = {(lap["trial"], lap["epoch"]): [unit["shard"] for unit in lap["units"]] for lap in self.laps()}
        self.assertEqual({lap: again[lap] for lap in known_laps}, known_laps)
        self.check(4, resume_test.TRAIN["epochs"])

    def test_a_checkpoint_within_a_lap_of_another_order_is_not_used(self):
        """One job began the lap and wrote the file. The next could not use it, and trained the lap in another order."""
        for number in range(20):
            folder = f"out{number}"
            self.write(resume_test.disturbed(folder, strategy={"name": "mop", "policy": "random"}))
            name, content = self.file_within_a_lap(folder)
            order, visited = self.order_of_another_job(folder, name), shards_of(content)
            if order[: len(visited)] != visited:
                break
        for file in (self.cwd / folder / "checkpoints").glob(name[:11] + "*"):
            file.unlink()
        (self.cwd / folder / "checkpoints" / name).write_bytes(content)
        self.assertIn(f"{name}: the journal's lap visits the shards in another order (a later", self.resumed())
        self.check(4, resume_test.TRAIN["epochs"], folder)

    def file_within_a_lap(self, folder):
        """Its name and content, from a job that was killed; all files of that trial are gone."""
        run, found = self.cwd / folder, []

        def there():
            lines = [line for line in self.journal(folder) if line["event"] == "checkpoint" and line["step"] > 0]
            found[:] = [run / line["file"] for line in lines if (run / line["file"]).exists()]
            return found

        self.killed_with_files(there, 4)
        name, content = found[0].name, found[0].read_bytes()
        for file in found[0].parent.glob(name[:11] + "*"):
            file.unlink()
        return name, content

    def order_of_another_job(self, folder, name):
        """How it visits the shards in the lap of this file."""
        lap = int(name[6:11]), int(name[13:17])
        for _ in range(20):
            for each in self.laps(folder):
                if (each["trial"], each["epoch"]) == lap:
                    return [unit["shard"] for unit in each["units"]]
            self.killed_at_lap(3, "3", "--resume")
        self.fail("the lap does not end")

    def test_folds_and_a_search_that_decides(self):
        """Shards held out come last; decisions follow the metrics, which the journal has."""
        changes = [
            {"search": {"procedure": "grid", "folds": 3}, "space": {"train.optimizer.lr": [0.01, 0.03]}},
            {"search": {"procedure": "asha", "trials": 6}},
        ]
        for policy, change in [(policy, change) for policy in POLICIES for change in changes][:: 1 if LONG else 2]:
            with self.subTest(policy=policy, change=change):
                space = change.get(
                    "space", {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.1, "log": True}}
                )
                document = resume_test.disturbed(
                    train=SHORT, strategy={"name": "mop", "policy": policy}, search=change["search"], space=space
                )
                self.write(document)
                code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--overwrite", "--trainers", "3")
                self.assertEqual(code, 0, err + out)
                code, out, err = self.run_hopscotch("replay", "out")
                self.assertEqual((code, err), (0, ""), out)

    def test_other_strategies_refuse_the_key(self):
        self.write(resume_test.disturbed(strategy={"name": "allreduce", "policy": "lrtf"}))
        code, _, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("policy belongs to mop", err)

    def test_the_plan_asks_the_same_policy(self):
        for policy in POLICIES:
            self.write(resume_test.disturbed(strategy={"name": "mop", "policy": policy}))
            code, out, err = self.run_hopscotch("run", "e.json", "--dry-run", "--trainers", "3")
            self.assertEqual(code, 0, err + out)


class LostTrainers(survivors_test.Jobs):
    check, laps = Policies.check, Policies.laps

    def test_the_others_go_on(self):
        for number, policy in enumerate(POLICIES if LONG else POLICIES[:1]):
            with self.subTest(policy=policy):
                fault = "hop.visit:3:kill:4,unit.begin:6:kill:1"
                folder = f"out{number}"
                process = self.begin(folder, {"name": "mop", "policy": policy}, fault=fault, processes=5, train=SHORT)
                out, err = self.end_of(process, folder)
                self.ended_with(0, process, out + err)
                self.assertEqual(sorted(loss["trainer"] for loss in self.summary(folder)["lost"]), [0, 3])
                self.check(4, 2, folder)

    def test_a_damaged_hop(self):
        """The first hops too: with these policies a state may hop before the first unit of its lap."""
        cases = [(hop, policy) for hop in (1, 2, 3, 9) for policy in POLICIES]
        for hop, policy in cases if LONG else cases[::5]:
            with self.subTest(hop=hop, policy=policy):
                self.write(resume_test.disturbed(train=SHORT, strategy={"name": "mop", "policy": policy}))
                with unittest.mock.patch.dict(os.environ, {"HOPSCOTCH_FAULT": f"hop.send:{hop}:flip"}):
                    code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--overwrite", np=4)
                self.assertEqual(code, 0, err + out)
                self.assertIn("damaged on its way", err)
                self.check(4, 2)


if __name__ == "__main__":
    unittest.main()
