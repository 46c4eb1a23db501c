#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a TorchScript file for `"model": {"name": "torchscript", "file": "torchscript_model.pt"}`: a convolution with batch
norm, dropout and a linear layer for 1x8x8 images of 10 classes (data/digits.csv). Needs Python's torch, of the version that
Hopscotch is built with or an older one:  python3 torchscript_model.py [FILE]

PyTorch calls TorchScript deprecated; LibTorch still loads and trains it."""

import os
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, channels=8, side=8, outputs=10, dropout=0.2):
        super().__init__()
        self.conv = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(channels * (side // 2) ** 2, outputs)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.head(self.drop(x.flatten(1)))


def without_traces(source, target):
    """A copy without the names of this machine's source files, for a file that is given away."""
    reader, writer = torch._C.PyTorchFileReader(source), torch._C.PyTorchFileWriter(target)
    for name in reader.get_all_records():
        if name != "version" and not name.startswith(".data/") and not name.endswith(".debug_pkl"):
            record = reader.get_record(name)
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()


if __name__ == "__main__":
    torch.manual_seed(42)
    path = sys.argv[1] if len(sys.argv) > 1 else "torchscript_model.pt"
    torch.jit.script(Net()).save(path + ".full")
    without_traces(path + ".full", path)
    os.remove(path + ".full")
