# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and arrays whose truth is known, by seed, through `data import` and `predict` (door_tables.py,
door_pictures.py, door_arrays.py). The kind changes from seed to seed. A refusal does not count as a difference,
a silent change does. Needs h5py, numpy and Pillow. scripts/fuzz.sh --door SECONDS goes on for longer.

    python3 door_truth.py BINARY [--seconds 60] [--seed 0] [--count N] [--kind tables|pictures|arrays]"""

import argparse
import math
import sys
import time

import door_arrays
import door_pictures
import door_tables
from door_common import Wrong

KINDS = {"tables": door_tables, "pictures": door_pictures, "arrays": door_arrays}


def kind_of(seed):
    return list(KINDS)[seed % len(KINDS)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--kind", choices=KINDS, help="all seeds are of this kind")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    end = time.monotonic() + options.seconds
    done, refused, wrong = ({kind: 0 for kind in KINDS} for _ in range(3))
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() >= end:
            break
        kind = options.kind or kind_of(seed)
        done[kind] += 1
        try:
            said = KINDS[kind].try_seed(options.binary, seed, seed // len(KINDS) % 5 == 0)
            refused[kind] += said != "same"
            if options.verbose and said != "same":
                print(f"{kind}, seed {seed}: {said}", flush=True)
        except Wrong as error:
            wrong[kind] += 1
            print(f"{kind}, seed {seed}: {error}", flush=True)
    for kind, count in done.items():
        same = count - refused[kind] - wrong[kind]
        print(f"{count} {kind}: {wrong[kind]} silent differences, {refused[kind]} refused, {same} the same")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
