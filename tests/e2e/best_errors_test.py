# SPDX-License-Identifier: Apache-2.0
"""Why did it win? The errors of the best model (best/validation.json) against what `predict` says of the same rows, and the
report of them, as a page and as text."""

import collections
import csv
import json
import re
import signal

from harness import Case, drawn, experiment


class BestErrors(Case):
    import_options = ("--test", "0.2")

    def errors(self, run="out"):
        return json.loads((self.cwd / run / "best/validation.json").read_text())

    def predicted(self, data, run="out"):
        code, out, err = self.run_hopscotch("predict", run, data, "--split", "valid", "--out", "p.csv")
        self.assertEqual((code, err), (0, ""), out)
        with open(self.cwd / "p.csv", newline="") as file:
            return list(csv.DictReader(file))

    def text(self, *args, run="out"):
        code, out, err = self.run_hopscotch("report", run, "--text", *args)
        self.assertEqual((code, err), (0, ""), out)
        return out

    def page(self, run="out"):
        self.assertEqual(self.run_hopscotch("report", run)[0], 0)
        return (self.cwd / run / "report.html").read_text()

    def digits_run(self, **sections):
        self.write(experiment(space={"train.optimizer.lr": [0.02, 0.1]}, **sections))
        return self.succeed("--quiet", "--trainers", "2")[0]

    def test_classes(self):
        printed = self.digits_run()
        errors, summary = self.errors(), self.summary()
        rows = self.predicted("digits")
        self.assertEqual((errors["trial"], errors["rows"]), (summary["best_trial"], len(rows)))
        self.assertEqual(errors["epoch"], summary["trials"][errors["trial"]]["best"]["epoch"])
        pairs = collections.Counter((int(row["label"]), int(row["prediction"])) for row in rows)
        self.assertEqual(errors["confusion"], [[pairs[r, c] for c in range(10)] for r in range(10)])
        wrong = {tuple(pair[:2]): pair[2] for pair in errors["confused"]}
        self.assertEqual(wrong, {pair: count for pair, count in pairs.items() if pair[0] != pair[1]})
        for c in range(10):
            self.assertEqual(errors["classes"]["labelled"][c], sum(pairs[c, p] for p in range(10)))
            self.assertEqual(errors["classes"]["predicted"][c], sum(pairs[r, c] for r in range(10)))
            self.assertEqual(errors["classes"]["right"][c], pairs[c, c])
        accuracy = sum(pairs[c, c] for c in range(10)) / len(rows)
        binomial = (accuracy * (1 - accuracy) / len(rows)) ** 0.5
        self.assertTrue(binomial / 2 < errors["standard_error"] < binomial * 2, (binomial, errors["standard_error"]))
        self.assertEqual(summary["standard_error"], errors["standard_error"])
        self.assertRegex(printed, r"\n     trial \d is [\d.]+ (behind|.*as good as) trial \d")

    def test_ranks_and_threads_find_the_same(self):
        self.digits_run()
        threads = (self.cwd / "out/best/validation.json").read_bytes()
        self.succeed("--quiet", "--overwrite", np=3)
        self.assertEqual((self.cwd / "out/best/validation.json").read_bytes(), threads)

    def test_residuals(self):
        lines = [f"{i % 7},{i % 5},{3000 + 100 * (i % 7) + 25 * (i % 5) + i % 3}" for i in range(300)]
        self.imported_from("a,b,price\n" + "\n".join(lines) + "\n", "--regression", "--label", "price", out="house")
        train = {"epochs": 4, "batch_size": 16, "loss": "mse", "optimizer": {"name": "sgd", "lr": 0.05}}
        self.digits_run(data={"path": "house"}, train=train, search={"procedure": "grid", "metric": "val_r2"})
        rows = self.predicted("house")
        residuals = sorted(float(row["prediction_price"]) - float(row["target_price"]) for row in rows)
        (told,) = self.errors()["targets"]
        self.assertAlmostEqual(told["quantiles"][0], residuals[0], delta=0.01)
        self.assertAlmostEqual(told["quantiles"][-1], residuals[-1], delta=0.01)
        self.assertAlmostEqual(told["mean"], sum(residuals) / len(residuals), delta=0.01)
        sample = sorted((round(target), round(predicted)) for target, predicted in told["sample"])
        targets = [float(row["target_price"]) for row in rows]
        pairs = zip(targets, [float(row["prediction_price"]) for row in rows])
        self.assertEqual(sample, sorted((round(target), round(predicted)) for target, predicted in pairs))
        mean = sum(targets) / len(targets)
        r2 = 1 - sum(each**2 for each in residuals) / sum((target - mean) ** 2 for target in targets)
        self.assertAlmostEqual(told["r2"], r2, delta=1e-4)
        self.assertAlmostEqual(told["mae"], sum(map(abs, residuals)) / len(residuals), delta=0.01)
        self.assertEqual(told["name"], "price")
        self.assertRegex(self.text(), r"target +R2 +MAE +RMSE +residual: mean +deviation +least")
        self.assertRegex(self.text(), r"\n +price +-?0\.\d+ ")
        (target,) = drawn(self.page())[0]["errors"]["targets"]
        self.assertEqual((target["name"], len(target["sample"])), ("price", len(targets)))

    def test_a_run_without_validation_rows_has_none(self):
        rows = "".join(f"{i % 7},{'no' if i % 2 else 'yes'}\n" for i in range(80))
        self.imported_from("a,y\n" + rows, "--valid", "0", "--test", "0.2", out="whole")
        self.digits_run(data={"path": "whole"}, search={"procedure": "grid", "metric": "train_loss", "mode": "min"})
        self.assertIn("test", self.summary())
        self.assertFalse((self.cwd / "out/best/validation.json").exists())
        self.assertNotIn('id="errors"', self.page())

    def test_folds_have_none(self):
        self.digits_run(search={"procedure": "grid", "folds": 2, "metric": "val_accuracy"})
        self.assertFalse((self.cwd / "out/best/validation.json").exists())
        self.assertRegex(self.text(), r"trials \d-\d are [\d.e-]+ behind trials \d-\d")

    def test_the_report_shows_them(self):
        self.digits_run()
        page, text = self.page(), self.text()
        section = re.search(r'<section id="errors">(.*?)</section>', page, re.DOTALL)[1]
        self.assertEqual(section.count("<tr>"), 11)  # ten classes and the head
        confusion = self.errors()["confusion"]
        for line in confusion:
            self.assertRegex(text, r"\n  \d  +" + " +".join(map(str, line)) + "\n")
        self.assertRegex(text, r"class +rows +precision +recall +F1\n")
        (data,) = drawn(page)
        self.assertEqual(data["errors"]["confusion"], {"names": [str(i) for i in range(10)], "rows": confusion})
        trials = self.summary()["trials"]
        self.assertEqual(sorted(shown["id"] for shown in data["trials"]), list(range(len(trials))))
        for shown in data["trials"]:
            trial = trials[shown["id"]]
            self.assertEqual(dict(shown["config"]), {k: str(v) for k, v in trial["config"].items()})
            for metric, value in zip(data["metrics"], shown["best"]):
                self.assertAlmostEqual(value, trial["best"][metric["name"]], delta=abs(value) * 1e-6)
            self.assertEqual(shown["log"][-1], "finished")

    def test_another_metric_compares(self):
        self.digits_run()
        self.assertIn("On the test shards its accuracy is", self.page())
        best = {t["best"]["val_accuracy"]: n for n, t in enumerate(self.summary()["trials"])}
        self.assertEqual(len(best), 2)
        losses = {}
        for line in (self.cwd / "out/metrics.jsonl").read_text().splitlines():
            lap = json.loads(line)
            losses[lap["trial"]] = min(losses.get(lap["trial"], 1e9), lap["train_loss"])
        first = min(losses, key=losses.get)
        self.assertRegex(self.text("--metric", "train_loss"), rf"trial +train_loss.*\n  {first} ")
        self.assertRegex(self.text("--metric", "train_loss", "--mode", "max"), rf"trial +train_loss.*\n  {1 - first} ")
        for mode in ("min", "max"):  # one of them chooses the trial that was not scored
            args = ("--metric", "train_loss", "--mode", mode, "--out", f"{mode}.html")
            self.assertEqual(self.run_hopscotch("report", "out", *args)[0], 0)
        said = ["On the test shards" in (self.cwd / f"{mode}.html").read_text() for mode in ("min", "max")]
        self.assertFalse(all(said), "a score of another trial or epoch")
        for args, message in (
            (["--metric", "val_los"], "--metric val_los: is unknown (known: train_loss, val_loss, "),
            (["--metric", "val_los"], '); did you mean "val_loss"?\n'),
            (["--metric", "price"], ")\n"),
            (["--metric", "val_r2"], "--metric val_r2: no trial of out has it; leave it out"),
            (["--mode", "min"], "--mode requires --metric"),
        ):
            code, _, err = self.run_hopscotch("report", "out", *args)
            self.assertEqual(code, 2, err)
            self.assertIn(message, err)

    def test_a_foreign_file_of_errors_harms_nobody(self):
        self.digits_run()
        file = self.cwd / "out/best/validation.json"
        good = self.errors()
        evil = "</script><script>alert(1)</script>\x1b[2J"
        file.write_text(json.dumps({**good, "classes": {**good["classes"], "names": [evil] * 10}}))
        self.assertNotIn("<script>alert", self.page())
        self.assertNotIn("\x1b", self.text())
        for odd in (
            "{",
            "[]",
            json.dumps({**good, "confusion": [[1, 2], [3]]}),
            json.dumps({**good, "confusion": 3}),
            json.dumps({**good, "classes": {"names": [], "labelled": [1], "predicted": [], "right": [1]}}),
            json.dumps({**good, "confused": [[1]]}),
            json.dumps({**good, "targets": [{"mean": 1}]}),
        ):
            file.write_text(odd)
            self.assertNotIn('id="errors"', self.page())
            self.assertIn("val_accuracy", self.text())

    def killed_at(self, fault):
        self.write(experiment(space={"train.optimizer.lr": [0.02, 0.1]}, run={"dir": "out", "device": "cpu"}))
        env = {"HOPSCOTCH_FAULT": fault}
        code, out, err = self.run_hopscotch("run", "e.json", "--quiet", "--trainers", "2", env=env)
        self.assertEqual(code, -signal.SIGKILL, out + err)

    def test_a_kill_before_the_errors_costs_no_model(self):
        self.killed_at("end.errors:1:kill")
        model = (self.cwd / "out/best/model.json").read_bytes()
        self.assertFalse((self.cwd / "out/best/validation.json").exists())
        self.assertIn("val_accuracy", self.text())
        code, out, err = self.run_hopscotch("resume", "out", "--quiet")
        self.assertEqual(code, 0, out + err)
        self.assertEqual((self.cwd / "out/best/model.json").read_bytes(), model)
        self.assertNotIn('id="errors"', self.page())

    def test_no_job_leaves_half_a_file(self):
        self.killed_at("validation.append:1:tear")
        self.assertTrue((self.cwd / "out/best/validation.json.tmp").exists())
        code, out, err = self.run_hopscotch("resume", "out", "--quiet")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(
            sorted(path.name for path in (self.cwd / "out/best").iterdir()), ["model.json", "model.safetensors"]
        )

    def test_a_number_that_is_hardly_one(self):
        self.digits_run()
        journal = self.cwd / "out/journal.jsonl"
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        for line in lines:
            if line["event"] == "lap_done":
                line["validation"]["loss_sum"] = 1e-310
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (data,) = drawn(self.page())
        place = [metric["name"] for metric in data["metrics"]].index("val_loss")
        self.assertTrue(all(0 < value < 1e-300 for trial in data["trials"] for value in trial["values"][place]))

    def test_a_pareto_front_stands_among_the_others(self):
        self.digits_run(search={"procedure": "grid", "metric": "val_accuracy", "pareto": ["val_f1", "val_loss"]})
        (data,) = drawn(self.page())
        self.assertEqual(sorted(trial for trial, _, _ in data["pareto"]["others"]), [0, 1])

    def test_more_trials_keep_or_renew_it(self):
        space = {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 0.2, "log": True}}
        search = {"procedure": "random", "trials": 2, "metric": "val_accuracy"}
        self.digits_run()
        self.write(experiment(space=space, search=search))
        self.succeed("--quiet", "--overwrite", "--trainers", "2")
        for trials in (3, 6):
            code, out, err = self.run_hopscotch("resume", "out", "--set", f"search.trials={trials}", "--quiet")
            self.assertEqual(code, 0, out + err)
            errors, summary = self.errors(), self.summary()
            self.assertEqual(errors["trial"], summary["best_trial"])
            self.assertEqual(errors["standard_error"], summary["standard_error"])
        # Killed before the errors of a new best are known: none are left of the old one.
        fault = {"HOPSCOTCH_FAULT": "end.errors:1:kill"}
        self.run_hopscotch("resume", "out", "--set", "search.trials=24", "--quiet", env=fault)
        self.assertNotEqual(json.loads((self.cwd / "out/best/model.json").read_text())["trial"], errors["trial"])
        self.assertFalse((self.cwd / "out/best/validation.json").exists())
