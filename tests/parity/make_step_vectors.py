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
from torch.optim import swa_utils

ROWS = 12
STEPS = 6


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
    return torch.nn.Sequential(
        torch.nn.Linear(5, 7), activation(), torch.nn.Linear(7, 6), activation(), torch.nn.Linear(6, 3)
    )


MODELS = {  # our model section -> shape of a row, outputs, the network
    "relu": ({"name": "mlp", "hidden": [7, 6]}, [5], 3, lambda: mlp(torch.nn.ReLU)),
    "tanh": ({"name": "mlp", "hidden": [7, 6], "activation": "tanh"}, [5], 3, lambda: mlp(torch.nn.Tanh)),
    "logistic": ({"name": "logistic"}, [5], 3, lambda: torch.nn.Linear(5, 3)),
    "lenet": ({"name": "lenet"}, [1, 8, 8], 10, LeNet),
}
OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
}
COMMON = [  # our optimizer sections, for every model
    {"name": "sgd", "lr": 0.1},
    {"name": "sgd", "lr": 0.1, "weight_decay": 0.02},
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.02},
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.02, "nesterov": True},
    {"name": "adam", "lr": 0.01, "weight_decay": 0.02},
    {"name": "adamw", "lr": 0.01, "weight_decay": 0.1},
]
RARER = [
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.2, "decay": "weights"},
    {"name": "adamw", "lr": 0.01, "weight_decay": 0.5, "decay": "weights"},
    {"name": "rmsprop", "lr": 0.01},
    {"name": "rmsprop", "lr": 0.01, "alpha": 0.9, "momentum": 0.8},
    {"name": "rmsprop", "lr": 0.01, "centered": True, "epsilon": 1e-3},
    {"name": "rmsprop", "lr": 0.01, "centered": True, "momentum": 0.8, "weight_decay": 0.1, "epsilon": 1e-3},
    {"name": "rmsprop", "lr": 0.01, "weight_decay": 0.1},
    {"name": "adagrad", "lr": 0.05},
    {"name": "adagrad", "lr": 0.05, "lr_decay": 0.3},
    {"name": "adagrad", "lr": 0.05, "lr_decay": 0.3, "weight_decay": 0.1},
]
PLAIN = {"name": "sgd", "lr": 0.5, "momentum": 0.9}
SECTIONS = [  # the rest of our train section
    {"clip_norm": 0.05},
    {"clip_norm": 1000},
    {"clip_value": 0.01},
    {"clip_value": 0.02, "clip_norm": 0.05},
    {"label_smoothing": 0.2},
    {"class_weights": [0.5, 1, 3]},
    {"class_weights": [0.5, 1, 3], "label_smoothing": 0.2},
    {"loss": "mse"},
    {"loss": "huber", "huber_delta": 0.3},
    {"loss": "bce_with_logits"},
    {"loss": "bce_with_logits", "class_weights": [0.5, 1, 3]},
    {"accumulate": 2, "batch_size": 6},
    {"accumulate": 2, "batch_size": 7, "clip_norm": 0.05},
    {"ema": 0.9},
    {"ema": 0.9, "accumulate": 2, "batch_size": 7},
]
# Every loss with every kind of optimizer, for the networks that the lean step trains.
LOSSES = [
    {"loss": "cross_entropy", "class_weights": [0.5, 1, 3], "label_smoothing": 0.2},
    {"loss": "bce_with_logits", "class_weights": [0.5, 1, 3]},
    {"loss": "mse"},
    {"loss": "huber", "huber_delta": 0.3},
    {"loss": "mae"},
    {"loss": "quantile", "quantile": 0.8},
]
KINDS = [  # gradients of mae may cancel to rounding, which adamw with a smaller epsilon would make a full step
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.02, "nesterov": True},
    {"name": "adam", "lr": 0.01, "weight_decay": 0.02},
    {"name": "adamw", "lr": 0.01, "weight_decay": 0.1, "epsilon": 1e-4},
    {"name": "rmsprop", "lr": 0.01, "centered": True, "momentum": 0.8, "weight_decay": 0.1, "epsilon": 1e-3},
    {"name": "adagrad", "lr": 0.05, "lr_decay": 0.3, "weight_decay": 0.1},
]
MORE_STEPS = 20
TASKS = {
    **{"cross_entropy": "classification", "bce_with_logits": "multilabel"},
    **dict.fromkeys(("mse", "huber", "mae", "quantile"), "regression"),
}


