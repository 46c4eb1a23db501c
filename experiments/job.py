"""What figures share: the programs, a folder for their runs, and parts that are measured once and kept.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DATA = SOURCE / "data/digits.csv"


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

    def program(self, *words, text=None):
        """What a program of the build prints."""
        command = [str(self.build / words[0]), *map(str, words[1:])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=self.folder, input=text, capture_output=True, text=True, env=environment)
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
        """The first so many digits of the repository, a fifth of them for validation: the folder's name."""
        name = f"digits-{shards}-{rows}"
        if not (self.folder / name / "dataset.json").exists():
            shutil.rmtree(self.folder / name, ignore_errors=True)
            lines = DATA.read_text().splitlines(keepends=True)
            (self.folder / "digits.csv").write_text("".join(lines[: rows + 1]))
            layout = ["--shards", shards, "--valid", 0.2, "--shape", "1x8x8", "--label", "label"]
            self.program("hopscotch", "data", "import", "csv", "digits.csv", "--out", name, *layout)
        return name

    def run(self, experiment, trainers):
        """Runs the experiment with trainer threads: its summary.json. The run directory is removed."""
        (self.folder / "experiment.json").write_text(
            json.dumps({**experiment, "run": {**experiment.get("run", {}), "dir": "run"}})
        )
        self.program("hopscotch", "run", "experiment.json", "--overwrite", "--quiet", "--trainers", trainers)
        summary = json.loads((self.folder / "run/summary.json").read_text())
        shutil.rmtree(self.folder / "run")
        return summary


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
