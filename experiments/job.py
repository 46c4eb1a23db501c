"""What figures share: the programs, a folder for their runs, and parts that are measured once and kept.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

import table

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DATA = SOURCE / "data/digits.csv"
CIFAR = "HOPSCOTCH_CIFAR10"  # an environment variable
RECORD = 1 + 3 * 32 * 32  # bytes of an image and its label in CIFAR-10's binary version


class Missing(Exception):
    """What a figure needs and this machine does not have. The figure is skipped, and earlier results stay."""


class Job:
    """One figure under way. size: `full`, or `short` for the tests. A part that was measured is not measured again, so a
    figure that was killed half-way goes on."""

    def __init__(self, folder, size, build):
        self.folder, self.size, self.build = pathlib.Path(folder).resolve(), size, pathlib.Path(build).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.parts_file = self.folder / "parts.json"
        self.parts = json.loads(self.parts_file.read_text()) if self.parts_file.exists() else {}

    def pick(self, full, short):
        return full if self.size == "full" else short

    def part(self, key, measure):
        if key not in self.parts:
            start = time.monotonic()
            # As it comes back from the file, so that a figure does not depend on where it was interrupted.
            value = json.loads(json.dumps(measure()))
            self.parts[key] = {"value": value, "seconds": time.monotonic() - start}
            fresh = self.parts_file.with_suffix(".tmp")
            fresh.write_text(json.dumps(self.parts))
            os.replace(fresh, self.parts_file)
        return self.parts[key]["value"]

    def seconds(self):
        """Of all parts, also of those that an earlier start measured."""
        return sum(part["seconds"] for part in self.parts.values())

    def forget(self):
        self.parts = {}

    def program(self, *words, text=None, launcher=(), environment=os.environ):
        """What a program of the build prints."""
        command = [*map(str, launcher), str(self.build / words[0]), *map(str, words[1:])]
        environment = {**environment, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=self.folder, input=text, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def python(self, variable, needs, script, *words):
        """What a script prints under the Python whose path the environment variable has. The user installs its packages."""
        program = shutil.which(os.environ.get(variable, ""))
        if not program:
            raise Missing(f"needs {needs}")
        # Of a virtual environment this is a link, which must stay one.
        command = [os.path.abspath(program), "-B", *map(str, (script, *words))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment)
        if "ModuleNotFoundError" in done.stderr:
            raise Missing(f"needs {needs}: {done.stderr.splitlines()[-1]}")
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def simulate(self, instances):
        """instances: [(policy, seed, epochs, hop, speeds, costs)]. The makespans, busy seconds and seconds of planning."""

        def line(policy, seed, epochs, hop, *lists):
            numbers = " ".join(f"{len(each)} {' '.join(f'{value:.12g}' for value in each)}" for each in lists)
            return f"{policy} {seed} {epochs} {hop:.12g} {numbers}\n"

        out = self.program("evidence_simulate", text="".join(line(*each) for each in instances))
        return [[float(word) for word in row.split()] for row in out.splitlines()]

    def digits(self, shards, rows=1797):
        """The first so many digits of the repository (again and again if there are not as many), a fifth of them for
        validation: the folder's name."""
        name = f"digits-{shards}-{rows}"
        if not (self.folder / name / "dataset.json").exists():
            shutil.rmtree(self.folder / name, ignore_errors=True)
            head, *lines = DATA.read_text().splitlines(keepends=True)
            lines = (lines * (1 + rows // len(lines)))[:rows]
            (self.folder / "digits.csv").write_text("".join([head, *lines]))
            layout = ["--shards", shards, "--valid", 0.2, "--shape", "1x8x8", "--label", "label"]
            self.program("hopscotch", "data", "import", "csv", "digits.csv", "--out", name, *layout)
        return name

    def cifar(self, shards, rows, valid=0.2):
        """So many training images of CIFAR-10, a fifth of them for validation: the folder's name. HOPSCOTCH_CIFAR10 names
        the folder of the images in class folders (train/cat/0001.jpg), or of the binary version (data_batch_1.bin)."""
        source = pathlib.Path(os.environ.get(CIFAR) or "/missing").resolve()
        batches = sorted(source.glob("data_batch_*.bin"))
        if not batches and not (source / "train").is_dir():
            raise Missing(f"needs CIFAR-10: set {CIFAR} to the folder of train/CLASS/*.jpg, or of data_batch_1.bin")
        name = f"cifar-{shards}-{rows}"
        if not (self.folder / name / "dataset.json").exists():
            shutil.rmtree(self.folder / name, ignore_errors=True)
            part = self.folder / "cifar-part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            first_batches(batches, rows, part) if batches else first_images(source / "train", rows, part)
            kind = ["cifar", part / "data_batch_1.bin"] if batches else ["images", part]
            self.program("hopscotch", "data", "import", *kind, "--out", name, "--shards", shards, "--valid", valid)
            shutil.rmtree(part)
        return name

    def table(self, shards, rows):
        """The first rows of a table that follows from a formula (see table.py), a fifth of them for validation."""
        name = f"table-{shards}-{rows}"
        if not (self.folder / name / "dataset.json").exists():
            shutil.rmtree(self.folder / name, ignore_errors=True)
            table.write(self.folder / "table.csv", rows)
            layout = ["--shards", shards, "--valid", 0.2, "--label", "label"]
            self.program("hopscotch", "data", "import", "csv", "table.csv", "--out", name, *layout)
        return name

    def run(self, experiment, trainers, also=(), read=None, launcher=(), environment=os.environ):
        """Runs the experiment with trainer threads, or under a launcher of ranks: its summary.json, and under the names in
        `also` other files of the run directory, which have a JSON object a line; or what `read` takes from the run
        directory. That is then removed."""
        (self.folder / "experiment.json").write_text(
            json.dumps({**experiment, "run": {**experiment.get("run", {}), "dir": "run"}})
        )
        words = ["run", "experiment.json", "--overwrite", "--quiet", *(() if launcher else ("--trainers", trainers))]
        self.program("hopscotch", *words, launcher=launcher, environment=environment)
        run = self.folder / "run"
        summary = json.loads((run / "summary.json").read_text())
        for name in also:
            summary[name] = [json.loads(line) for line in (run / name).read_text().splitlines()]
        found = read(run) if read else summary
        shutil.rmtree(run)
        return found


def first_batches(batches, rows, folder):
    records = b"".join(batch.read_bytes() for batch in batches[: -(-rows // 10_000)])
    (folder / "data_batch_1.bin").write_bytes(records[: rows * RECORD])


def first_images(source, rows, folder):
    """The same number of each class, in the order of the names."""
    classes = sorted(path for path in source.iterdir() if path.is_dir())
    for images in classes:
        (folder / images.name).mkdir()
        for image in sorted(images.iterdir())[: rows // len(classes)]:
            shutil.copy(image, folder / images.name)


def claim(words, holds, why="", **numbers):
    """One statement of a figure, as the machine checked it. why: printed if the statement does not hold."""
    return {"claim": words, "holds": bool(holds), "numbers": numbers} | ({"why": why} if why and not holds else {})


def training(data, trials, epochs, batch):
    """An experiment: as many MLPs as trials, which differ in the learning rate."""
    return {
        "name": "evidence",
        "data": {"path": data},
        "model": {"name": "mlp", "hidden": [64]},
        "train": {"epochs": epochs, "batch_size": batch, "optimizer": {"name": "sgd"}},
        "search": {"procedure": "grid", "metric": "val_loss"},
        "space": {"train.optimizer.lr": [round(0.01 * (i + 1), 4) for i in range(trials)]},
        "run": {},
    }
