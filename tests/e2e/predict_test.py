# SPDX-License-Identifier: Apache-2.0
"""`hopscotch predict`: what it writes must give the numbers that the run reported, recomputed here from the CSV alone."""

import collections
import csv
import json
import math
import shutil
import signal

from harness import SHARDS, SOURCE, Case, experiment, strict_json

NAMES = ["a, b", 'say "hi"', "plain"]


class Predict(Case):
    import_options = ("--test", "0.2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("train_once")
        super().setUp(case)
        cls.printed = case.train_once()
        shutil.copytree(case.cwd / "out", cls.imported.parent / "out")
        case.doCleanups()

    def train_once(self):
        # Trial 0 learns nothing: its best epoch is the first, and not the last.
        self.write(experiment(space={"train.optimizer.lr": [0, 0.1]}))
        return self.succeed("--quiet", "--trainers", "2")[0]

    def setUp(self):
        super().setUp()
        self.write(experiment(space={"train.optimizer.lr": [0, 0.1]}))
        shutil.copytree(self.imported.parent / "out", self.cwd / "out")

    def predict(self, *args, run="out", data="digits", out="p.csv"):
        return self.run_hopscotch("predict", run, data, "--out", out, *args)

    def rows(self, name="p.csv"):
        with open(self.cwd / name, newline="") as file:
            return list(csv.DictReader(file))

    def check(self, metrics, rows, printed):
        """The same rows, loss and accuracy in the CSV, in what was printed, and in `metrics`."""
        correct = sum(row["label"] == row["prediction"] for row in rows)
        loss = -sum(math.log(float(row["p_" + row["label"]])) for row in rows)
        self.assertEqual(correct / len(rows), metrics["accuracy"])
        self.assertAlmostEqual(loss / len(rows), metrics["loss"], delta=1e-4 * metrics["loss"])
        self.assertEqual(
            printed,
            f"{len(rows)} rows, loss {metrics['loss']:.4f}, accuracy {metrics['accuracy']:.4f}, "
            f"top5 {metrics['top5']:.4f}, f1 {metrics['f1']:.4f}\npredictions: p.csv\n",
        )

    def best(self, trial):
        return {key.removeprefix("val_"): value for key, value in self.summary()["trials"][trial]["best"].items()}

    def test_validation_rows_give_the_summary(self):
        code, out, err = self.predict("--split", "valid")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(self.summary()["best_trial"], 1)
        self.check(self.best(1), self.rows(), out)

    def test_test_rows_give_the_summary(self):
        code, out, _ = self.predict("--split", "test")
        self.assertEqual(code, 0)
        test = self.summary()["test"]
        self.assertEqual(test["rows"], 359)
        self.assertEqual(test["epoch"], self.best(1)["epoch"])
        self.check(test, self.rows(), out)
        self.assertIn(f"test: 359 rows, loss {test['loss']:.4f}, accuracy {test['accuracy']:.4f}, ", self.printed)

    def test_ranks_score_the_test_as_threads_do(self):
        wanted = self.summary()["test"]
        out, _ = self.succeed("--quiet", "--overwrite", np=3)
        self.assertIn("test: 359 rows, ", out)
        self.assertEqual(self.summary()["test"], wanted)

    def test_the_same_columns_in_another_order_are_another_table(self):
        rows = "".join(f"{i % 7},{i % 3},{'no' if i % 2 else 'yes'}\n" for i in range(40))
        for name, header in (("ab", "a,b,y\n"), ("ba", "b,a,y\n")):
            (self.cwd / f"{name}.csv").write_text(header + rows)
            code, _, err = self.run_hopscotch("data", "import", "csv", f"{name}.csv", "--out", name, "--shards", "1")
            self.assertEqual((code, err), (0, ""))
        self.write(experiment(data={"path": "ab"}, run={"dir": "table", "device": "cpu"}))
        self.succeed("--quiet", "--trainers", "1")
        self.assertEqual(self.run_hopscotch("predict", "table", "ab", "--out", "p.csv")[0], 0)
        code, _, err = self.run_hopscotch("predict", "table", "ba", "--out", "q.csv")
        self.assertEqual(code, 2)
        self.assertIn('ba: the columns are ["b","a"] (the model was trained with ["a","b"])', err)
        self.assertFalse((self.cwd / "q.csv").exists())

    def test_a_missing_test_shard_is_found_before_training(self):
        self.write(experiment(run={"dir": "other", "device": "cpu"}))
        (self.cwd / "digits/test-00000.h5").unlink()
        for flags in (["--dry-run"], ["--trainers", "2"]):
            code, out, err = self.run_hopscotch("run", "e.json", *flags)
            self.assertEqual(code, 2, out + err)
            self.assertIn("digits/test-00000.h5", err)
        self.assertFalse((self.cwd / "other").exists())

    def test_another_trial_at_its_best_epoch(self):
        code, out, err = self.predict("--split", "valid", "--trial", "0")
        self.assertEqual((code, err), (0, "the weights of trial 0 are not stored: training it again, 1 epoch\n"))
        self.assertEqual(self.best(0)["epoch"], 0)
        self.check(self.best(0), self.rows(), out)

    def test_every_row_once_with_its_probabilities(self):
        self.assertEqual(self.predict()[0], 0)
        rows = self.rows()
        self.assertEqual(
            list(rows[0]),
            ["split", "shard", "row", "source_row", "label", "prediction", "probability", *(f"p_{i}" for i in range(10))],
        )
        manifest = strict_json((self.cwd / "digits/dataset.json").read_text())
        places = [
            (split, str(shard), str(row))
            for split in ("train", "valid", "test")
            for shard, file in enumerate(manifest[split])
            for row in range(file["rows"])
        ]
        self.assertEqual([(row["split"], row["shard"], row["row"]) for row in rows], places)
        for row in rows:
            probabilities = [float(row[f"p_{i}"]) for i in range(10)]
            self.assertAlmostEqual(sum(probabilities), 1, delta=1e-5)
            self.assertEqual(float(row["probability"]), max(probabilities))
            self.assertEqual(float(row["p_" + row["prediction"]]), max(probabilities))
        with open(SOURCE / "data/digits.csv", newline="") as file:
            self.assertEqual(
                collections.Counter(row["label"] for row in rows),
                collections.Counter(row["label"] for row in csv.DictReader(file)),
            )

    def test_names_with_commas_and_quotes(self):
        text = [["x", "y", "label"]] + [[i % 3 + i / 1000, i % 7, NAMES[i % 3]] for i in range(90)]
        with open(self.cwd / "named.csv", "w", newline="") as file:
            csv.writer(file).writerows(text)
        self.imported_from((self.cwd / "named.csv").read_text(), out="named")
        self.write(experiment(data={"path": "named"}, model={"name": "logistic"}, run={"dir": "run", "device": "cpu"}))
        self.succeed("--quiet")
        self.assertEqual(self.predict(run="run", data="named")[0], 0)
        rows = self.rows()
        self.assertEqual({key for key in rows[0] if key.startswith("p_")}, {"p_" + name for name in NAMES})
        self.assertEqual(collections.Counter(row["label"] for row in rows), {name: 30 for name in NAMES})
        self.assertTrue(all(set(row) == set(rows[0]) and None not in row.values() for row in rows))

    def test_datasets_that_are_others(self):
        self.imported_from("a,b,label\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)), out="flat")
        digits = (SOURCE / "data/digits.csv").read_text().splitlines()
        kept = [digits[0]] + [line for line in digits[1:] if line.split(",")[digits[0].split(",").index("label")] != "9"]
        self.imported_from("\n".join(kept) + "\n", "--shape", "1x8x8", "--label", "label", out="nine")
        for name, differs in (
            ("flat", "rows have shape 2 (the model was trained with 1x8x8)"),
            ("nine", "the number of outputs is 9 (the model was trained with 10)"),
        ):
            self.refuse(f"{name}: {differs}; import the data in the same way", "predict", "out", name, "--out", "p.csv")
        self.refuse(
            "other: does not exist; name a dataset directory, a CSV file or images",
            "predict",
            "out",
            "other",
            "--out",
            "p.csv",
        )

    def test_runs_that_have_nothing_to_predict_with(self):
        self.refuse(
            "digits: not a run directory (it has no experiment.json)", "predict", "digits", "digits", "--out", "p.csv"
        )
        self.refuse("out: there is no trial 2 in this run", "predict", "out", "digits", "--out", "p.csv", "--trial", "2")

    def test_a_description_that_somebody_changed(self):
        path = self.cwd / "out/best/model.json"
        best = strict_json(path.read_text())
        for key, value, problem in (
            ("feature_offset", [1], "feature_offset has 1 numbers (one a feature: 64)"),
            ("target_mean", [1], "target_mean and target_stddev have 1 and 0 numbers (10 targets)"),
            ("mean", [0, 0], "mean and stddev have 2 and 1 numbers (the shape asks for 1)"),
            ("shape", [1, -8, -8], "shape or outputs has a number below 1 (a row has at least one feature and one output)"),
        ):
            path.write_text(json.dumps({**best, "model": {**best["model"], key: value}}))
            said = f"out/best/model.json: model: {problem} (not written by this hopscotch?)"
            self.refuse(said, "predict", "out", "digits", "--out", "p.csv")

    def test_a_flipped_bit_of_the_weights(self):
        weights = self.cwd / "out/best/model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.refuse(
            "out/best/model.safetensors: is not the file that model.json describes (its content differs); restore it, "
            "or delete out/best (predict then trains the model again)",
            *("predict", "out", "digits", "--out", "p.csv"),
        )
        weights.write_bytes(whole)
        about = weights.with_name("model.json")
        best = strict_json(about.read_text())
        for other in (3, {}, {**best["weights_file"], "bytes": "1"}, {"bytes": best["weights_file"]["bytes"]}):
            about.write_text(json.dumps({**best, "weights_file": other}))
            code, out, err = self.predict()
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn("is not the file that model.json describes", err)
        shutil.rmtree(weights.parent)
        code, out, err = self.predict("--split", "valid")
        self.assertEqual(code, 0, err)
        self.check(self.best(1), self.rows(), out)

    def test_runs_of_earlier_versions_have_no_hash_of_the_weights(self):
        path = self.cwd / "out/best/model.json"
        best = strict_json(path.read_text())
        path.write_text(json.dumps({key: value for key, value in best.items() if key != "weights_file"}))
        self.assertEqual(self.predict()[0], 0)

    def test_a_damaged_summary_stops_only_those_that_show_it(self):
        (self.cwd / "out/summary.json").write_text("{")
        for command in (("predict", "out", "digits", "--out", "p.csv"), ("replay", "out"), ("ctl", "out", "status")):
            code, _, err = self.run_hopscotch(*command)
            self.assertEqual((code, err), (0, ""), command)
        for command in (("report", "out"), ("compare", "out", "out")):
            code, _, err = self.run_hopscotch(*command)
            self.assertEqual(code, 2, command)
            self.assertIn("out/summary.json:1:", err)

    def test_no_rows_of_that_split(self):
        for file in (self.cwd / "digits").glob("test-*"):
            file.unlink()
        path = self.cwd / "digits/dataset.json"
        manifest = strict_json(path.read_text())
        path.write_text(json.dumps({**manifest, "test": []}))
        self.refuse('digits: has no rows of split "test"', "predict", "out", "digits", "--out", "p.csv", "--split", "test")

    def test_files_that_cannot_be_written(self):
        (self.cwd / "folder").mkdir()
        self.refuse(
            '--out "folder": is a directory; name the CSV file to write', "predict", "out", "digits", "--out", "folder"
        )
        self.refuse('--out "": is empty; name the CSV file to write', "predict", "out", "digits", "--out", "")
        self.refuse(
            "--out no/p.csv: cannot be written (No such file or directory); name a file in a folder that exists and can be "
            "written",
            "predict",
            "out",
            "digits",
            "--out",
            "no/p.csv",
        )

    def test_damaged_data_leaves_no_table(self):
        shutil.copytree(self.cwd / "digits", self.cwd / "damaged")
        with open(self.cwd / f"damaged/train-{SHARDS - 1:05}.h5", "r+b") as file:
            file.truncate(1000)
        before = self.listing()
        code, out, err = self.predict(data="damaged")
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, rf"\Adamaged/train-{SHARDS - 1:05}\.h5: cannot be read as HDF5 \(truncated file: [^\n]+\n\Z")
        self.assertEqual(self.listing(), before)


