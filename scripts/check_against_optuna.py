#!/usr/bin/env python3
"""Are our searches as good as Optuna's? Both minimise Branin (2 keys) and Hartmann-6 (6 keys), one trial at a time.

  python3 -m venv optuna-env && optuna-env/bin/pip install optuna
  ninja -C build search_driver
  optuna-env/bin/python scripts/check_against_optuna.py [--driver build/tests/search_driver] [--seeds 50]

random, tpe, tpe-alone   60 evaluations, 10 of them random at the start. tpe: one density over all keys (multivariate), our
                         default; tpe-alone: one a key, Optuna's.
hyperband, bohb          1071 epochs (three iterations of the paper's table), at most 27 a trial, eta 3; HyperbandPruner with
                         RandomSampler and with TPESampler. After epoch r the objective is f(x) + (1 - r/27) g(x), where
                         g(x) = size (1 + sin(12 sum_i i u_i)) / 2, u_i = the key's place between its bounds, size = 20 for
                         Branin and 1 for Hartmann-6. What counts is f at the best of the trials that came to epoch 27.
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys

try:
    import optuna
except ImportError:
    sys.exit(__doc__)

EPOCHS, EVALUATIONS, BUDGET = 27, 60, 1071
RULE = (
    "Lower is better. Intervals are 95 %, of 10,000 bootstrap samples of the seeds. A row is worse if the interval of the "
    "difference of the medians (ours - Optuna's) lies above 0: of ten rows that are equal, a quarter of the tables would "
    "name one."
)


def branin(x):
    bend = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


def hartmann6(x):
    alpha = (1, 1.2, 3, 3.2)
    a = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
    p = (
        (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
        (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
        (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
        (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
    )
    return -sum(alpha[i] * math.exp(-sum(a[i][j] * (x[j] - p[i][j]) ** 2 for j in range(6))) for i in range(4))


FUNCTIONS = {"branin": (branin, ((-5, 10), (0, 15)), 20), "hartmann6": (hartmann6, ((0, 1),) * 6, 1)}


def shortfall(x, bounds, size):
    total = sum((i + 1) * (value - low) / (high - low) for i, (value, (low, high)) in enumerate(zip(x, bounds)))
    return size * (1 + math.sin(12 * total)) / 2


def study_of(procedure, seed):
    multivariate = procedure != "tpe-alone"
    sampler = (
        optuna.samplers.RandomSampler(seed=seed)
        if procedure in ("random", "hyperband")
        else optuna.samplers.TPESampler(seed=seed, multivariate=multivariate, n_startup_trials=10)
    )
    rungs = procedure in ("hyperband", "bohb")
    pruner = (
        optuna.pruners.HyperbandPruner(min_resource=1, max_resource=EPOCHS, reduction_factor=3)
        if rungs
        else optuna.pruners.NopPruner()
    )
    return optuna.create_study(
        sampler=sampler, pruner=pruner, study_name=f"{procedure}-{seed}"
    )  # which the brackets depend on


def best_of_optuna(procedure, name, seed):
    function, bounds, size = FUNCTIONS[name]
    rungs = procedure in ("hyperband", "bohb")
    study, spent, best = study_of(procedure, seed), 0, math.inf
    while spent < (BUDGET if rungs else EVALUATIONS):
        trial = study.ask()
        x = [trial.suggest_float(f"x{i}", *bound) for i, bound in enumerate(bounds)]
        value, lacks, pruned = function(x), shortfall(x, bounds, size), False
        if not rungs:
            spent += 1
        for epoch in range(1, EPOCHS + 1 if rungs else 1):
            spent += 1
            trial.report(value + (1 - epoch / EPOCHS) * lacks, epoch)
            pruned = epoch < EPOCHS and trial.should_prune()
            if pruned:
                break
        study.tell(trial, None if pruned else value, optuna.trial.TrialState.PRUNED if pruned else None)
        if not pruned:
            best = min(best, value)
    return best


def best_of_ours(driver, procedure, name, seeds):
    amount = BUDGET if procedure in ("hyperband", "bohb") else EVALUATIONS
    lines = subprocess.run(
        [driver, procedure, name, str(amount), "0", str(seeds)], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line)["best"] for line in lines.splitlines()]


def interval(statistic, *samples):
    """Of 95 %."""
    rng = random.Random(1)
    values = sorted(statistic(*(rng.choices(sample, k=len(sample)) for sample in samples)) for _ in range(10_000))
    return values[249], values[9749]


def compare(arguments, procedure, name):
    ours = best_of_ours(arguments.driver, procedure, name, arguments.seeds)
    theirs = [best_of_optuna(procedure, name, seed) for seed in range(arguments.seeds)]

    def text(values):
        low, high = interval(statistics.median, values)
        return f"{statistics.median(values):8.4f} [{low:8.4f}, {high:8.4f}]"

    low, high = interval(lambda a, b: statistics.median(a) - statistics.median(b), ours, theirs)
    worse = low > 0
    print(
        f"| {procedure:9} | {name:9} | {text(ours)} | {text(theirs)} | "
        f"{statistics.median(ours) - statistics.median(theirs):+7.4f} "
        f"[{low:+.4f}, {high:+.4f}] | {'worse' if worse else 'no worse'} |",
        flush=True,
    )
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--driver", type=pathlib.Path, default=root / "build/tests/search_driver")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--procedures", nargs="+", default=["random", "tpe", "tpe-alone", "hyperband", "bohb"])
    arguments = parser.parse_args()
    if not arguments.driver.exists():
        sys.exit(f"{arguments.driver}: no such program (build it: ninja -C build search_driver)")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    import warnings

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    print(
        f"{datetime.date.today()}, Optuna {optuna.__version__}, Python {sys.version.split()[0]}, {arguments.seeds} "
        f"seeds\n{RULE}\n\n"
        "| procedure | function | ours: median of the best [95 %] | Optuna | difference | |\n|---|---|---|---|---|---|"
    )
    worse = [compare(arguments, procedure, name) for procedure in arguments.procedures for name in FUNCTIONS]
    sys.exit(1 if any(worse) else 0)


if __name__ == "__main__":
    main()
