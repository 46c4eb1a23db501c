#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes torchvision_keys.json: names and shapes of torchvision's own state_dicts, which the zoo's models must have.

Run by hand with a Python that can import torchvision; tests/model/torchvision_test.cpp and tests/e2e/interop_test.py read
it.
"""

import json
import pathlib

import torchvision

NAMES = ["resnet18", "resnet34", "resnet50", "vgg16", "vgg16_bn", "mobilenet_v2", "vit_b_16"]

if __name__ == "__main__":
    found = {}
    for name in NAMES:
        model = getattr(torchvision.models, name)(weights=None)
        found[name] = {key: list(value.shape) for key, value in model.state_dict().items()}
    lines = ",\n".join(f'"{name}": {json.dumps(keys, separators=(",", ":"))}' for name, keys in found.items())
    path = pathlib.Path(__file__).with_name("torchvision_keys.json")
    path.write_text(f'{{"torchvision": "{torchvision.__version__.split("+")[0]}",\n{lines}}}\n')
