# SPDX-License-Identifier: Apache-2.0
"""hopscotch what-if: a run's own search, played on its results, takes the decisions of the journal, whatever happened to the
run; other procedures are played on the same trials, and on tables."""

import json
import unittest
import xml.etree.ElementTree

from harness import Case, experiment, known, strict_json

SPACE = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 1, "log": True}, "model.hidden": [[8], [16]]}
LISTED = {  # what these procedures need besides trials
    "manual": {"configurations": [{"train.optimizer.lr": lr} for lr in (0.01, 0.1)]},
    "ablation": {},
    "grid": {},
    "pbt": {"population": 6, "interval": 1},
}
NO_TRIALS = {*LISTED, "hyperband", "bohb"}


def document(folder="out", epochs=4, space=SPACE, **search):
    return experiment(
        model={"name": "mlp", "hidden": [8]},
        train={"epochs": epochs, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
        search=search,
        run={"dir": folder, "device": "cpu"},
        space=space,
    )


class WhatIf(Case):
    def train(self, *options, **changes):
        made = document(**changes)
        if made["space"] is None:
            del made["space"]
        self.write(made)
        self.succeed("--quiet", "--trainers", "2", *options)

    def what_if(self, *args, expect=0):
        code, out, err = self.run_hopscotch("what-if", *args)
        self.assertEqual(code, expect, err + out)
        return out + err

    def decisions(self, folder="out"):
        return sum(line["event"] == "decision" for line in self.journal(folder))

    def values(self, metric, folder="out"):
        return [strict_json(line)[metric] for line in (self.cwd / folder / "metrics.jsonl").read_text().splitlines()]

    def expect_own(self, folder="out"):
        self.assertIn(f"all {self.decisions(folder)} decisions are those of the run\n", self.what_if(folder))

    def test_every_procedure_decides_as_it_did(self):
        for procedure in known("search", "procedure"):
            with self.subTest(procedure=procedure):
                search = {"procedure": procedure, **LISTED.get(procedure, {})}
                if procedure not in NO_TRIALS:
                    search["trials"] = 9
                space = SPACE
                if procedure in ("grid", "ablation"):
                    space = {"train.optimizer.lr": [0.1, 0.01, 0.3]}
                if procedure == "pbt":
                    space = {"train.optimizer.lr": SPACE["train.optimizer.lr"]}
                self.train("--overwrite", space=None if procedure == "manual" else space, **search)
                self.expect_own()

    def test_a_population_is_played_alone(self):
        self.train(space={"train.optimizer.lr": SPACE["train.optimizer.lr"]}, procedure="pbt", **LISTED["pbt"])
        told = self.what_if("out", "--procedure", "asha", expect=2)
        self.assertIn("out: only its own search can be played (its trials took over states of others", told)

    def test_runs_that_were_disturbed(self):
        asha = {"procedure": "asha", "trials": 8, "eta": 2, "min_epochs": 1}
        self.train(folder="copies", repeats=2, **asha)
        self.expect_own("copies")
        self.train(folder="more", **asha)
        self.succeed("--resume", "--quiet", "--trainers", "3", "--set", "search.trials=14")
        self.expect_own("more")
        self.train(folder="tpe", procedure="tpe", trials=8, startup=3)
        self.expect_own("tpe")
        self.train(folder="after", procedure="tpe", trials=5, startup=3, start_from="tpe")
        self.expect_own("after")
        stops = {"epochs": 6, "early_stopping": {"patience": 1}, "optimizer": {"name": "sgd", "lr": 0.1}}
        self.train("--set", f"train={json.dumps(stops)}", folder="stops", **asha)
        self.expect_own("stops")
        # Killed in the middle and taken up again.
        self.write(document("killed", **asha))
        code, _, err = self.run_hopscotch(
            "run", "e.json", "--quiet", "--trainers", "2", env={"HOPSCOTCH_FAULT": "lap.record:6:kill"}
        )
        self.assertNotEqual(code, 0, err)
        self.assertIn("has not finished", self.what_if("killed", expect=2))
        self.succeed("--resume", "--quiet", "--trainers", "1")
        self.expect_own("killed")

    def test_a_journal_that_says_something_else(self):
        self.train(procedure="asha", trials=8, eta=2)
        path = self.cwd / "out/journal.jsonl"
        text = path.read_text()
        changed = text.replace('"kind":"pause"', '"kind":"stop"', 1)
        self.assertNotEqual(text, changed)
        path.write_text(changed)
        self.assertIn("its search decides otherwise now (decision ", self.what_if("out", expect=1))

    def test_other_procedures_on_a_run(self):
        self.train(procedure="random", trials=9)
        before = self.listing()
        out = self.what_if(
            "out", "--procedure", "random", "--procedure", "asha", "--procedure", "best_after", "--orders", "5"
        )
        self.assertEqual(self.listing(), before)
        rows = [line.split() for line in out.splitlines() if line.startswith(("random ", "asha ", "best_after "))]
        self.assertEqual([row[0] for row in rows], ["random", "asha", "best_after"])
        best = max(self.values("val_accuracy"))
        self.assertIn(f"best val_accuracy {best:.6g}", out)
        self.assertAlmostEqual(float(rows[0][1]), best, 5)  # all of them to the end
        one = json.loads(self.what_if("out", "--procedure", "asha", "--set", "search.eta=2", "--orders", "3", "--json"))
        self.assertEqual(one["searches"][0]["search"], "asha search.eta=2")
        self.assertEqual(len(one["searches"][0]["played"]), 3)
        for played in one["searches"][0]["played"]:
            self.assertLessEqual(played["epochs"], one["epochs"])
            self.assertEqual(played["not_known"], 0)
            self.assertLessEqual(played["best"], one["best_known"])

    def test_a_picture(self):
        self.train(procedure="random", trials=9)
        self.what_if("out", "--procedure", "random", "--procedure", "asha", "--orders", "3", "--svg", "what-if.svg")
        picture = xml.etree.ElementTree.parse(self.cwd / "what-if.svg").getroot()
        lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 2)
        self.assertGreater(len(lines[0].get("points").split()), 50)
        for wrong in ("nowhere/what-if.svg", "", "out"):
            self.assertIn("--svg ", self.what_if("out", "--svg", wrong, expect=2))

    def test_several_objectives(self):
        objectives = ["val_accuracy", "parameters"]
        self.train(procedure="asha", trials=9, eta=2, objectives=objectives)
        self.expect_own()
        own = json.loads(self.what_if("out", "--json"))["searches"][0]["played"][0]
        self.assertAlmostEqual(own["hypervolume"], self.summary()["pareto"]["hypervolume"], 12)
        others = ("--procedure", "random", "--procedure", "median", "--procedure", "hyperband", "--orders", "3")
        for search in json.loads(self.what_if("out", *others, "--json"))["searches"]:
            for played in search["played"]:
                self.assertTrue(0 < played["hypervolume"] <= 1, search)
        self.assertIn("hypervolume", self.what_if("out", *others).splitlines()[3])
        self.train("--overwrite", procedure="tpe", trials=6, startup=3, objectives=["val_loss", "state_mb", "train_loss"])
        self.expect_own()
        middle = sorted(self.values("val_accuracy"))[-3]  # some trials miss it
        bounds = {"val_accuracy": {"above": middle}}
        self.train("--overwrite", procedure="asha", trials=9, eta=2, objectives=objectives, subject_to=bounds)
        self.expect_own()
        own = json.loads(self.what_if("out", "--json"))["searches"][0]["played"][0]
        self.assertAlmostEqual(own["hypervolume"], self.summary()["pareto"]["hypervolume"], 12)
        self.train("--overwrite", procedure="asha", trials=4)
        asked = ("out", "--procedure", "asha", "--set", f"search.objectives={json.dumps(objectives)}")
        self.assertIn("out: the parameters of its trials is not known", self.what_if(*asked, expect=2))
        (self.cwd / "t.csv").write_text("lr,epoch,val_accuracy\n1,1,0.5\n2,1,0.6\n")
        asked = ("t.csv", "--procedure", "asha", "--set", 'search.objectives=["val_loss","train_loss"]')
        self.assertIn("search.objectives cannot be played (a table is read with one metric)", self.what_if(*asked, expect=2))

    def test_tables(self):
        rows = ["lr,epoch,val_accuracy,seconds"]
        for lr in range(1, 10):
            rows += [f"{lr / 10},{epoch},{lr / 10 * (1 - 0.5**epoch):.6f},{lr}" for epoch in range(1, 5)]
        (self.cwd / "t.csv").write_text("\n".join(rows))
        out = self.what_if("t.csv", "--procedure", "random", "--procedure", "asha", "--epochs", "12", "--orders", "1")
        self.assertIn("t.csv: 9 trials, 36 epochs; best val_accuracy 0.84375\n", out)
        random = next(line for line in out.splitlines() if line.startswith("random")).split()
        self.assertEqual(random[1:], ["0.28125", "0.562", "12", "3", "24"])  # 4 x (1 + 2 + 3) seconds
        self.refuse(
            "t.csv: no search is named (a table has none of its own); add --procedure asha, for example", "what-if", "t.csv"
        )
        self.refuse(
            "none.csv: is not there; name a run directory or a CSV file", "what-if", "none.csv", "--procedure", "asha"
        )
        self.refuse(
            "--set search.eta=1: must be at least 2 (got 1)",
            *("what-if", "t.csv", "--procedure", "asha", "--set", "search.eta=1"),
        )

    def test_a_table_from_an_export(self):
        self.train(procedure="random", trials=4)
        code, _, err = self.run_hopscotch("export", "csv", "out", "--out", "epochs.csv")
        self.assertEqual(code, 0, err)
        played = strict_json(
            self.what_if("epochs.csv", "--metric", "val_loss", "--procedure", "asha", "--orders", "2", "--json")
        )
        best = min(self.values("val_loss"))
        self.assertAlmostEqual(played["best_known"], best, 9)


if __name__ == "__main__":
    unittest.main()
