#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schedule_vectors.json, the learning rates that torch.optim.lr_scheduler gives step by step.

Run by hand with a Python that can import torch (the file says which version made it); tests/model/schedule_parity_test.cpp
reads the file. torch counts steps, we count rows: a step of `rows` rows is step i at i * rows rows.
"""

import json
import math
import pathlib
import sys

import torch
from torch.optim import lr_scheduler as torch_lr

ROWS = 100  # of an epoch
LR = 0.8


def optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)


def planned(schedule, epochs, rows, make):
    """The rates of all steps of `epochs`; rows: of a step, ROWS for schedules that go by the epoch."""
    used = optimizer()
    scheduler = make(used)
    lrs = []
    for _ in range(epochs * ROWS // rows):
        lrs.append(used.param_groups[0]["lr"])
        used.step()
        scheduler.step()
    return {"train": {"epochs": epochs, "optimizer": {"lr": LR}, "schedule": schedule}, "rows": rows, "lrs": lrs}


def plateau(losses, **options):
    """The rate after each epoch. None: a loss that is not a number."""
    used = optimizer()
    scheduler = torch_lr.ReduceLROnPlateau(used, **options)
    lrs = []
    for loss in losses:
        used.step()
        scheduler.step(math.nan if loss is None else loss)
        lrs.append(used.param_groups[0]["lr"])
    schedule = {"name": "plateau", **options}
    return {"train": {"epochs": len(losses), "optimizer": {"lr": LR}, "schedule": schedule}, "losses": losses, "lrs": lrs}


def cases():
    for gamma, every in ((0.1, 3), (0.5, 1)):
        yield planned(
            {"name": "step", "step_epochs": every, "gamma": gamma}, 10, ROWS, lambda o: torch_lr.StepLR(o, every, gamma)
        )
    for milestones in ([2], [1, 4, 5]):
        yield planned(
            {"name": "multistep", "milestones": milestones, "gamma": 0.3},
            8,
            ROWS,
            lambda o: torch_lr.MultiStepLR(o, milestones, 0.3),
        )
    for rows in (ROWS, 20):  # by the epoch, and smoothly in between
        steps = ROWS // rows
        yield planned(
            {"name": "exponential", "gamma": 0.7}, 8, rows, lambda o: torch_lr.ExponentialLR(o, 0.7 ** (1 / steps))
        )
        yield planned({"name": "cosine", "min_lr": 0.05}, 8, rows, lambda o: torch_lr.CosineAnnealingLR(o, 8 * steps, 0.05))
        for power in (1.0, 2.5):
            yield planned(
                {"name": "polynomial", "power": power}, 8, rows, lambda o: torch_lr.PolynomialLR(o, 8 * steps, power)
            )
    for options in ({}, {"pct_start": 0.1, "div_factor": 5.0, "final_div_factor": 20.0}):
        yield planned({"name": "one_cycle", **options}, 3, 1, lambda o: torch_lr.OneCycleLR(o, LR, 3 * ROWS, **options))
    warm = {"start_factor": 1 / 10, "total_iters": 9}  # the tenth step is the first at the full rate
    yield planned({"name": "constant", "warmup_epochs": 2}, 4, 20, lambda o: torch_lr.LinearLR(o, **warm))
    yield planned(
        {"name": "cosine", "warmup_epochs": 2},
        8,
        20,
        lambda o: torch_lr.ChainedScheduler([torch_lr.LinearLR(o, **warm), torch_lr.CosineAnnealingLR(o, 40)]),
    )
    falling = [5, 4, 3.99999, 3, 3, 3, 2.9, 2.9, 2.9, 2.9, None, 2.8, 2.8, 2.8, 2.8, 2.8, 2.8, 2.8]
    yield plateau(falling, factor=0.1, patience=2, threshold=1e-4)
    yield plateau(falling, factor=0.5, patience=0, threshold=0.0)
    yield plateau(falling, factor=0.3, patience=1, threshold=0.1, min_lr=0.1)
    yield plateau([None] + [1] * 30, factor=1e-3, patience=0, threshold=1e-4)


def main():
    out = pathlib.Path(__file__).with_name("schedule_vectors.json")
    found = list(cases())
    lines = ",\n".join(json.dumps(case) for case in found)
    out.write_text('{"made_by": "torch %s", "train_rows": %d, "cases": [\n%s\n]}\n' % (torch.__version__, ROWS, lines))
    print(f"{out}: {len(found)} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
