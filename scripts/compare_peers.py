#!/usr/bin/env python3
"""The same search on the same dataset directory, by Hopscotch and by others: whole processes, from start to end, one after
another in turns, and the median of each.

  hopscotch   model hopping, `--workers` trainers as threads
  loop        plain PyTorch, one model after another in one process
  pool        a pool of `--workers` processes, each with a model at a time
  ddp         PyTorch's DistributedDataParallel over gloo: `--workers` processes share each batch, one model after another
  optuna      an Optuna study in a journal file, and `--workers` processes that take its trials
  ray         Ray Tune with `--workers` CPUs, one for a trial

The search is a grid of learning rates, for `mlp` also of widths. All train in batches of the same size with momentum 0.9,
on rows that lie in memory normalised, and validate after each epoch. PyTorch's loops are as fast as plain ones get:
batches are picked from a tensor, without a DataLoader, and each process has one thread (`--threads`).

Needs a Python with torch, h5py and numpy, for `optuna` and `ray` also these. What is missing is skipped with its reason:
  python3 -m venv peers && peers/bin/pip install torch h5py numpy optuna "ray[tune]"
  scripts/compare_peers.py --python peers/bin/python

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
NEEDS = {
    "loop": "torch, h5py, numpy",
    "pool": "torch, h5py, numpy",
    "ddp": "torch, h5py, numpy",
    "optuna": "torch, h5py, optuna",
    "ray": "torch, h5py, ray.tune",
}
MOMENTUM = 0.9


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="hopscotch, loop, pool, ddp, optuna, ray (default: all)")
    parser.add_argument("--data", default="data/digits", help="a dataset directory (default: data/digits)")
    parser.add_argument("--model", choices=["mlp", "lenet"], default="mlp")
    parser.add_argument("--hidden", type=int, nargs="+", default=[16, 32, 64, 128], help="widths of mlp (16 32 64 128)")
    parser.add_argument("--lr", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3], help="learning rates (.01 .03 .1 .3)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each of PyTorch's processes (default: 1)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument(
        "--hopscotch", default=os.environ.get("HOPSCOTCH", str(SOURCE / "build/hopscotch")), help="the program"
    )
    parser.add_argument("--python", default=sys.executable, help="with the packages (default: this one)")
    parser.add_argument("--peer", choices=list(NEEDS), help=argparse.SUPPRESS)  # this script as one of the others
    options = parser.parse_args()
    options.data = str(pathlib.Path(options.data).resolve())  # the contestants run in folders of their own
    options.hopscotch = whole_path(options.hopscotch)
    options.python = whole_path(options.python)
    unknown = [name for name in options.names if name not in ("hopscotch", *NEEDS)]
    if unknown:
        parser.error(f"{', '.join(unknown)}: unknown (known: hopscotch, {', '.join(NEEDS)})")
    return options


def whole_path(program):
    """Without following links: a Python of a virtual environment is one."""
    return os.path.abspath(program) if "/" in program else program


def lacks(python, names):
    """What this Python cannot import, in words; empty: nothing."""
    code = f"for name in {names.split(', ')}:\n    try: __import__(name)\n    except Exception: print(name)"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError:
        return f"there is no {python}"
    return f"{python} has no {', '.join(done.stdout.split())}" if done.stdout else ""


def experiment(options, folder):
    mlp = {"space": {"model.hidden": [[width] for width in options.hidden]}} if options.model == "mlp" else {"space": {}}
    optimizer = {"name": "sgd", "lr": 0.1, "momentum": MOMENTUM}
    return {
        "name": "peers",
        "data": {"path": options.data},
        "model": {"name": options.model},
        "train": {"epochs": options.epochs, "batch_size": options.batch, "optimizer": optimizer},
        "search": {"procedure": "grid"},
        "space": {"train.optimizer.lr": options.lr, **mlp["space"]},
        "run": {"dir": str(folder / "run"), "device": "cpu"},
    }


def hopscotch(options, folder):
    """Seconds of the whole process, and the best validation accuracy of all epochs."""
    path = folder / "experiment.json"
    path.write_text(json.dumps(experiment(options, folder)))
    command = [options.hopscotch, "run", str(path), "--overwrite", "--quiet", "--trainers", str(options.workers)]
    seconds, _ = timed(command, folder, {**os.environ, "OMP_NUM_THREADS": "1"})
    trials = json.loads((folder / "run/summary.json").read_text())["trials"]
    return seconds, max(trial["best"]["val_accuracy"] for trial in trials if trial["best"])


def peer(name, options, folder):
    own = ["--data", options.data, "--model", options.model, "--hidden", *options.hidden, "--lr", *options.lr]
    own += ["--epochs", options.epochs, "--batch", options.batch, "--workers", options.workers, "--threads", options.threads]
    command = [options.python, "-B", __file__, "--peer", name, *map(str, own)]
    seconds, said = timed(command, folder, {**os.environ, "OMP_NUM_THREADS": str(options.threads)})
    return seconds, float(said.splitlines()[-1])


def timed(command, folder, environment):
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return seconds, done.stdout


def compare(options):
    names, runs = [], {}
    for name in options.names or ("hopscotch", *NEEDS):
        why = lacks(options.python, NEEDS[name]) if name in NEEDS else ""
        if name == "hopscotch" and not shutil.which(options.hopscotch):
            why = f"there is no {options.hopscotch}; build it, or set --hopscotch"
        if why:
            print(f"{name} is skipped: {why}", file=sys.stderr)
        else:
            names.append(name)
    for _ in range(options.repeats):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="hopscotch-peers-") as folder:
                folder = pathlib.Path(folder)
                one = hopscotch(options, folder) if name == "hopscotch" else peer(name, options, folder)
            runs.setdefault(name, []).append(one)
    if not runs:
        return 1
    table(runs, options)
    return 0


def table(runs, options):
    trials = len(options.lr) * (len(options.hidden) if options.model == "mlp" else 1)
    print(f"{trials} trials of {options.epochs} epochs, {options.model}, {pathlib.Path(options.data).name}, ", end="")
    print(f"batches of {options.batch}, {options.workers} workers, median of {options.repeats}\n")
    print("| | seconds | from .. to | times hopscotch | best accuracy |\n|---|---|---|---|---|")
    middle = {name: statistics.median(seconds for seconds, _ in each) for name, each in runs.items()}
    for name, each in runs.items():
        seconds = sorted(seconds for seconds, _ in each)
        times = f"{middle[name] / middle['hopscotch']:.2f}" if "hopscotch" in middle else ""
        accuracy = statistics.median(accuracy for _, accuracy in each)
        print(f"| {name} | {middle[name]:.2f} | {seconds[0]:.2f} .. {seconds[-1]:.2f} | {times} | {accuracy:.4f} |")


# What follows runs in the other Python, as one of the peers.


def rows_of(data, split, info):
    import h5py
    import numpy
    import torch

    files = [h5py.File(pathlib.Path(data) / shard["file"]) for shard in info[split]]
    features = torch.from_numpy(numpy.concatenate([file["features"][:] for file in files])).float()
    labels = torch.from_numpy(numpy.concatenate([file["labels"][:] for file in files]))
    # One mean for each channel of an image, else one for each feature.
    size = [-1, 1, 1] if len(info["shape"]) == 3 else [-1]
    mean, stddev = (torch.tensor(info[key]).view(size) for key in ("mean", "stddev"))
    return (features - mean) / stddev, labels


def network(setting, info):
    from torch import nn

    shape, outputs = info["shape"], info["outputs"]
    if setting["model"] == "mlp":
        pixels = 1
        for side in shape:
            pixels *= side
        width = setting["hidden"]
        return nn.Sequential(nn.Flatten(), nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, outputs))
    padding = 2 if min(shape[1:]) < 12 else 0
    sides = [((side // 2) + 2 * padding - 4) // 2 for side in shape[1:]]
    convolutions = [nn.Conv2d(shape[0], 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    convolutions += [nn.Conv2d(6, 16, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    layers = [nn.Linear(16 * sides[0] * sides[1], 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, outputs)]
    return nn.Sequential(*convolutions, *layers)


def train(setting, report=None, rank=0, world=1):
    """The best validation accuracy of all epochs. With world > 1: a rank of a process group, with its part of each batch."""
    import torch

    torch.set_num_threads(setting["threads"])
    torch.manual_seed(0)
    info = json.loads((pathlib.Path(setting["data"]) / "dataset.json").read_text())
    (x, y), (valid_x, valid_y) = rows_of(setting["data"], "train", info), rows_of(setting["data"], "valid", info)
    model, best = network(setting, info), 0
    if world > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting["lr"], momentum=MOMENTUM)
    loss_of = torch.nn.CrossEntropyLoss()
    for _ in range(setting["epochs"]):
        order = torch.randperm(len(x))
        for first in range(0, len(x), setting["batch"]):
            batch = order[first : first + setting["batch"]]
            if len(batch) >= world:
                batch = batch[rank::world]
                optimizer.zero_grad()
                loss_of(model(x[batch]), y[batch]).backward()
                optimizer.step()
        with torch.no_grad():
            right = (model(valid_x[rank::world]).argmax(1) == valid_y[rank::world]).sum()
        if world > 1:
            torch.distributed.all_reduce(right)
        best = max(best, right.item() / len(valid_x))
        if report:
            report({"accuracy": best})
    return best


def ddp_rank(rank, settings, world, meeting, answer):
    import torch

    torch.distributed.init_process_group("gloo", rank=rank, world_size=world, init_method=f"file://{meeting}")
    best = max(train(setting, None, rank, world) for setting in settings)
    if rank == 0:
        pathlib.Path(answer).write_text(str(best))
    torch.distributed.barrier()
    os._exit(0)  # gloo's threads may abort the process when Python takes down the group


def by_ddp(settings, workers):
    import torch

    torch.multiprocessing.spawn(ddp_rank, (settings, workers, os.path.abspath("meeting"), "answer"), nprocs=workers)
    return float(pathlib.Path("answer").read_text())


def by_pool(settings, workers):
    import torch

    with torch.multiprocessing.get_context("spawn").Pool(workers) as pool:
        return max(pool.map(train, settings, chunksize=1))


def study_in(storage):
    from optuna.storages import JournalStorage, journal

    return JournalStorage(journal.JournalFileBackend(storage))


def optuna_worker(_, settings, storage):
    import optuna

    def objective(trial):
        if "queued" not in trial.user_attrs:  # the queue is empty, so the sampler made this one
            trial.study.stop()
            raise optuna.TrialPruned
        setting = settings[trial.suggest_int("setting", 0, len(settings) - 1)]
        epoch = itertools.count()
        return train(setting, lambda metrics: trial.report(metrics["accuracy"], next(epoch)))

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="peers", storage=study_in(storage))
    study.optimize(objective)


def by_optuna(settings, workers):
    import optuna
    import torch

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name="peers", storage=study_in("study.log"), direction="maximize")
    for i in range(len(settings)):
        study.enqueue_trial({"setting": i}, user_attrs={"queued": True})
    torch.multiprocessing.spawn(optuna_worker, (settings, "study.log"), nprocs=workers)
    return study.best_value


def by_ray(settings, workers):
    import ray
    from ray import tune

    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    ray.init(num_cpus=workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)

    def one(config):
        train(config["setting"], tune.report)

    config = tune.TuneConfig(metric="accuracy", mode="max", reuse_actors=True)  # else each trial imports PyTorch
    where = tune.RunConfig(verbose=0, storage_path=os.path.abspath("ray"))
    results = tune.Tuner(
        one, param_space={"setting": tune.grid_search(settings)}, tune_config=config, run_config=where
    ).fit()
    if results.errors:
        raise results.errors[0]
    return results.get_best_result().metrics["accuracy"]


def act_as(options):
    widths = options.hidden if options.model == "mlp" else [0]
    common = {key: getattr(options, key) for key in ("data", "model", "epochs", "batch", "threads")}
    settings = [{**common, "lr": lr, "hidden": width} for lr, width in itertools.product(options.lr, widths)]
    how = {
        "loop": lambda: max(train(setting) for setting in settings),
        "pool": lambda: by_pool(settings, options.workers),
        "ddp": lambda: by_ddp(settings, options.workers),
        "optuna": lambda: by_optuna(settings, options.workers),
        "ray": lambda: by_ray(settings, options.workers),
    }
    print(how[options.peer]())
    return 0


if __name__ == "__main__":
    options = parsed()
    sys.exit(act_as(options) if options.peer else compare(options))
