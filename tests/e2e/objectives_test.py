# SPDX-License-Identifier: Apache-2.0
"""What searches compare, through the binary: copies of configurations, constraints, the Pareto front, an ablation's
table."""

import csv
import statistics
import unittest
import unittest.mock

from harness import LONG, RECOVERY, SHARDS, strict_json
from search_test import Case, searching

REPEATED = [
    {"procedure": "asha", "trials": 5, "eta": 2, "repeats": 2, "objective": "best"},
    {"procedure": "asha", "trials": 5, "variant": "stop", "repeats": 3},
    {"procedure": "tpe", "trials": 4, "startup": 2, "repeats": 2},
    {"procedure": "random", "trials": 3, "repeats": 3},
]


class Grouped(Case):
    def expect_groups(self, folder, search):
        """The summary's groups are what its trials say; the best trial is of the best of them, and its weights are there."""
        summary = self.summary(folder)
        size, trials = search["repeats"], summary["trials"]
        groups = summary["groups"]
        self.assertEqual([trial for group in groups for trial in group["trials"]], list(range(len(trials))))
        for group in groups:
            members = [trials[trial] for trial in group["trials"]]
            self.assertEqual([member["config"]["search.repeat"] for member in members], list(range(size)))
            for member in members:
                self.assertEqual(
                    {key: value for key, value in member["config"].items() if key != "search.repeat"}, group["config"]
                )
            self.assertEqual(len({member["epochs"] for member in members}), 1, "copies go on together")
            values = [member[search.get("objective", "last")]["val_accuracy"] for member in members]
            self.assertEqual(group["values"], values)
            self.assertAlmostEqual(group["mean"], statistics.mean(values))
            self.assertAlmostEqual(group["spread"], statistics.stdev(values))
        best = max(groups, key=lambda group: group["mean"])
        self.assertIn(summary["best_trial"], best["trials"])
        self.assertEqual(
            trials[summary["best_trial"]]["best"]["val_accuracy"],
            max(trials[trial]["best"]["val_accuracy"] for trial in best["trials"]),
        )
        about = strict_json((self.cwd / folder / "best/model.json").read_text())
        self.assertEqual(
            (about["trial"], about["epoch"]), (summary["best_trial"], trials[summary["best_trial"]]["best"]["epoch"])
        )


TRADED = [
    {"procedure": "asha", "trials": 12, "eta": 2, "objectives": ["val_accuracy", "parameters"]},
    {"procedure": "bohb", "startup": 4, "objectives": ["val_loss", "val_accuracy", "state_mb"], "metric": "val_accuracy"},
    {
        "procedure": "tpe",
        "trials": 8,
        "startup": 4,
        "objectives": ["val_accuracy", "flops_per_row"],
        "subject_to": {"val_accuracy": {"above": 0.6}, "parameters": {"above": 1}},
    },
]


def loss(name, trial):
    """Lower is better; sizes are those of the trial, metrics those of its best epoch."""
    value = trial["measures"][name] if name in trial["measures"] else trial["best"][name]
    return -value if name == "val_accuracy" else value


