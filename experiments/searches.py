"""How the figures of search procedures are measured: each procedure spends the same number of trial-epochs. How good is the
best model so far?

SPDX-License-Identifier: Apache-2.0
"""

import itertools
import math
import statistics

KINDS = {name: {"procedure": name.lower()} for name in ("random", "TPE", "Hyperband", "ASHA", "BOHB", "PBT")}
IN_FLIGHT = 4  # twice the shards, which is the default of all but random
SPACE = {
    "train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": True},
    "train.optimizer.momentum": {"type": "float", "low": 0.5, "high": 0.99},
    "train.optimizer.weight_decay": {"type": "float", "low": 1e-6, "high": 0.1, "log": True},
    "model.dropout": {"type": "float", "low": 0, "high": 0.7},
}
COMMON = (
    "Batches of 64 rows, SGD. Searched are learning rate (1e-4 to 1), momentum (0.5 to 0.99), weight decay (1e-6 to 0.1) "
    "and dropout (0 to 0.7). These ranges were written down before the first run. All procedures have their defaults and "
    "the same `budget.epochs`; 4 trials are in flight, of `pbt` all, whose population is as large as the budget allows. "
    "Epochs count in the order in which the search hands them out (random search and TPE: a whole training at once). "
    "This is virtual time, so the curves do not depend on the machine's speed. The two shards are on two trainers. "
    "Lines: means over ten seeds; bands: their standard errors."
)
PAPER = (
    "Li et al. (Hyperband, JMLR 2018): 5 to 30 times faster than Bayesian optimisation. Falkner et al. (BOHB, ICML 2018): "
    "Hyperband starts fast, random search and TPE catch up late, BOHB has the fast start and the better end. Li et al. "
    "(ASHA, MLSys 2020): ahead of random search, as fast as or faster than Hyperband and `pbt`. Jaderberg et al. (PBT, "
    "2017): better models than a random search of the same size."
)


def experiment(setting, kind, seed):
    """setting: `data`, `model`, `epochs` of a full training, `trials`: so many full trainings are the budget."""
    search = {**KINDS[kind], "metric": "val_loss", "budget": {"epochs": setting["epochs"] * setting["trials"]}}
    search["in_flight"] = setting["trials"] if kind == "PBT" else IN_FLIGHT
    return {
        "name": "evidence",
        "seed": seed,
        "data": {"path": setting["data"]},
        "model": setting["model"],
        "train": {"epochs": setting["epochs"], "batch_size": 64, "optimizer": {"name": "sgd"}},
        "search": search | ({"population": setting["trials"]} if kind == "PBT" else {}),
        "space": SPACE,
        "run": {},
    }


def progress(journal, kind):
    """The lowest validation loss after each trial-epoch, in the order in which the search hands them out."""
    losses = {}
    for line in journal:
        if line["event"] == "lap_done" and line.get("validation"):
            losses[line["trial"], line["epoch"]] = line["validation"]["loss_sum"] / line["validation"]["rows"]
    laps = [(line["trial"], line["epoch"]) for line in journal if line["event"] == "lap_released"]
    if kind == "random":  # decides nothing, so it hands out trial by trial; in the journal they are as trainers got free
        laps.sort()
    finite = (loss if math.isfinite(loss) else math.inf for loss in (losses.get(lap, math.inf) for lap in laps))
    return list(itertools.accumulate(finite, min))


def one_search(job, setting, kind, seed):
    journal = job.run(experiment(setting, kind, seed), 2, also=["journal.jsonl"])["journal.jsonl"]
    curve = progress(journal, kind)
    return {"epochs": len(curve), "best": [round(curve[min(epoch, len(curve)) - 1], 5) for epoch in grid(setting)]}


def grid(setting):
    """Numbers of trial-epochs, from one full training to the budget, ever further apart."""
    first, last = setting["epochs"], setting["epochs"] * setting["trials"]
    return sorted({round(first * (last / first) ** (step / 24)) for step in range(25)})


def searches(job, setting, seeds):
    data = {"grid": grid(setting), "seeds": seeds, "curves": {}}
    for kind in KINDS:
        runs = [
            job.part(f"{kind} {seed}", lambda kind=kind, seed=seed: one_search(job, setting, kind, seed))
            for seed in range(seeds)
        ]
        columns = list(zip(*(run["best"] for run in runs), strict=True))
        data["curves"][kind] = {
            "epochs": [run["epochs"] for run in runs],
            "mean": [round(statistics.fmean(column), 5) for column in columns],
            "error": [round(statistics.stdev(column) / math.sqrt(seeds), 5) for column in columns],
        }
    return data
