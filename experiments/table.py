"""A table of real-valued features and four classes that follows from a formula, for figures that need many rows.

SPDX-License-Identifier: Apache-2.0
"""

import math
import random

FEATURES, NOISE = 20, 0.1


def classes(x):
    """Two bits: the signs of two curved functions. Half of the features say nothing."""
    first = math.sin(3 * x[0]) + 2 * x[1] * x[2] - x[3] * x[4]
    second = math.cos(3 * x[5]) + 2 * x[6] * x[7] - abs(x[8]) + x[9]
    return 2 * (first > 0) + (second > -0.4)


def write(path, rows):
    """Features are uniform in -1..1. A tenth of the labels is drawn at random."""
    draw = random.Random(20)
    with open(path, "w") as out:
        out.write(",".join([*(f"x{i}" for i in range(FEATURES)), "label"]) + "\n")
        for _ in range(rows):
            x = [round(2 * draw.random() - 1, 4) for _ in range(FEATURES)]
            label = int(4 * draw.random()) if draw.random() < NOISE else classes(x)
            out.write(",".join(map(str, [*x, label])) + "\n")