class SeveralObjectives(Grouped):
    def expect_front(self, folder, search):
        """The front is that of the trials' values, and trials.csv says the same."""
        summary, names = self.summary(folder), search["objectives"]
        rows = {row["id"]: row for row in self.table(folder)}
        points = {trial["id"]: [loss(name, trial) for name in names] for trial in summary["trials"] if trial["best"]}
        bounds = search.get("subject_to", {}).get("val_accuracy", {"above": 0})
        allowed = {id: point for id, point in points.items() if -point[0] > bounds["above"] or len(names) == 3}

        def is_beaten(point):
            return any(all(a <= b for a, b in zip(other, point)) and other != point for other in allowed.values())

        front = summary["pareto"]
        expected = {id for id, point in allowed.items() if not is_beaten(point)}
        self.assertEqual((front["metrics"], set(front["trials"])), (names, expected))
        self.assertEqual({int(id) for id, row in rows.items() if row["on_front"] == "true"}, expected)
        self.assertIs(front["knee"] is None, len(expected) < 3)
        self.assertTrue(front["knee"] is None or front["knee"] in expected)
        self.assertTrue(0 < front["hypervolume"] <= 1, front["hypervolume"])
        for name in set(names) & {"parameters", "state_mb", "flops_per_row"}:
            for trial in summary["trials"]:
                self.assertEqual(float(rows[str(trial["id"])][name]), trial["measures"][name])

    def table(self, folder):
        with (self.cwd / folder / "trials.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def test_same_decisions_and_bits_on_any_trainers(self):
        for number, search in enumerate(TRADED):
            with self.subTest(search=search):
                expected = self.run_once(search, f"one{number}", "--trainers", "1")
                self.expect_front(f"one{number}", search)
                self.assertEqual(self.run_elsewhere(search, f"other{number}", ranks=number == 0), expected)
                code, out, err = self.run_hopscotch("replay", f"one{number}")
                self.assertEqual((code, err), (0, ""), out)
        ended_early = [trial["epochs"] for trial in self.summary("one0")["trials"] if trial["epochs"] < 9]
        self.assertGreater(len(ended_early), 3, "most trials are not promoted")

    def test_killed_and_resumed(self):
        expected = self.run_once(TRADED[0], "quiet", "--trainers", "2")
        self.write(searching(TRADED[0], "out"))
        for laps in (5, 7, 8) if LONG else (12,):
            self.killed_at_lap(laps, "3", "--resume")
        self.resumed("2", "out")
        self.assertEqual(self.everything("out"), expected)
        self.expect_front("out", TRADED[0])

    def test_copies_and_an_earlier_run(self):
        search = {**TRADED[0], "trials": 4, "repeats": 2}
        self.run_once(search, "copies", "--trainers", "2")
        summary = self.summary("copies")
        means = {
            group["trials"][0]: statistics.mean(summary["trials"][id]["best"]["val_accuracy"] for id in group["trials"])
            for group in summary["groups"]
        }
        sizes = {first: summary["trials"][first]["measures"]["parameters"] for first in means}
        front = {
            one
            for one in means
            if not any(
                means[other] >= means[one]
                and sizes[other] <= sizes[one]
                and (means[other], sizes[other]) != (means[one], sizes[one])
                for other in means
            )
        }
        self.assertEqual(set(summary["pareto"]["trials"]), front)
        later = {**TRADED[1], "start_from": "copies"}
        expected = self.run_once(later, "later", "--trainers", "1")
        past = strict_json((self.cwd / "later/start_from.json").read_text())
        self.assertEqual({len(lap) for each in past for lap in each["metrics"]}, {2}, "two of the objectives are metrics")
        self.assertEqual(self.run_elsewhere(later, "elsewhere", ranks=False), expected)

    def test_what_a_user_sees(self):
        self.write(searching(TRADED[0]))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("objectives: val_accuracy (max), parameters (min)\n", out)
        self.succeed("--trainers", "2")
        front = self.summary()["pareto"]["trials"]
        code, out, err = self.run_hopscotch("predict", "out", "digits", "--trial", str(front[-1]), "--out", "p.csv")
        self.assertEqual(code, 0, err)
        page = (self.cwd / "out/report.html").read_text()
        self.assertIn('"growth"', page)


class Copies(Grouped):
    def test_same_decisions_and_bits_on_any_trainers(self):
        for number, search in enumerate(REPEATED):
            with self.subTest(search=search):
                expected = self.run_once(search, f"one{number}", "--trainers", "1")
                self.expect_groups(f"one{number}", search)
                if LONG or number < 3:
                    self.assertEqual(self.run_elsewhere(search, f"other{number}", ranks=number == 0), expected)
        code, out, err = self.run_hopscotch("replay", "one0")
        self.assertEqual((code, err), (0, ""), out)

    def test_killed_and_resumed(self):
        search = REPEATED[0]
        expected = self.run_once(search, "quiet", "--trainers", "2")
        self.write(searching(search, "out"))
        for laps in (5, 7, 8) if LONG else (12,):
            self.killed_at_lap(laps, "3", "--resume")
        self.resumed("2", "out")
        self.assertEqual(self.everything("out"), expected)
        self.expect_groups("out", search)

    def test_where_all_train_together(self):
        for number, name in enumerate(("allreduce", "parameter_server")):
            document = searching(REPEATED[3], f"out{number}", strategy={"name": name})
            document["train"]["epochs"] = 3
            self.write(document)
            self.succeed("--quiet", "--trainers", "2")
            self.expect_groups(f"out{number}", REPEATED[3])
        self.write(searching(REPEATED[3], strategy={"name": "model_averaging"}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("repeats and folds need the best state of every trial", err)

    def test_a_group_with_a_failed_member_comes_last(self):
        document = searching({"procedure": "grid", "repeats": 2})
        document["train"] = {"epochs": 3, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}}
        document["space"] = {"train.optimizer.lr": [0.05, 1e30]}
        self.write(document)
        code, out, err = self.run_hopscotch("run", "e.json", "--trainers", "2")
        self.assertEqual(code, 0, err)
        summary = self.summary()
        self.assertEqual([group["mean"] is None for group in summary["groups"]], [False, True])
        self.assertIn(summary["best_trial"], (0, 1))
        self.assertRegex(out, r"rank +trials +val_accuracy +spread +config\n +1 +0-1 ")
        self.assertIn("1 without a finite val_accuracy of every trial", out)
        self.assertIn("search.repeat", (self.cwd / "out/trials.csv").read_text().splitlines()[0].split(","))

    def test_dry_run_counts_copies(self):
        self.write(searching({"procedure": "successive_halving", "trials": 9, "repeats": 2}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("9 configurations, 2 times each: 18 trials, 42 epochs in all", out)


class Folds(Case):
    SEARCH = {"procedure": "asha", "trials": 4, "eta": 2, "folds": 3}

    def test_every_row_is_held_out_once(self):
        expected = self.run_once(self.SEARCH, "one", "--trainers", "1")
        rows = {}
        for lap in self.laps("one"):
            trained = sum(unit["rows"] for unit in lap["units"])
            self.assertEqual(len({unit["shard"] for unit in lap["units"]}), SHARDS - SHARDS // 3)
            rows[lap["trial"]] = lap["validation"]["rows"]
            self.assertEqual(trained, self.summary("one")["trials"][lap["trial"]]["last"]["rows"])
        shards = strict_json((self.cwd / "digits/dataset.json").read_text())["train"]
        for group in self.summary("one")["groups"]:
            self.assertEqual(sum(rows[trial] for trial in group["trials"]), sum(shard["rows"] for shard in shards))
        for ranks in (False, True) if LONG else (True,):
            self.assertEqual(self.run_elsewhere(self.SEARCH, f"other{ranks}", ranks), expected)
        for name in ("task_parallel", "sequential"):
            self.assertEqual(self.run_once(self.SEARCH, name, "--trainers", "2", strategy={"name": name}), expected)
        code, out, err = self.run_hopscotch("replay", "one")
        self.assertEqual((code, err), (0, ""), out)

    def test_killed_and_resumed(self):
        expected = self.run_once(self.SEARCH, "quiet", "--trainers", "2")
        self.write(searching(self.SEARCH, "out"))
        for laps in (3, 6, 6, 10) if LONG else (9,):
            self.killed_at_lap(laps, "3", "--resume")
        self.resumed("2", "out")
        self.assertEqual(self.everything("out"), expected)

    def test_what_cannot_be(self):
        self.write(searching({"procedure": "random", "trials": 2, "folds": SHARDS + 1}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn(f"/search/folds: {SHARDS + 1} parts cannot be made of {SHARDS} shards", err)
        self.write(searching({"procedure": "random", "trials": 2, "folds": 2}, strategy={"name": "allreduce"}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("/search/folds: is not available with allreduce", err)


class LostTrainers(Grouped):
    launcher_options = RECOVERY

    def test_the_best_of_a_group_outlives_its_trainer(self):
        search = {**REPEATED[0], "trials": 12}
        expected = self.run_once(search, "quiet", "--trainers", "2")
        document = searching(search, "out")
        self.write(document)
        fault = {"HOPSCOTCH_FAULT": "unit.begin:9:kill:2"}
        process = self.start("run", "e.json", "--quiet", np=4, env=fault)
        out, err = self.end_of(process)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertEqual(len(self.summary()["lost"]), 1)
        self.assertEqual(self.everything("out"), expected)
        self.expect_groups("out", search)


class Objectives(Case):
    def test_constraints(self):
        for number, (search, wanted) in enumerate([({"procedure": "grid"}, 2), ({"procedure": "random", "trials": 3}, 2)]):
            document = searching(
                {**search, "subject_to": {"parameters": {"below": 2000}, "flops_per_row": {"above": 1}}}, f"out{number}"
            )
            document["space"] = {"model.hidden": [[8], [16], [32], [48]]}  # 65 h + 10 h + 10 parameters
            self.write(document)
            self.succeed("--quiet", "--trainers", "2")
            self.assertEqual(
                {tuple(trial["config"]["model.hidden"]) for trial in self.summary(f"out{number}")["trials"]}, {(8,), (16,)}
            )
        document["search"]["subject_to"] = {"state_mb": {"below": 0.0001}}
        self.write(document)
        self.refuse(
            "/search/subject_to: excludes every configuration (nothing is left to train); remove a condition",
            "run",
            "e.json",
            "--overwrite",
        )

    def test_pareto(self):
        document = searching({"procedure": "grid", "pareto": ["val_accuracy", "parameters"]})
        document["train"]["epochs"] = 3
        document["space"] = {"model.hidden": [[4], [16], [64]], "train.optimizer.lr": [0.001, 0.1]}
        self.write(document)
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2")
        self.assertEqual(code, 0, err)
        summary = self.summary()
        front = summary["pareto"]
        self.assertEqual(front["metrics"], ["val_accuracy", "parameters"])
        values = {
            trial["id"]: (trial["best"]["val_accuracy"], -75 * trial["config"]["model.hidden"][0] - 10)
            for trial in summary["trials"]
        }

        def beaten(trial):
            return any(
                values[other] != values[trial]
                and values[other][0] >= values[trial][0]
                and values[other][1] >= values[trial][1]
                for other in values
            )

        self.assertEqual(set(front["trials"]), {trial for trial in values if not beaten(trial)})
        self.assertEqual(front["values"], [[values[trial][0], -values[trial][1]] for trial in front["trials"]])
        self.assertIn(f"Pareto front of val_accuracy and parameters: {len(front['trials'])} of 6 trials", out)

    def test_pareto_of_what_the_data_has(self):
        document = searching({"procedure": "random", "trials": 2, "pareto": ["val_mae", "train_s"]})
        self.write(document)
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("/search/pareto: val_mae needs targets", err)

    def test_objectives_that_cannot_be(self):
        self.write(searching({"procedure": "asha", "trials": 2, "objectives": ["val_accuracy", "val_mae"]}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("/search/objectives: val_mae needs targets", err)
        self.write(searching({"procedure": "pbt", "objectives": ["val_accuracy", "parameters"]}))
        code, out, err = self.run_hopscotch("run", "e.json", "--dry-run")
        self.assertEqual(code, 2)
        self.assertIn("/search/objectives: objectives belongs to grid, random, sobol", err)

    def test_ablation_prints_what_each_part_is_worth(self):
        self.write(searching({"procedure": "ablation"}))
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2")
        self.assertEqual(code, 0, err)
        summary = self.summary()
        accuracy = [trial["best"]["val_accuracy"] for trial in summary["trials"]]
        self.assertEqual(
            [(row["key"], row["value"], row["trial"]) for row in summary["ablation"]],
            [("model.dropout", 0.0, 1), ("model.hidden", [4], 2)],
        )
        for row in summary["ablation"]:
            self.assertAlmostEqual(row["difference"], accuracy[row["trial"]] - accuracy[0])
        self.assertIn(f"what each part is worth: val_accuracy against trial 0 ({accuracy[0]:.4f})", out)


if __name__ == "__main__":
    unittest.main()
