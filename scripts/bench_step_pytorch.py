#!/usr/bin/env python3
"""The plain PyTorch loop that `hopscotch bench step` is compared with: same network, batch and optimizer, the batch
gathered from uint8 rows and normalised, one thread. Needs a full `pip install torch numpy`.

  scripts/bench_step_pytorch.py [--model mlp] [--shape 64] [--hidden 64] [--batch 32] [--seconds 1] [--repeats 5]
                                [--channels-last]   (PyTorch's faster memory format for convolutions)
                                [--device cuda [--precision bf16] [--fast]]   (eager; the rows lie on the device)
  scripts/bench_step_pytorch.py --cases FILE [--device cuda] [--seconds 1] [--repeats 5]
      all cases of a file of `hopscotch bench step --cases`, in one process; images train with channels last

On a GPU the three switches that decide speed are set as Hopscotch sets them: with --fast TF32, cuDNN's search for the
fastest algorithm, and any algorithm; without it none of them.
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic algorithms need it, before CUDA begins

import torch  # noqa: E402
from torch import nn  # noqa: E402

CONVOLUTIONAL = ("lenet", "cnn", "resnet20", "resnet18", "resnet50")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["logistic", "mlp", *CONVOLUTIONAL], default="mlp")
    parser.add_argument("--shape", default="64")
    parser.add_argument("--hidden", type=int, nargs="+", default=[64])
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--outputs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases")
    return parser.parse_args()


def network(options, shape):
    if options.model not in CONVOLUTIONAL:
        sizes = [math.prod(shape), *(options.hidden if options.model == "mlp" else [])]
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], options.outputs))
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/parity"))
    import make_zoo_vectors as zoo

    stem = "cifar" if shape[1] <= 64 else "imagenet"
    return {
        "lenet": lambda: zoo.LeNet(shape[0], options.outputs),
        "cnn": lambda: zoo.Cnn([shape[0], 32, 64, 128], shape[1], options.outputs),
        "resnet20": lambda: zoo.ResNet([3, 3, 3], 16, options.outputs, "cifar", projection=False),
        "resnet18": lambda: zoo.ResNet([2, 2, 2, 2], 64, options.outputs, stem),
        "resnet50": lambda: zoo.ResNet([3, 4, 6, 3], 64, options.outputs, stem, expansion=4),
    }[options.model]()


def set_arithmetic(fast):
    """As set_arithmetic() of src/tensor/feed/workspace_impl.cpp."""
    torch.use_deterministic_algorithms(not fast)
    torch.backends.cudnn.deterministic = not fast
    torch.backends.cudnn.benchmark = fast
    torch.backends.cudnn.allow_tf32 = fast
    torch.backends.cuda.matmul.allow_tf32 = fast


def arithmetic():
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "tf32": torch.backends.cudnn.allow_tf32 and torch.backends.cuda.matmul.allow_tf32,
        "benchmark": torch.backends.cudnn.benchmark,
    }


class Loop:
    def __init__(self, options):
        self.options = options
        if options.device != "cpu":
            set_arithmetic(options.fast)
        shape = [int(side) for side in options.shape.split("x")]
        self.memory = torch.channels_last if options.channels_last else torch.contiguous_format
        self.device = torch.device(options.device)
        self.model = network(options, shape).float().to(self.device, memory_format=self.memory).train()
        self.x = torch.randint(0, 16, (options.rows, *shape), dtype=torch.uint8, device=self.device)
        self.y = torch.randint(0, options.outputs, (options.rows,), device=self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.loss_of = nn.CrossEntropyLoss()

    def train_pass(self):
        options = self.options
        order = torch.randperm(options.rows, device=self.device)
        total = torch.zeros((), device=self.device)
        for first in range(0, options.rows, options.batch):
            picked = order[first : first + options.batch]
            batch = ((self.x[picked].float() - 7.5) / 4.6).contiguous(memory_format=self.memory)
            self.optimizer.zero_grad()
            with torch.autocast(self.device.type, torch.bfloat16, enabled=options.precision == "bf16"):
                loss = self.loss_of(self.model(batch), self.y[picked])
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(picked)
        total.item()  # once a pass, as bench step does: waits for the device

    def rate(self):
        rates = []
        if self.device.type != "cpu":
            self.train_pass()  # kernels are loaded, algorithms chosen: bench step leaves its first pass out too
        for _ in range(self.options.repeats):
            rows, start = 0, time.monotonic()
            while time.monotonic() - start < self.options.seconds:
                self.train_pass()
                rows += self.options.rows
            rates.append(rows / (time.monotonic() - start))
        return statistics.median(rates)


def of_case(case, options):
    one = argparse.Namespace(**vars(options))
    for key in ("model", "shape", "outputs", "batch", "rows", "precision", "fast"):
        setattr(one, key, case.get(key, getattr(options, key)))
    one.hidden = case.get("arguments", {}).get("hidden", options.hidden)
    one.channels_last = one.model in CONVOLUTIONAL and not case.get("nchw", False)
    return one


def measured(options, name=None):
    line = {"bench": "step", "peer": "pytorch", "model": options.model, "device": options.device}
    if name is not None:
        line["name"] = name
    try:
        rate = Loop(options).rate()
        line |= {"rows_per_s": round(rate), "ms_per_step": round(1e3 * options.batch / rate, 4), **arithmetic()}
    except Exception as error:  # of one case; the others are measured
        if name is None:
            raise
        line["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(line), flush=True)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if options.cases is None:
        return measured(options)
    for case in json.loads(pathlib.Path(options.cases).read_text()):
        measured(of_case(case, options), case.get("name", ""))


if __name__ == "__main__":
    main()
