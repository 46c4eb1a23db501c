#!/usr/bin/env python3
"""The plain PyTorch loop that `hopscotch bench step` is compared with: same network, batch and optimizer, the batch
gathered from uint8 rows and normalised, one thread. Needs a full `pip install torch numpy`.

  scripts/bench_step_pytorch.py [--model mlp] [--shape 64] [--hidden 64] [--batch 32] [--seconds 1] [--repeats 5]
                                [--channels-last]   (PyTorch's faster memory format for convolutions)
                                [--device cuda [--precision bf16]]   (eager; the rows lie on the device)
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument(
    "--model", choices=["logistic", "mlp", "lenet", "cnn", "resnet20", "resnet18", "resnet50"], default="mlp"
)
parser.add_argument("--shape", default="64")
parser.add_argument("--hidden", type=int, nargs="+", default=[64])
parser.add_argument("--channels-last", action="store_true")
parser.add_argument("--device", default="cpu")
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
parser.add_argument("--outputs", type=int, default=10)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--rows", type=int, default=2048)
parser.add_argument("--seconds", type=float, default=1)
parser.add_argument("--repeats", type=int, default=5)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
shape = [int(side) for side in options.shape.split("x")]
features = math.prod(shape)
if options.model in ("lenet", "cnn", "resnet20", "resnet18", "resnet50"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/parity"))
    import make_zoo_vectors as zoo

    stem = "cifar" if shape[1] <= 64 else "imagenet"
    model = {
        "lenet": lambda: zoo.LeNet(shape[0], options.outputs),
        "cnn": lambda: zoo.Cnn([shape[0], 32, 64, 128], shape[1], options.outputs),
        "resnet20": lambda: zoo.ResNet([3, 3, 3], 16, options.outputs, "cifar", projection=False),
        "resnet18": lambda: zoo.ResNet([2, 2, 2, 2], 64, options.outputs, stem),
        "resnet50": lambda: zoo.ResNet([3, 4, 6, 3], 64, options.outputs, stem, expansion=4),
    }[options.model]()
else:
    sizes = [features, *(options.hidden if options.model == "mlp" else [])]
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(sizes[-1], options.outputs))
memory = torch.channels_last if options.channels_last else torch.contiguous_format
device = torch.device(options.device)
model = model.float().to(device, memory_format=memory).train()
x = torch.randint(0, 17, (options.rows, *shape), dtype=torch.uint8, device=device)
y = torch.randint(0, options.outputs, (options.rows,), device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_of = nn.CrossEntropyLoss()

rates = []
for _ in range(options.repeats):
    rows, start = 0, time.monotonic()
    while time.monotonic() - start < options.seconds:
        order = torch.randperm(options.rows, device=device)
        total = torch.zeros((), device=device)
        for first in range(0, options.rows, options.batch):
            picked = order[first : first + options.batch]
            batch = ((x[picked].float() - 7.5) / 4.6).contiguous(memory_format=memory)
            optimizer.zero_grad()
            with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
                loss = loss_of(model(batch), y[picked])
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(picked)
        rows += options.rows
        total.item()  # once a pass, as bench step does: waits for the device
    rates.append(rows / (time.monotonic() - start))
median = statistics.median(rates)
print(
    json.dumps(
        {
            "bench": "step",
            "peer": "pytorch",
            "model": options.model,
            "device": options.device,
            "rows_per_s": round(median),
            "ms_per_step": round(1e3 * options.batch / median, 4),
        }
    )
)