def loss_of(train, outputs, answers):
    weights = torch.tensor(train["class_weights"]) if "class_weights" in train else None
    functional = torch.nn.functional
    loss = train["loss"]
    if loss == "mse":
        return functional.mse_loss(outputs, answers)
    if loss == "huber":
        return functional.huber_loss(outputs, answers, delta=train["huber_delta"])
    if loss == "mae":
        return functional.l1_loss(outputs, answers)
    if loss == "quantile":
        over = answers - outputs
        return torch.maximum(train["quantile"] * over, (train["quantile"] - 1) * over).mean()
    if loss == "bce_with_logits":
        return functional.binary_cross_entropy_with_logits(outputs, answers, pos_weight=weights)
    return functional.cross_entropy(outputs, answers, weight=weights, label_smoothing=train.get("label_smoothing", 0.0))


def optimizer_of(section, network):
    options = {{"epsilon": "eps"}.get(key, key): value for key, value in section.items() if key not in ("name", "decay")}
    parameters = list(network.parameters())
    if section.get("decay") == "weights":
        parameters = [
            {"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ]
    return OPTIMIZERS[section["name"]](parameters, **options)


def summary(parameters):
    return [
        {
            "first": p.detach().flatten()[:5].tolist(),
            "sum": p.double().sum().item(),
            "squares": p.double().square().sum().item(),
        }
        for p in parameters
    ]


def step(train, network, optimizer, data):
    """One update from all rows, accumulated over batches that count by their rows; returns the mean loss."""
    optimizer.zero_grad()
    total = 0
    for x, answers in zip(*(part.split(train["batch_size"]) for part in data)):
        loss = loss_of(train, network(x), answers) * len(x) / ROWS
        loss.backward()
        total += loss.item()
    if "clip_value" in train:
        torch.nn.utils.clip_grad_value_(network.parameters(), train["clip_value"])
    if "clip_norm" in train:
        torch.nn.utils.clip_grad_norm_(network.parameters(), train["clip_norm"])
    optimizer.step()
    return total


def run(model_name, optimizer, section, steps=STEPS):
    model, shape, outputs, make = MODELS[model_name]
    train = {"batch_size": ROWS, "loss": "cross_entropy", **section, "optimizer": optimizer}
    network = make()
    with torch.no_grad():
        for t, parameter in enumerate(network.parameters()):
            parameter.copy_(0.3 * wave(parameter.numel(), 7919, 1009, 613 * t).view_as(parameter))
    size = torch.Size(shape).numel()
    x = wave(ROWS * size, 104729, 1013).float().view(ROWS, *shape)
    answers = wave(ROWS * outputs, 7919, 1013).float().view(ROWS, outputs)
    if train["loss"] == "cross_entropy":
        answers = torch.tensor([r * 7 % outputs for r in range(ROWS)])
    elif train["loss"] == "bce_with_logits":
        answers = (answers > 0).float()
    used = optimizer_of(optimizer, network)
    averaged = swa_utils.AveragedModel(network, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(train.get("ema", 0)))
    averaged.update_parameters(network)  # the first call copies: the average starts at the initial weights
    losses = []
    for _ in range(steps):
        losses.append(step(train, network, used, (x, answers)))
        averaged.update_parameters(network)
    case = {
        "model": model,
        "shape": shape,
        "outputs": outputs,
        "task": TASKS[train["loss"]],
        "train": train,
        "losses": losses,
        "tensors": summary(network.parameters()),
    }
    return {**case, "averaged": summary(averaged.module.parameters())} if "ema" in train else case


def main():
    torch.set_num_threads(1)
    cases = [run(model, optimizer, {}) for model in MODELS for optimizer in COMMON]
    cases += [run("relu", COMMON[2], {"loss": "mse"}), run("tanh", COMMON[4], {"loss": "mse"})]
    cases += [run(model, optimizer, {}) for model in ("tanh", "relu") for optimizer in RARER]
    cases += [run("tanh", PLAIN, section) for section in SECTIONS]
    cases += [
        run(model, optimizer, loss, MORE_STEPS)
        for model in ("relu", "tanh", "logistic")
        for loss in LOSSES
        for optimizer in KINDS
    ]
    out = pathlib.Path(__file__).with_name("step_vectors.json")
    lines = ",\n".join(json.dumps(case) for case in cases)
    out.write_text('{"made_by": "torch %s", "rows": %d, "cases": [\n%s\n]}\n' % (torch.__version__, ROWS, lines))
    print(f"{out}: {len(cases)} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
