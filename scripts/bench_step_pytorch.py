#!/usr/bin/env python3
"""The plain PyTorch loop that `hopscotch bench step` is compared with: same network, batch and optimizer, the batch
gathered from uint8 rows and normalised, one thread. Needs a full `pip install torch numpy`.

  scripts/bench_step_pytorch.py [--features 64] [--hidden 64] [--batch 32] [--seconds 1] [--repeats 5]
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics
import time

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--features", type=int, default=64)
parser.add_argument("--hidden", type=int, nargs="+", default=[64])
parser.add_argument("--outputs", type=int, default=10)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--rows", type=int, default=2048)
parser.add_argument("--seconds", type=float, default=1)
parser.add_argument("--repeats", type=int, default=5)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
sizes = [options.features, *options.hidden]
layers = []
for inputs, outputs in zip(sizes, sizes[1:]):
    layers += [nn.Linear(inputs, outputs), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(sizes[-1], options.outputs))
x = torch.randint(0, 17, (options.rows, options.features), dtype=torch.uint8)
y = torch.randint(0, options.outputs, (options.rows,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_of = nn.CrossEntropyLoss()

rates = []
for _ in range(options.repeats):
    rows, start = 0, time.monotonic()
    while time.monotonic() - start < options.seconds:
        order = torch.randperm(options.rows)
        total = 0.0
        for first in range(0, options.rows, options.batch):
            picked = order[first : first + options.batch]
            batch = (x[picked].float() - 7.5) / 4.6
            optimizer.zero_grad()
            loss = loss_of(model(batch), y[picked])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(picked)
        rows += options.rows
    rates.append(rows / (time.monotonic() - start))
median = statistics.median(rates)
print(json.dumps({"bench": "step", "peer": "pytorch", "rows_per_s": round(median), "ms_per_step": round(1e3 * options.batch / median, 4)}))
