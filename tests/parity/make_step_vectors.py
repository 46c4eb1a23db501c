#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes step_vectors.json, what PyTorch itself computes in a few full-batch steps of small networks.

Run by hand with a Python that can import torch (the file says which version made it); tests/model/parity_test.cpp reads the
file. Weights and data are integer formulas, so that the file holds results only.
"""
import json
import pathlib
import sys

import torch

ROWS = 12


def wave(count, factor, modulus, offset=0):
    """count values in [-1, 1) that any language can repeat exactly in double."""
    return torch.tensor([(i * factor + offset) % modulus / modulus * 2 - 1 for i in range(count)], dtype=torch.float64)


class LeNet(torch.nn.Module):
    """On 1x8x8: padding 2 in both convolutions."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(6, 16, 5, padding=2)
        self.fc1 = torch.nn.Linear(64, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x):
        h = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        h = torch.max_pool2d(torch.relu(self.conv2(h)), 2).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(h)))))


def mlp(activation):
    return torch.nn.Sequential(torch.nn.Linear(5, 7), activation(), torch.nn.Linear(7, 6), activation(), torch.nn.Linear(6, 3))


MODELS = {  # our name and arguments -> shape of a row, outputs, the network
    "relu": ("mlp", {"hidden": [7, 6]}, [5], 3, lambda: mlp(torch.nn.ReLU)),
    "tanh": ("mlp", {"hidden": [7, 6], "activation": "tanh"}, [5], 3, lambda: mlp(torch.nn.Tanh)),
    "logistic": ("logistic", {}, [5], 3, lambda: torch.nn.Linear(5, 3)),
    "lenet": ("lenet", {}, [1, 8, 8], 10, LeNet),
}
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_decay": (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.02}),
    "momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.02}),
    "nesterov": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.02, "nesterov": True}),
    "adam": (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.02}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
}


def run(model_name, optimizer_name, loss_name, steps):
    name, arguments, shape, outputs, make = MODELS[model_name]
    network = make()
    with torch.no_grad():
        for t, parameter in enumerate(network.parameters()):
            parameter.copy_(0.3 * wave(parameter.numel(), 7919, 1009, 613 * t).view_as(parameter))
    size = torch.Size(shape).numel()
    x = wave(ROWS * size, 104729, 1013).float().view(ROWS, *shape)
    labels = torch.tensor([r * 7 % outputs for r in range(ROWS)])
    targets = wave(ROWS * outputs, 7919, 1013).float().view(ROWS, outputs)
    kind, options = OPTIMIZERS[optimizer_name]
    optimizer = kind(network.parameters(), **options)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        if loss_name == "mse":
            loss = torch.nn.functional.mse_loss(network(x), targets)
        else:
            loss = torch.nn.functional.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tensors = [{"first": p.detach().flatten()[:5].tolist(), "sum": p.double().sum().item(), "squares": p.double().square().sum().item()}
               for p in network.parameters()]
    return {"model": name, "arguments": arguments, "shape": shape, "outputs": outputs, "loss": loss_name,
            "optimizer": {"name": optimizer_name, **options}, "losses": losses, "tensors": tensors}


def main():
    torch.set_num_threads(1)
    cases = [run(model, optimizer, "cross_entropy", 6) for model in MODELS for optimizer in OPTIMIZERS]
    cases += [run("relu", "momentum", "mse", 6), run("tanh", "adam", "mse", 6)]
    out = pathlib.Path(__file__).with_name("step_vectors.json")
    lines = ",\n".join(json.dumps(case) for case in cases)
    out.write_text('{"made_by": "torch %s", "rows": %d, "cases": [\n%s\n]}\n' % (torch.__version__, ROWS, lines))
    print(f"{out}: {len(cases)} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
