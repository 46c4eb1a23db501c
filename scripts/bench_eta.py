#!/usr/bin/env python3
"""How wrong is the ETA: runs a few searches, and compares the end that the live view promises with the real end.

    scripts/bench_eta.py [--build build] [NAME ...]     takes about four minutes; without a NAME: all

A row has the error of the promised duration, in per cent of the run's duration (plus: promised too long), after 10, 25, 50
and 75 % of the run. Models called synthetic wait instead of computing, so a row hardly depends on the machine.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LOOKS = (0.10, 0.25, 0.50, 0.75)
TIMES = [0.005, 0.01, 0.02, 0.04, 0.08]


def synthetic(seconds, rates, epochs=4, **search):
    """A search of models that wait this many seconds a batch; each of them with this many learning rates."""
    return {
        "data": {"path": "digits"},
        "model": {"name": "synthetic", "parameters": 1000, "seconds_per_batch": seconds[0]},
        "train": {"epochs": epochs, "batch_size": 30, "optimizer": {"name": "sgd"}},
        "search": {"procedure": "grid", "metric": "val_loss", **search},
        "space": {
            "train.optimizer.lr": [round(0.01 * (i + 1), 4) for i in range(rates)],
            "model.seconds_per_batch": seconds,
        },
    }


def cases():
    """By name: what is run, and its trainers."""
    mlp = synthetic([0.0], 60, epochs=60)
    mlp["model"] = {"name": "mlp", "hidden": [64]}
    mlp["space"] = {"train.optimizer.lr": mlp["space"]["train.optimizer.lr"], "model.hidden": [[16], [64], [256]]}
    more_trainers = synthetic([0.02], 6)
    sampled = {"sampler": "random"}
    return {
        "equal trials": (synthetic([0.02], 16), 4),
        "trials of 1:16": (synthetic(TIMES, 5), 4),
        "more trainers than trials": (more_trainers, 8),
        "asha": (synthetic([0.02], 64, 9, procedure="asha", trials=32, **sampled), 4),
        "hyperband": (synthetic([0.02], 64, 9, procedure="hyperband", **sampled), 4),
        "real MLPs": (mlp, 2),
    }


def promises(program, folder, experiment, trainers):
    """[(elapsed, promised duration)] of a run, and its duration."""
    (folder / "experiment.json").write_text(json.dumps({"name": "eta", **experiment, "run": {"dir": "run"}}))
    words = ["run", "experiment.json", "--overwrite", "--quiet", "--trainers", str(trainers)]
    job = subprocess.Popen(
        [program, *words], cwd=folder, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    seen = {}
    start = time.time()
    while job.poll() is None:
        time.sleep(0.1)
        try:
            live = json.loads((folder / "run/live.json").read_text())
        except (OSError, json.JSONDecodeError):  # the run has not begun
            continue
        view, elapsed = live["progress"], live["unix_s"] - start
        if view["done_before"] < view["done"] < view["total"]:
            rest = view["elapsed_s"] * (view["total"] - view["done"]) / (view["done"] - view["done_before"])
            seen[elapsed] = elapsed + rest
    if job.returncode != 0:
        sys.exit(f"bench_eta: {' '.join(words)} ended with {job.returncode}")
    return sorted(seen.items()), time.time() - start


def error(seen, duration, look):
    """Of the promise that stood there when this share of the run was over."""
    before = [promised for elapsed, promised in seen if elapsed <= look * duration]
    return 100 * (before[-1] / duration - 1) if before else None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], usage="scripts/bench_eta.py [--build DIR] [NAME ...]"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(cases()))
    parser.add_argument("--build", default=str(SOURCE / "build"), help="the folder of the programs (default: build)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in cases()]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such case (known: {', '.join(cases())})")
    program = str(pathlib.Path(options.build).resolve() / "hopscotch")
    print(f"{'':<26} {'seconds':>8}" + "".join(f"{f'at {100 * look:.0f} %':>10}" for look in LOOKS))
    with tempfile.TemporaryDirectory(prefix="hopscotch-eta-") as scratch:
        folder = pathlib.Path(scratch)
        layout = ["--shards", "8", "--valid", "0.2", "--shape", "1x8x8", "--label", "label"]
        importing = [program, "data", "import", "csv", str(SOURCE / "data/digits.csv"), "--out", "digits", *layout]
        subprocess.run(importing, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        for name, (experiment, trainers) in cases().items():
            if options.names and name not in options.names:
                continue
            seen, duration = promises(program, folder, experiment, trainers)
            errors = [error(seen, duration, look) for look in LOOKS]
            shown = "".join(f"{'-' if each is None else f'{each:+.0f} %':>10}" for each in errors)
            print(f"{name:<26} {duration:>8.1f}{shown}", flush=True)


if __name__ == "__main__":
    main()
