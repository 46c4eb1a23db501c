# SPDX-License-Identifier: Apache-2.0
"""What other programs see: shards in h5py, weights in the safetensors package under torchvision's names, a network computed
by numpy from nothing but those files. Needs the Python packages h5py, safetensors and numpy."""

import json
import subprocess
import tempfile

import h5py
import numpy
from safetensors.numpy import load_file

from harness import BINARY, SHARDS, SOURCE, Case, experiment

KEYS = json.loads((SOURCE / "tests/parity/torchvision_keys.json").read_text())["resnet18"]
FROZEN = ("layer", "conv1.", "bn1.")


class Photos(Case):
    """240 images of CIFAR-10 as JPEG, and a ResNet-18 trained on them for one epoch."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for args in (
            ("data", "import", "images", str(SOURCE / "tests/data/cifar"), "--out", "photos", "--shards", "4"),
            ("run", cls.experiment_file("first", {}), "--quiet", "--trainers", "2"),
        ):
            subprocess.run([BINARY, *args], cwd=cls._folder.name, check=True, capture_output=True)

    @classmethod
    def experiment_file(cls, folder, model):
        document = experiment(
            data={"path": "photos"},
            model={"name": "resnet18", "stem": "imagenet", **model},
            train={"epochs": 1, "batch_size": 16, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9}},
            space={"train.optimizer.lr": [0.001, 0.01]},
            run={"dir": folder, "device": "cpu"},
        )
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=cls._folder.name, delete=False) as file:
            json.dump(document, file)
        return file.name

    def setUp(self):
        super().setUp()
        for name in ("photos", "first"):
            (self.cwd / name).symlink_to(self.cwd.parent / name)

    def weights(self, folder):
        return load_file(self.cwd / folder / "best/model.safetensors")

    def test_shards(self):
        manifest = json.loads((self.cwd / "photos/dataset.json").read_text())
        labels = {"train": [], "valid": []}
        for split, rows_of_all in (("train", 192), ("valid", 48)):
            for file in manifest[split]:
                with h5py.File(self.cwd / "photos" / file["file"]) as shard:
                    features = shard["features"]
                    self.assertEqual((features.shape, features.dtype), ((file["rows"], 3, 32, 32), numpy.uint8))
                    self.assertIsNone(features.chunks)  # contiguous
                    self.assertEqual((shard["labels"].shape, shard["labels"].dtype), ((file["rows"],), numpy.int64))
                    self.assertGreater(features[()].std(), 20)
                    labels[split] += list(shard["labels"][()])
            counts = numpy.bincount(labels[split], minlength=10)
            self.assertEqual(counts.sum(), rows_of_all)
            self.assertLessEqual(counts.max() - counts.min(), 1)  # balanced, as the source is
        every = numpy.concatenate(
            [h5py.File(self.cwd / "photos" / file["file"])["features"][()] for file in manifest["train"]]
        )
        numpy.testing.assert_allclose(manifest["mean"], every.mean(axis=(0, 2, 3)), rtol=1e-9)
        numpy.testing.assert_allclose(manifest["stddev"], every.std(axis=(0, 2, 3)), rtol=1e-6)

    def test_names_and_shapes_are_torchvisions(self):
        found = {name: list(tensor.shape) for name, tensor in self.weights("first").items()}
        self.assertEqual(found, {**KEYS, "fc.weight": [10, 512], "fc.bias": [10]})

    def test_types_and_values(self):
        for name, tensor in self.weights("first").items():
            if name.endswith("num_batches_tracked"):
                self.assertEqual((tensor.dtype, int(tensor)), (numpy.int64, 4 * 48 // 16), name)  # shards, rows, batch
            else:
                self.assertEqual(tensor.dtype, numpy.float32, name)
                self.assertTrue(numpy.isfinite(tensor).all(), name)

    def test_a_frozen_backbone_keeps_its_bits(self):
        path = self.experiment_file(
            "second",
            {"init_from": "first/best/model.safetensors", "init_mode": "head", "freeze": ["layer*", "conv1.*", "bn1.*"]},
        )
        code, out, err = self.run_hopscotch("run", path, "--quiet", "--trainers", "2")
        self.assertEqual((code, err), (0, ""), out)
        before, after = self.weights("first"), self.weights("second")
        self.assertEqual(list(before), list(after))
        for name in before:
            if name.startswith("fc."):
                self.assertNotEqual(before[name].tobytes(), after[name].tobytes(), name)
            elif "running_" not in name and "num_batches" not in name:
                self.assertTrue(name.startswith(FROZEN), name)
                self.assertEqual(before[name].tobytes(), after[name].tobytes(), name)
        code, out, err = self.run_hopscotch("replay", "second")
        self.assertEqual((code, err), (0, ""), out)


class Digits(Case):
    def test_numpy_gets_the_metrics_of_the_run(self):
        self.write(experiment(model={"name": "mlp", "hidden": [16, 8]}))
        self.succeed("--quiet")
        about = json.loads((self.cwd / "out/best/model.json").read_text())
        weights = load_file(self.cwd / "out/best/model.safetensors")
        manifest = json.loads((self.cwd / "digits/dataset.json").read_text())
        shards = [h5py.File(self.cwd / "digits" / file["file"]) for file in manifest["valid"]]
        labels = numpy.concatenate([shard["labels"][()] for shard in shards])
        rows = numpy.concatenate([shard["features"][()] for shard in shards]).astype(float)
        x = ((rows - about["model"]["mean"]) / about["model"]["stddev"]).reshape(len(rows), -1)
        for layer in range(3):
            x = x @ weights[f"layers.{layer}.weight"].T + weights[f"layers.{layer}.bias"]
            x = numpy.maximum(x, 0) if layer < 2 else x
        losses = numpy.log(numpy.exp(x).sum(axis=1)) - x[numpy.arange(len(x)), labels]
        self.assertAlmostEqual(losses.mean(), about["metrics"]["val_loss"], delta=1e-5)
        self.assertEqual((x.argmax(axis=1) == labels).mean(), about["metrics"]["val_accuracy"])

    def test_weights_of_another_program_are_taken(self):
        from safetensors.numpy import save_file

        draw = numpy.random.default_rng(3)
        shapes = {"layers.0.weight": (16, 64), "layers.0.bias": (16,), "layers.1.weight": (10, 16), "layers.1.bias": (10,)}
        save_file(
            {name: draw.normal(0, 0.1, shape).astype(numpy.float32) for name, shape in shapes.items()},
            self.cwd / "own.safetensors",
        )
        self.write(
            experiment(
                model={"name": "mlp", "hidden": [16], "init_from": "own.safetensors"}, space={"train.optimizer.lr": [0]}
            )
        )
        self.succeed("--quiet")
        own, best = load_file(self.cwd / "own.safetensors"), load_file(self.cwd / "out/best/model.safetensors")
        self.assertEqual(
            {name: tensor.tobytes() for name, tensor in own.items()},
            {name: tensor.tobytes() for name, tensor in best.items()},
        )

    def test_an_experiment_in_hdf5(self):
        shards = [self.cwd / f"digits/train-{shard:05}.h5" for shard in range(SHARDS)]
        with h5py.File(self.cwd / "all.h5", "w") as file:
            for name in ("features", "labels"):
                file["x" if name == "features" else "y"] = numpy.concatenate(
                    [h5py.File(shard)[name][()] for shard in shards]
                )
        code, out, err = self.run_hopscotch("data", "import", "h5", "all.h5", "--out", "again", "--shards", "4")
        self.assertEqual((code, err), (0, ""), out)
        self.write(experiment(data={"path": "again"}))
        self.succeed("--quiet")
        self.assertGreater(max(trial["best"]["val_accuracy"] for trial in self.summary()["trials"]), 0.5)

    def test_hdf5_with_other_lengths(self):
        with h5py.File(self.cwd / "m.h5", "w") as file:
            file["features"], file["labels"] = numpy.zeros((40, 4), numpy.float32), numpy.arange(30) % 2
        self.refuse(
            "m.h5:features has 40 rows and m.h5:labels has 30 (each row needs its label); choose arrays of one length",
            "data",
            "import",
            "h5",
            "m.h5",
            "--out",
            "o",
            "--shards",
            "2",
        )

    def test_arrays_that_numpy_saved(self):
        good, labels = numpy.arange(80, dtype=numpy.float64).reshape(40, 2), numpy.arange(40) % 2
        numpy.save(self.cwd / "labels.npy", labels)
        for features, message in (
            (numpy.asfortranarray(good), "is in Fortran order (columns first); save numpy.ascontiguousarray(array) instead"),
            (
                good.astype(complex),
                "holds complex numbers (dtype '<c16'); save numbers, for example array.astype(numpy.float32)",
            ),
            (
                good.astype("datetime64[s]"),
                "holds dates (dtype '<M8[s]'); save numbers, for example array.astype(numpy.float32)",
            ),
        ):
            numpy.save(self.cwd / "features.npy", features)
            self.refuse(
                f"features.npy: {message}",
                "data",
                "import",
                "npy",
                "features.npy",
                "labels.npy",
                "--out",
                "o",
                "--shards",
                "2",
            )
