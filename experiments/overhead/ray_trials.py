"""Equal trials that wait, under Ray Tune, which starts on as many CPUs as trials shall run at once. Runs under a Python that
has ray[tune]; figure.py calls it.

  ray_trials.py CPUS TRIALS SECONDS RESULTS MEGABYTES     of a trial: its seconds, results, and the size of a checkpoint

Prints Ray's version and the seconds of Tuner.fit. Each result comes with a checkpoint, if that has a size.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import sys
import tempfile
import time

os.environ["RAY_AIR_NEW_OUTPUT"] = "0"

import ray  # noqa: E402
from ray import tune  # noqa: E402


def trial(config):
    for _ in range(config["results"]):
        time.sleep(config["seconds"] / config["results"])
        if not config["megabytes"]:
            tune.report({"loss": 1.0})
            continue
        with tempfile.TemporaryDirectory(dir=config["folder"]) as folder:
            pathlib.Path(folder, "state").write_bytes(bytes(int(config["megabytes"] * 1e6)))
            tune.report({"loss": 1.0}, checkpoint=tune.Checkpoint.from_directory(folder))


def main():
    cpus, trials, seconds, results, megabytes = (float(word) for word in sys.argv[1:])
    ray.init(num_cpus=int(cpus), include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    config = {
        "seconds": seconds,
        "results": int(results),
        "megabytes": megabytes,
        "folder": os.getcwd(),
        "number": tune.grid_search(range(int(trials))),
    }
    newest = tune.CheckpointConfig(num_to_keep=1)
    where = tune.RunConfig(verbose=0, storage_path=os.path.abspath("ray"), checkpoint_config=newest)
    reuse = tune.TuneConfig(reuse_actors=True)  # a process for many trials: eight times as fast as the default
    start = time.monotonic()
    ended = tune.Tuner(trial, param_space=config, tune_config=reuse, run_config=where).fit()
    print(ray.__version__, time.monotonic() - start)
    if ended.errors:
        raise ended.errors[0]


if __name__ == "__main__":
    main()