class OfARunThatHasNotFinished(Case):
    """Killed without a warning, behind its nth lap: the best model is there all the same."""

    def killed_run(self, lap, **run):
        self.write(
            experiment(
                train={"epochs": 3, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
                run={"dir": "out", "device": "cpu", **run},
            )
        )
        code, out, err = self.run_hopscotch(
            "run", "e.json", "--quiet", "--trainers", "2", env={"HOPSCOTCH_FAULT": f"lap.record:{lap}:kill"}
        )
        self.assertNotEqual(code, 0, out + err)
        self.assertFalse((self.cwd / "out/best").exists())

    def predicted(self):
        """What is said, and the accuracy, which is the journal's."""
        code, out, err = self.run_hopscotch("predict", "out", "digits", "--split", "valid", "--out", "p.csv")
        self.assertEqual(code, 0, err)
        best = max(
            (lap["validation"]["correct"] / lap["validation"]["rows"], -lap["trial"], -lap["epoch"]) for lap in self.laps()
        )
        self.assertIn(f"accuracy {best[0]:.4f}", out)
        self.assertIn(f"has not finished; this is the best model so far: trial {-best[1]}, epoch {-best[2]}\n", err)
        return err

    def test_trained_again_where_no_checkpoint_has_it(self):
        for lap in (2, 4):
            with self.subTest(lap=lap):
                self.killed_run(lap, checkpoint_every_s=3600)
                self.assertIn("training it again", self.predicted())
                shutil.rmtree(self.cwd / "out")

    def test_nothing_before_the_first_lap(self):
        self.killed_run(1)
        self.refuse(
            "out: no trial has finished an epoch (there is nothing to predict with); let the run go on first",
            "predict",
            "out",
            "digits",
            "--out",
            "p.csv",
        )
        for trial, problem in (
            ("1", "trial 1 has finished no epoch (there is nothing to predict with); let the run go on first"),
            ("77", "there is no trial 77 in this run"),
        ):
            self.refuse(f"out: {problem}", "predict", "out", "digits", "--out", "p.csv", "--trial", trial)

    def test_an_interrupted_run_has_it_in_a_checkpoint(self):
        self.write(experiment(train={"epochs": 2000, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}))
        process = self.start("run", "e.json", "--quiet", "--trainers", "2")
        self.wait_for_event(process)
        process.send_signal(signal.SIGUSR1)
        self.end_of(process)
        self.ended_with(75, process, "interrupted")
        self.assertNotIn("training it again", self.predicted())

    def test_trainers_that_train_together_have_it_in_a_file(self):
        """One process could not train their trials again: the end of a lap that was saved last stays until the next."""
        for strategy in ("model_averaging", "allreduce"):
            with self.subTest(strategy):
                folder = f"out-{strategy}"
                run = {"dir": folder, "device": "cpu", "checkpoint_every_s": 3600}
                train = {"epochs": 5, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.1}}
                space = {"train.optimizer.lr": [n / 4000 for n in range(1, 401)]}  # nearly each is better than those before
                self.write(experiment(strategy={"name": strategy}, train=train, space=space, run=run))
                process = self.start("run", "e.json", "--quiet", "--trainers", "2")
                self.wait_for_event(process, "checkpoint", folder)
                ended = lambda: [line for line in self.journal(folder) if line["event"] == "trial_ended"]  # noqa: E731
                self.wait_for(lambda: len(ended()) > 8, "the end of the trial that was best first", process)
                process.kill()
                process.communicate()
                code, out, err = self.run_hopscotch("predict", folder, "digits", "--split", "valid", "--out", "p.csv")
                self.assertEqual(code, 0, err + out)
                self.assertIn("this is the best model so far", err)

    def test_another_dataset_in_its_place_is_refused(self):
        self.killed_run(3)
        path = self.cwd / "digits/dataset.json"
        path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
        self.refuse(
            "digits: is not the dataset that out was trained on (dataset.json has changed); import it again in the same way",
            "predict",
            "out",
            "digits",
            "--out",
            "p.csv",
        )
