#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies a run directory of Hopscotch into MLflow, Weights & Biases or Trackio, with their own clients: a run for each trial
with its configuration and curves, and the weights of the best trial. See docs/other-tools.md."""

import argparse
import importlib
import json
import math
import os
import sys
from pathlib import Path

MLFLOW_BATCH = 1000  # metrics in a request of MLflow; 100 parameters
MLFLOW_PARAMETERS = 100
MLFLOW_STATUS = {"finished": "FINISHED", "stopped": "FINISHED", "paused": "FINISHED", "interrupted": "KILLED"}
NOT_METRICS = {"trial", "epoch", "wall_s"}


class Problem(Exception):
    """Something that the user can change."""


def client(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Problem(f"{name}: cannot be imported ({error}); install it with: pip install {name}") from None


def read_json(path):
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise Problem(
            f"{path}: is missing (not a run directory, or the run has not ended); name the directory of a run that has ended"
        ) from None


class Run:
    """What a run directory holds."""

    def __init__(self, folder):
        self.folder = folder
        self.facts = read_json(folder / "experiment.json")
        self.summary = read_json(folder / "summary.json")
        self.name = self.facts["name"]
        self.id = self.facts.get("run_id", "")
        self.curves = {}
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            point = json.loads(line)
            self.curves.setdefault(point["trial"], []).append(point)

    def trials(self):
        return [trial for trial in self.summary["trials"] if trial["id"] in self.curves or trial["epochs"] > 0]

    def points(self, trial):
        """(epoch, seconds since 1970, {metric: number}), without metrics that the trial does not have."""
        for point in sorted(self.curves.get(trial["id"], []), key=lambda each: each["epoch"]):
            numbers = {
                key: value
                for key, value in point.items()
                if key not in NOT_METRICS and value is not None and math.isfinite(value)
            }
            yield point["epoch"], self.facts["start_unix_s"] + point["wall_s"], numbers

    def is_best(self, trial):
        return trial["id"] == self.summary["best_trial"]

    def best_values(self, trial):
        """Of the best epoch, as trials.csv has them: {"best_epoch", "best_val_loss", ...}."""
        best = trial["best"] or {}
        return {f"best_{key}": value for key, value in best.items() if value is not None and key not in ("lr", "rows")}

    def files_of_best(self):
        best = [self.folder / "best" / name for name in ("model.safetensors", "model.json")]
        return [path for path in [*best, self.folder / "experiment.json"] if path.is_file()]

    def tags(self, trial):
        return {
            "hopscotch.run": self.id,
            "hopscotch.trial": str(trial["id"]),
            "hopscotch.status": trial["status"],
            "hopscotch.strategy": self.summary["strategy"],
        }


def batches(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]


class ToMlflow:
    """A second call replaces what the first one wrote: its runs have the same tags."""

    def __init__(self, run, options):
        self.mlflow, self.run = client("mlflow"), run
        if options.uri:
            self.mlflow.set_tracking_uri(options.uri)
        self.client = self.mlflow.MlflowClient()
        known = self.client.get_experiment_by_name(options.project)
        self.experiment = known.experiment_id if known else self.client.create_experiment(options.project)

    def delete_earlier(self, trial):
        where = f"tags.`hopscotch.run` = '{self.run.id}' and tags.`hopscotch.trial` = '{trial['id']}'"
        for earlier in self.client.search_runs([self.experiment], where):
            self.client.delete_run(earlier.info.run_id)

    def trial(self, trial):
        from mlflow.entities import Metric, Param

        self.delete_earlier(trial)
        points = list(self.run.points(trial))
        times = [int(at * 1000) for _, at, _ in points] or [int(self.run.facts["start_unix_s"] * 1000)]
        created = self.client.create_run(
            self.experiment, start_time=times[0], tags=self.run.tags(trial), run_name=f"trial-{trial['id']}"
        )
        to = created.info.run_id
        values = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in trial["config"].items()]
        for part in batches([Param(key, value) for key, value in values], MLFLOW_PARAMETERS):
            self.client.log_batch(to, params=part)
        metrics = [Metric(key, value, int(at * 1000), epoch) for epoch, at, all in points for key, value in all.items()]
        metrics += [Metric(key, value, times[-1], 0) for key, value in self.run.best_values(trial).items()]
        for part in batches(metrics, MLFLOW_BATCH):
            self.client.log_batch(to, metrics=part)
        for path in self.run.files_of_best() if self.run.is_best(trial) else []:
            self.client.log_artifact(to, str(path), "best")
        self.client.set_terminated(to, MLFLOW_STATUS.get(trial["status"], "FAILED"), times[-1])


class ToWandb:
    """Offline: `wandb sync` sends the folders that it prints."""

    def __init__(self, run, options):
        os.environ.setdefault("WANDB_SILENT", "true")
        self.wandb, self.run, self.options = client("wandb"), run, options

    def trial(self, trial):
        to = self.wandb.init(
            project=self.options.project,
            group=self.run.id,
            id=f"{self.run.id}-{trial['id']}",
            name=f"trial-{trial['id']}",
            config=trial["config"],
            tags=[trial["status"]],
            dir=self.options.dir,
            mode="offline",
            reinit="finish_previous",
        )
        for epoch, at, numbers in self.run.points(trial):
            to.log({**numbers, "_timestamp": at}, step=epoch)
        to.summary.update({**self.run.tags(trial), **self.run.best_values(trial)})
        if self.run.is_best(trial):
            artifact = self.wandb.Artifact("best", type="model")
            for path in self.run.files_of_best():
                artifact.add_file(str(path))
            to.log_artifact(artifact)
        to.finish(exit_code=0 if trial["status"] in MLFLOW_STATUS else 1)


class ToTrackio:
    """Trackio keeps curves and configurations. It gets no files."""

    def __init__(self, run, options):
        self.trackio, self.run, self.options = client("trackio"), run, options

    def trial(self, trial):
        self.trackio.init(
            project=self.options.project,
            name=f"{self.run.id}-{trial['id']}",
            group=self.run.id,
            config={**trial["config"], **self.run.tags(trial)},
            embed=False,
        )
        for epoch, _, numbers in self.run.points(trial):
            self.trackio.log(numbers, step=epoch)
        self.trackio.finish()


TOOLS = {"mlflow": ToMlflow, "wandb": ToWandb, "trackio": ToTrackio}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument("--to", choices=TOOLS, default="mlflow")
    parser.add_argument("--project", help="experiment of MLflow, project of the others; default: the name of the run")
    parser.add_argument("--uri", help="where MLflow writes; default: as MLflow chooses (MLFLOW_TRACKING_URI)")
    parser.add_argument("--dir", default=".", help="where wandb writes its folder; default: here")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        run = Run(options.run_dir)
        options.project = options.project or run.name
        tool = TOOLS[options.to](run, options)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2
    for trial in run.trials():
        tool.trial(trial)
    print(f"{len(run.trials())} trials of {options.run_dir} are in {options.to}, project {options.project}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
