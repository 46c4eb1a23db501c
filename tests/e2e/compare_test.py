# SPDX-License-Identifier: Apache-2.0
"""hopscotch compare: what it says of two real runs, what it refuses, and the cost model on copies whose times are known."""

import json
import math
import shutil
import unittest

from harness import Case, experiment, strict_json
from units import with_units

NO_WORK = "these runs cannot be compared (they did not do the same work to the end); --anyway compares them all the same"


class Compare(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("run_both")
        case.cwd = cls.imported.parent / "runs"
        case.cwd.mkdir()
        shutil.copytree(cls.imported, case.cwd / "digits")
        case.run_both()
        cls.runs = case.cwd

    def run_both(self):
        self.write(experiment())
        for strategy in ("mop", "sequential"):
            self.succeed("--quiet", "--trainers", "2", "--strategy", strategy, "--set", f'run.dir="{strategy}"')

    def setUp(self):
        super().setUp()
        for strategy in ("mop", "sequential"):
            shutil.copytree(self.runs / strategy, self.cwd / strategy)

    def edited(self, name, facts=lambda _: None, summary=lambda _: None, source="mop"):
        """A copy of a run whose files were changed by hand."""
        shutil.copytree(self.cwd / source, self.cwd / name)
        for file, change in (("experiment.json", facts), ("summary.json", summary)):
            document = json.loads((self.cwd / name / file).read_text())
            change(document)
            (self.cwd / name / file).write_text(json.dumps(document))

    def compared(self, *args):
        code, out, err = self.run_hopscotch("compare", *args)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def document(self, *args):
        document = strict_json(self.compared(*args, "--json"))
        return document, {run["dir"]: run for run in document["runs"]}

    def curve(self, run):
        return [strict_json(line) for line in (self.cwd / run / "metrics.jsonl").read_text().splitlines()]

    def test_says_what_the_runs_files_say(self):
        document, runs = self.document("sequential", "mop")
        self.assertEqual(
            [run["dir"] for run in document["runs"]], ["mop", "sequential"]
        )  # what the others are compared with
        self.assertEqual((document["base"], document["reasons"]), ("mop", []))
        self.assertEqual((document["metric"], document["mode"]), ("val_accuracy", "max"))
        for name, run in runs.items():
            summary, values = self.summary(name), run["values"]
            self.assertEqual(run["label"], name)
            for key in ("wall_s", "makespan_s", "utilisation"):
                self.assertEqual(values[key], summary[key])
                if name != "mop":
                    self.assertAlmostEqual(run["ratios"][key], summary[key] / self.summary("mop")[key])
            self.assertEqual(values["peak_rss_bytes"], max(summary["peak_rss_bytes"]))
            self.assertEqual(values["best"], max(line["val_accuracy"] for line in self.curve(name)))
        self.assertEqual(runs["mop"]["ratios"]["wall_s"], None)
        self.assertGreater(runs["mop"]["values"]["state_bytes_mean"], 0)
        self.assertEqual(runs["sequential"]["values"]["state_bytes_mean"], 0)
        self.assertEqual(runs["sequential"]["values"]["best"], runs["mop"]["values"]["best"])

    def test_time_and_epochs_to_a_target(self):
        _, runs = self.document("mop", "sequential")
        for target, given in ((runs["mop"]["values"]["best"], ()), (0.1, ("--target", "0.1")), (2, ("--target", "2"))):
            document, runs = self.document("mop", "sequential", *given)
            self.assertEqual(document["target"], target)
            for name in runs:
                there = [line for line in self.curve(name) if line["val_accuracy"] >= target]
                values = runs[name]["values"]
                self.assertEqual(values.get("time_to_target_s"), min((line["wall_s"] for line in there), default=None))
                self.assertEqual(values.get("epochs_to_target"), min((line["epoch"] + 1 for line in there), default=None))

    def test_a_target_that_is_not_reached_says_so(self):
        best = self.document("mop", "sequential")[1]["mop"]["values"]["best"]
        self.edited("worse")
        lines = [{**line, "val_accuracy": 0} for line in self.curve("mop")]
        (self.cwd / "worse" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        some, none = (self.compared("mop", "worse", f"--target={target}") for target in (best, 2))
        for row in ("time to target, s", "epochs to target"):
            self.assertRegex(some, rf"\n{row} +\d\S* +not reached\n")
            self.assertRegex(none, rf"\n{row} +not reached +not reached\n")
        self.assertEqual(self.document("mop", "--target=2")[1]["mop"]["values"]["time_to_target_s"], None)
        self.assertNotIn("not reached", self.compared("mop", "worse"))

    def test_heads_are_whole_where_they_fit(self):
        self.edited(
            "task_parallel_remote",
            lambda j: (
                j.update(strategy="task_parallel"),
                j["experiment"].update(strategy={"name": "task_parallel", "data": "remote"}),
            ),
        )
        text = self.compared("mop", "task_parallel_remote")
        self.assertRegex(text, r"\A +mop +task_parallel_remote\n +task_parallel\n +remote\n")
        self.assertRegex(self.compared("mop/", "./task_parallel_remote/"), r"\A +mop +task_parallel_remote\n")
        long = "a_folder_that_is_" + "much_" * 20 + "too_long"
        self.edited(long)
        text = self.compared("mop", long)
        self.assertLessEqual(max(map(len, text.split("\nx: ")[0].splitlines())), 100)
        self.assertIn(long, "".join(line.strip() for line in text.splitlines()))

    def test_every_run_reaches_the_target_unless_told_otherwise(self):
        for name, factor in (("worse", 0.5), ("hopeless", None)):
            self.edited(name)
            lines = [{**line, "val_accuracy": factor and factor * line["val_accuracy"]} for line in self.curve("mop")]
            (self.cwd / name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        document, runs = self.document("mop", "worse", "sequential")
        self.assertEqual(document["target"], runs["mop"]["values"]["best"] / 2)
        self.assertIsNotNone(runs["worse"]["values"]["time_to_target_s"])
        document, runs = self.document("mop", "hopeless", "sequential")
        self.assertIsNone(document["target"])
        self.assertEqual((runs["hopeless"]["values"]["best"], runs["mop"]["values"].get("time_to_target_s")), (None, None))

    def test_a_metric_that_is_better_when_it_is_small(self):
        for name in ("mop", "sequential"):
            self.edited(
                f"{name}_loss",
                lambda j: j["experiment"]["search"].update(metric="val_loss", mode="min"),
                lambda j: j.update(metric="val_loss", mode="min"),
                source=name,
            )
        document, runs = self.document("mop_loss", "sequential_loss")
        best = min(line["val_loss"] for line in self.curve("mop"))
        self.assertEqual((document["mode"], document["target"]), ("min", best))
        self.assertEqual(runs["mop_loss"]["values"]["best"], best)
        self.assertIsNotNone(runs["mop_loss"]["values"]["time_to_target_s"])

    def slowed(self, j):
        j.update(
            exposed_s=[1, 3],
            makespan_s=10,
            storage_bytes=5000,
            weight_bytes=10,
            sync_rounds=12,
            staleness=[1, 0, 3],
            injected=["slow:rank=2,factor=3"],
            bytes_by_rank=[
                {"state": 0, "gradient": 7, "data": 0, "control": 1},
                {"state": 0, "gradient": 3_000_000, "data": 0, "control": 1},
                {"state": 0, "gradient": 1_000_000, "data": 0, "control": 1},
            ],
        )

    def test_newer_keys_and_trouble_on_purpose(self):
        self.edited(
            "ps",
            lambda j: (
                j.update(strategy="parameter_server"),
                j["experiment"].update(strategy={"name": "parameter_server", "mode": "async", "servers": 1}),
            ),
            self.slowed,
        )
        _, runs = self.document("mop", "ps")
        values = runs["ps"]["values"]
        self.assertEqual(runs["ps"]["label"], "parameter_server async s=1")
        self.assertEqual((values["gradient_bytes_mean"], values["gradient_bytes_max"]), (2_000_000, 3_000_000))
        self.assertEqual((values["exposed_fraction"], values["storage_bytes"], values["sync_rounds"]), (0.2, 5000, 12))
        self.assertEqual(values["staleness_mean"], 1.5)
        self.assertEqual(runs["mop"]["values"]["storage_bytes"], 1438 * 72, "64 bytes and a label a row, held once")
        for others, tables in ((4, 1), (9, 2)):  # six columns fit side by side, eleven do not
            text = self.compared("mop", "ps", *["sequential"] * others)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            self.assertEqual(text.count("makespan, s"), tables, text)
        self.assertRegex(self.compared("mop", "ps"), r"parameter_server\n +async s=1 \*\n")
        self.assertIn("\n* ps: slowed down on purpose (slow:rank=2,factor=3)\n", text)

    def test_refuses_what_did_other_work(self):
        self.edited(
            "other",
            lambda j: (
                j.update(dataset_hash="0123456789abcdef"),
                j["experiment"]["space"].update({"train.optimizer.lr": [0.03, 0.2]}),
                j["experiment"]["search"].update(procedure="random", trials=2),
                j["experiment"]["model"].update(hidden=[32]),
                j["experiment"]["train"].update(epochs=3, batch_size=64),
            ),
            lambda j: j.update(status="interrupted"),
        )
        data = json.loads((self.cwd / "mop/experiment.json").read_text())["dataset_hash"]
        reasons = [
            f"mop and other: dataset_hash is {data} and 0123456789abcdef",
            "mop and other: space.train.optimizer.lr is [0.03,0.1] and [0.03,0.2]",
            "mop and other: search.procedure is grid and random",
            "mop and other: search.trials is not given and 2",
            "mop and other: model.hidden is [16] and [32]",
            "mop and other: train.epochs is 2 and 3",
            "mop and other: status is finished and interrupted",
        ]
        self.refuse("\n  ".join([NO_WORK, *reasons]), "compare", "sequential", "mop", "other")
        document, _ = self.document("mop", "other", "--anyway")
        self.assertEqual(document["reasons"], reasons)
        self.assertEqual(
            document["notes"], ["mop and other: train.batch_size is 32 and 64"]
        )  # may be tuned for each strategy
        self.assertIn(f"\nNOT COMPARABLE {reasons[0]}\n", self.compared("mop", "other", "--anyway"))

    def test_refuses_a_run_without_an_end(self):
        self.edited("killed")
        (self.cwd / "killed/summary.json").unlink()
        lines = (self.cwd / "killed/metrics.jsonl").read_text()
        (self.cwd / "killed/metrics.jsonl").write_text(lines[:-5])
        self.refuse(f"{NO_WORK}\n  killed and mop: status is not ended and finished", "compare", "killed", "mop")
        _, runs = self.document("killed", "mop", "--anyway")
        self.assertIsNone(runs["killed"]["values"]["wall_s"])
        self.assertIsNotNone(runs["killed"]["values"]["best"])

    def test_refuses_bad_input(self):
        self.refuse(
            "nothing: not a run directory (it has no experiment.json)\ndigits: not a run directory (it has no "
            "experiment.json)",
            "compare",
            "mop",
            "nothing",
            "digits",
        )
        for text in ("1gb", "fast", "0gbit", "-1gbit", "infgbit"):
            self.refuse(
                f'--bandwidth: "{text}" is not a bandwidth; write for example 1gbit, 100mbit or 12.5GB/s',
                "compare",
                "mop",
                f"--bandwidth={text}",
            )
        self.refuse(
            '--bandwidth: "" is not a bandwidth; write for example 1gbit, 100mbit or 12.5GB/s',
            "compare",
            "mop",
            "--bandwidth",
            "",
        )
        for text in ("1e-300gbit", "0.9kbit", "101tbit", "1e300gbit"):
            self.refuse(
                f'--bandwidth: "{text}" is out of range (1kbit to 100tbit a second)', "compare", "mop", f"--bandwidth={text}"
            )
        for text in ("nan", "inf", "-inf"):
            self.refuse("--target must be a finite number", "compare", "mop", f"--target={text}")
        for text in ("1kbit", "100tbit"):
            self.assertIn(f"\ncost model over {text}, 0 (", self.compared("mop", "--bandwidth", text, "--latency", "0"))
        self.refuse(
            '--latency: "1" is not a duration; write for example 0.1ms, 20us or 1s',
            "compare",
            "mop",
            "--bandwidth=1gbit",
            "--latency=1",
        )

    def timed(self, run, local_batch):
        """Rewrites a journal: a step of x rows takes 0.01 + 0.001 x seconds, validation none. Returns for each trial:
        seconds, and steps by trainer."""
        path = self.cwd / run / "journal.jsonl"
        lines, seconds, steps = [json.loads(line) for line in path.read_text().splitlines()], {}, {}
        for lap in (line for line in lines if line["event"] == "lap_done"):
            lap["units"] = with_units(self.cwd / run, lap)["units"]
            lap["validation"]["seconds"] = 0
            for unit in lap["units"]:
                count = math.ceil(unit["rows"] / local_batch)
                unit["seconds"] = 0.01 * count + 0.001 * unit["rows"]
                seconds[lap["trial"]] = seconds.get(lap["trial"], 0) + unit["seconds"]
                steps.setdefault(lap["trial"], [0, 0])[unit["trainer"]] += count
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return seconds, steps

    def test_the_cost_model_predicts_from_the_runs_own_numbers(self):
        weights = 4 * (64 * 16 + 16 + 16 * 10 + 10)
        self.edited(
            "ring",
            lambda j: (j.update(strategy="allreduce"), j["experiment"].update(strategy={"name": "allreduce"})),
            lambda j: j.update(weight_bytes=weights, bytes={"state": 0, "gradient": 1000, "data": 0, "control": 0}),
        )
        alone, _ = self.timed("mop", 32)
        self.timed("sequential", 32)
        split, local_steps = self.timed("ring", 16)
        steps = sum(max(each) for each in local_steps.values())  # each is one of both trainers
        _, runs = self.document("mop", "sequential", "ring", "--bandwidth", "1gbit", "--latency", "0.1ms")
        predicted = {name: run["predicted"] for name, run in runs.items()}
        # Each trial goes from trainer to trainer and home again, alone on its way: two trials, two trainers, 2 hops an
        # epoch.
        state = self.laps("mop")[0]["state_bytes"]
        hop = 1e-4 + state / 125e6
        self.assertEqual(predicted["mop"]["predicted_network_bytes"], self.summary("mop")["bytes"]["state"])
        hops = self.summary("mop")["hops"] / 2
        self.assertAlmostEqual(predicted["mop"]["predicted_makespan_s"], alone[0] + hops * hop)
        self.assertAlmostEqual(predicted["sequential"]["predicted_makespan_s"], alone[0] + alone[1])
        self.assertEqual(predicted["sequential"]["predicted_network_bytes"], 0)
        ring = 2 * 1e-4 + weights / 125e6
        step = sum(split.values()) / sum(sum(each) for each in local_steps.values())
        self.assertEqual(predicted["ring"]["predicted_network_bytes"], steps * 2 * weights)
        self.assertAlmostEqual(predicted["ring"]["predicted_exposed_s"], steps * ring)
        self.assertAlmostEqual(predicted["ring"]["predicted_makespan_s"], steps * (step + ring))
        self.assertEqual(runs["ring"]["predicted_to_measured"]["predicted_network_bytes"], steps * 2 * weights / 1000)
        self.assertIn("\ncost model over 1gbit, 0.1ms", self.compared("mop", "ring", "--bandwidth", "1gbit"))


if __name__ == "__main__":
    unittest.main()
