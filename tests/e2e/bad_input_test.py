# SPDX-License-Identifier: Apache-2.0
"""Bad input: the exact message once on standard error, nothing on standard output, exit code 2, nothing written."""

import functools
import json
import os
import socket
import struct
import unittest
import unittest.mock

from harness import LONG, Case, experiment, known

# The default suite starts ranks for errors of each kind: found by rank 0, by a trainer, in the options.
ALSO_RANKS = (None, 3) if LONG else (None,)


def by_rank(rank, message):
    """What one of several trainers has to say against its data."""
    return f"rank {rank} ({socket.gethostname()}): {message}"


class BadInput(Case):
    def refused(self, message, *args, file="e.json", nps=(None,)):
        for np in nps:
            with self.subTest(np=np):
                self.refuse(message, "run", file, *args, np=np)

    def changed(self, message, *args, nps=(None,), **sections):
        self.write(experiment(**sections))
        self.refused(message, *args, nps=nps)

    def edit(self, name, change):
        path = self.cwd / "digits" / name
        path.write_bytes(change(path.read_bytes()))

    def test_no_experiment_file(self):
        self.refused(
            "nope.json: cannot be read (no such file?); give the path of an experiment, for example "
            "configs/digits-grid.json",
            file="nope.json",
            nps=ALSO_RANKS,
        )

    def test_no_dataset(self):
        self.changed(
            "e.json:1:46: /data/path: other: no such dataset directory; make one with 'hopscotch data import'",
            data={"path": "other"},
        )

    def test_no_dataset_json(self):
        (self.cwd / "digits/dataset.json").unlink()
        self.changed(
            "e.json:1:46: /data/path: digits: not a dataset directory (it has no dataset.json); make one with "
            "'hopscotch data import'"
        )

    def test_other_format_version(self):
        self.edit("dataset.json", lambda text: text.replace(b'"format": 1', b'"format": 7'))
        self.changed(
            "e.json:1:46: /data/path: digits/dataset.json: dataset format 7 is not supported (this build reads 1; another "
            "version of hopscotch wrote it); import the dataset again"
            ""
        )

    def test_truncated_shard(self):
        self.edit("train-00003.h5", lambda data: data[:4000])
        message = (
            "digits/train-00003.h5: cannot be read as HDF5 (truncated file: eof = 4000, sblock->base_addr = 0, "
            "stored_eof = 10688); restore it or import the dataset again"
        )
        self.changed(by_rank(2, message), nps=(None, 3))
        self.refused(message, "--dry-run", nps=ALSO_RANKS)

    def test_missing_shard(self):
        for name, named in (("train-00005.h5", functools.partial(by_rank, 2)), ("valid-00001.h5", str)):
            (self.cwd / "digits" / name).rename(self.cwd / name)
            message = f"digits/{name}: no such file (named in dataset.json); restore it or import the dataset again"
            self.changed(named(message))
            (self.cwd / name).rename(self.cwd / "digits" / name)

    def test_label_out_of_range(self):
        def set_label(data):
            # The labels are the only 120 int64 in a row that are all 0..9 and not nearly all zero.
            rows = 120
            windows = [
                at
                for at in range(len(data) - 8 * rows + 1)
                if all(0 <= label <= 9 for label in struct.unpack_from(f"<{rows}q", data, at))
            ]
            start = max(windows, key=lambda at: sum(struct.unpack_from(f"<{rows}q", data, at)))
            patched = bytearray(data)
            struct.pack_into("<q", patched, start + 8 * 17, 10)
            return bytes(patched)

        self.edit("train-00002.h5", set_label)
        self.changed(
            by_rank(
                1,
                "digits/train-00002.h5: row 17: label 10 is out of range (dataset.json says 10 classes); "
                "run 'hopscotch data verify digits'",
            ),
            nps=(None, 3) if LONG else (3,),
        )

    def test_unknown_key(self):
        self.changed('e.json:1:82: /model/hiden: unknown key; did you mean "hidden"?', model={"name": "mlp", "hiden": [16]})

    def test_several_at_once_in_file_order(self):
        self.write(
            '{\n  "data": { "path": "digits" },\n  "model": { "name": "mlp" },\n'
            '  "train": { "epochs": "two", "epochs": 3, "batchsize": 8,\n'
            '             "optimizer": { "name": "sgd", "lr": -0.1, "momentun": 0.9 } },\n'
            '  "space": {},\n  "run": { "dir": "out", "deadline_s": 0 }\n}\n'
        )
        self.refused(
            "e.json:4:24: /train/epochs: expected an integer (got a string)\n"
            "e.json:4:31: /train/epochs: duplicate key (first at line 4); remove one of the two\n"
            'e.json:4:44: /train/batchsize: unknown key; did you mean "batch_size"?\n'
            "e.json:5:50: /train/optimizer/lr: must be at least 0 (got -0.1)\n"
            'e.json:5:56: /train/optimizer/momentun: unknown key; did you mean "momentum"?\n'
            'e.json:6:12: /space: is empty (nothing to search); add for example "train.optimizer.lr": [0.01, 0.1]\n'
            "e.json:7:40: /run/deadline_s: must be greater than 0 (got 0)",
            nps=(None, 3) if LONG else (3,),
        )

    def test_negative_learning_rate_in_the_space(self):
        self.write(
            '{\n  "data": { "path": "digits" },\n  "model": { "name": "mlp" },\n'
            '  "space": { "train.optimizer.lr": [0.1, -1] },\n  "run": { "dir": "out" }\n}\n'
        )
        self.refused("e.json:4:42: /space/train.optimizer.lr: must be at least 0 (got -1)")

    def test_no_json(self):
        self.write('{ "name": "e2e" "seed": 1 }')
        code, out, err = self.run_hopscotch("run", "e.json")
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"\Ae\.json:1:\d+: [^\n]+\n\Z")

    def test_an_error_does_not_hide_another(self):
        """What follows a syntax error is not known, the dataset's path neither."""
        text = '{ "data": { "path": "digits" }, "train": { "epochs": 2 "batch_size": 3 }, "run": { "dir": "out" } }'
        self.write(text)
        for command in (("run", "e.json"), ("run", "e.json", "--dry-run"), ("plan", "e.json")):
            code, out, err = self.run_hopscotch(*command)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, r"\Ae\.json:1:\d+: /train: syntax error[^\n]+\n\Z")
        for encoding in ("utf-16", "utf-16-be", "utf-32"):
            (self.cwd / "e.json").write_bytes(json.dumps(experiment()).encode(encoding))
            self.refused("e.json: is not UTF-8 (it looks like UTF-16); save the file as UTF-8")
        self.write('{ "train": { "optimizer": { "lr": 1e999 } } }')
        self.refused(
            "e.json:1:35: /train/optimizer/lr: 1e999 is too large for a number (at most about 1.8e308); write a smaller one"
        )
        (self.cwd / "folder").mkdir()
        self.refused("folder: cannot be read (it is not a file)", file="folder")

    def test_names_that_are_too_long(self):
        name, said = (
            "x" * 300,
            'the name "xxxxxxxxxxxxxxxxxxxx..." has 300 bytes (at most {} are possible); choose a shorter name',
        )
        self.write(experiment())
        for args in ((), ("--dry-run",)):
            self.refused(f"--set run.dir=runs/{name}: {said.format(230)}", *args, "--set", f"run.dir=runs/{name}")
        for args in (
            ("report", "digits", "--out", name),
            ("init", "digits", "--out", name),
            ("export", "csv", name),
            ("predict", "digits", "digits", "--out", name),
        ):
            code, out, err = self.run_hopscotch(*args)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(said.format(230 if "--out" in args else 255), err)

    def test_set(self):
        self.changed(
            "--set train.optimizer.lr=0.5: is searched (each trial takes its value from the space, so this one would not be "
            "used); write --set space.train.optimizer.lr=0.5",
            *("--set", "train.optimizer.lr=0.5"),
        )
        self.changed("--set train.ema=-1: must be at least 0 and below 1 (got -1)", "--set", "train.ema=-1")
        self.refused('--set train.epohcs=3: unknown key; did you mean "epochs"?', "--set", "train.epohcs=3")

    def test_trainers(self):
        self.changed("0 trainers cannot train (at least 1 is needed); use --trainers N or mpirun -np N+1", "--trainers", "0")
        self.refused(
            "--trainers 4 under a launcher with 3 processes (rank 0 schedules, the others train); leave --trainers out, "
            "or start 5 processes",
            "--trainers",
            "4",
            nps=(3,),
        )

    def test_run_dir_exists(self):
        (self.cwd / "out").mkdir()
        (self.cwd / "out/mine.txt").write_text("mine")
        self.changed(
            "out: exists already (runs never share a directory); use --overwrite, or another run.dir", nps=ALSO_RANKS
        )
        self.refused(
            "out: holds mine.txt (no run wrote that, and --overwrite removes only runs); use another run.dir", "--overwrite"
        )
        self.assertEqual((self.cwd / "out/mine.txt").read_text(), "mine")

    def test_unwritable_run_dir(self):
        self.changed(
            "/proc/a/b: cannot be created (no writing in /proc: No such file or directory); use another run.dir",
            run={"dir": "/proc/a/b"},
        )
        self.changed(
            f"e.json/out: cannot be created (no writing in {self.cwd.resolve()}/e.json: Not a directory); use another "
            f"run.dir",
            run={"dir": "e.json/out"},
        )

    def test_unknown_model(self):
        self.changed(
            'e.json:1:75: /model/name: unknown model "mlpp"; did you mean "mlp"? (see: hopscotch models)',
            model={"name": "mlpp"},
        )

    def test_all_errors_at_once(self):
        """Of the document, the space, the dataset and the model's arguments."""
        self.write(
            experiment(
                model={"name": "mlp", "hidden": [16], "depht": 3},
                train={"epochs": 0, "optimizer": {"name": "sgd", "lr": 0.1}},
                space={"train.optimizer.lr": [0.1], "train.optimizer.lrr": [0.1]},
            )
        )
        code, _, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2)
        for part in (
            "/train/epochs: must be at least 1",
            "/space/train.optimizer.lrr: unknown key",
            "/model/depht: unknown key",
        ):
            self.assertIn(part, err)
        self.write(experiment(data={"path": "nowhere"}, train={"epochs": 0, "optimizer": {"name": "sgd", "lr": 0.1}}))
        code, _, err = self.run_hopscotch("run", "e.json")
        self.assertEqual(code, 2)
        for part in ("/train/epochs: must be at least 1", "/data/path: nowhere"):
            self.assertIn(part, err)

    def test_model_that_does_not_fit(self):
        header = ",".join(f"f{i}" for i in range(5)) + ",label\n"
        (self.cwd / "flat.csv").write_text(header + "".join(f"{i},{i % 3},1,{i % 7},0,{i % 2}\n" for i in range(40)))
        self.run_hopscotch("data", "import", "csv", "flat.csv", "--out", "flat", "--shards", "2", "--valid", "0.2")
        self.changed(
            "e.json:1:73: /model/name: lenet needs images of shape CxHxW (the dataset's rows have shape 5); import with "
            "--shape CxHxW",
            data={"path": "flat"},
            model={"name": "lenet"},
        )

    def test_best_states_that_lie_in_parts(self):
        strategy = {"name": "model_averaging"}
        cure = (
            'the best state of every trial (model_averaging with strategy.momentum "local" keeps it in parts on several '
            'trainers); use "averaged" or another strategy'
        )
        for change, where in (
            ({"run": {"dir": "out", "keep_best": "trial"}}, "/run/keep_best: trial needs"),
            ({"search": {"procedure": "grid", "repeats": 2}}, "/search: repeats and folds need"),
        ):
            self.write(experiment(strategy=strategy, **change))
            self.refuse(f"{where} {cure}", "run", "e.json", "--trainers", "2")

    def test_accuracy_of_a_regression(self):
        (self.cwd / "r.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 7},{i / 3}\n" for i in range(40)))
        self.run_hopscotch("data", "import", "csv", "r.csv", "--out", "r", "--shards", "2", "--valid", "0.2", "--regression")
        self.changed(
            'e.json:1:219: /search/metric: val_accuracy needs classes (the loss is mse); use "val_loss" with mode "min"',
            "--set",
            "train.loss=mse",
            data={"path": "r"},
            search={"procedure": "grid", "metric": "val_accuracy"},
        )

    def test_unknown_and_unavailable(self):
        strategies = ", ".join(known("strategy", "name"))
        self.assertTrue(strategies.startswith("mop, task_parallel, model_averaging, allreduce, parameter_server, "))
        self.changed(f'--set strategy.name="foo": unknown value "foo" (known: {strategies})', "--set", 'strategy.name="foo"')
        self.refused(f'strategy "foo" is unknown (known: {strategies})', "--strategy", "foo")

    def test_cuda_on_a_cpu_build(self):
        if "CPU build" not in self.run_hopscotch("--version")[1]:
            return  # the next case is about a CUDA build
        self.changed(
            'device "cuda" is not available (this is a CPU build); build with preset gpu, or set run.device to "cpu"',
            run={"dir": "out", "device": "cuda"},
            nps=ALSO_RANKS,
        )

    def test_cuda_without_a_gpu(self):
        if "CPU build" in self.run_hopscotch("--version")[1]:
            return  # the case before is about a CPU build
        for visible, why in (
            ("", "CUDA_VISIBLE_DEVICES is empty, which hides every GPU"),
            ("GPU-none", 'CUDA_VISIBLE_DEVICES is "GPU-none", and none of these is here'),
        ):
            self.write(experiment(run={"dir": "out", "device": "cuda"}))
            code, out, err = self.run_hopscotch("run", "e.json", env={"CUDA_VISIBLE_DEVICES": visible})
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(f'device "cuda" is not available ({why}', err)
            self.assertIn('check nvidia-smi -L and CUDA_VISIBLE_DEVICES, or set run.device to "cpu"', err)

    def test_start_deadline(self):
        """Known to every rank, as the command line is: rank 0 alone speaks, and decides the exit code."""
        self.write(experiment())
        for value in ("soon", "", "0", "-1", "nan") if LONG else ("soon", "0"):
            message = f'HOPSCOTCH_START_DEADLINE_S: "{value}" is not a number of seconds (above 0, at most 1e9)'
            with self.subTest(value=value), unittest.mock.patch.dict(os.environ, HOPSCOTCH_START_DEADLINE_S=value):
                self.refused(message, nps=(3,))

    def test_unknown_option(self):
        self.write(experiment())
        self.refused('unknown option "--bogus" (see: hopscotch run --help)', "--bogus", nps=ALSO_RANKS)


if __name__ == "__main__":
    unittest.main()
