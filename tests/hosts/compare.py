#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The strategies on five hosts (rank 0 and four trainers) with links of a given rate: measured seconds and bytes beside what
the cost model predicts. The model is synthetic: a batch takes a fixed time plus a time for each row, wherever it runs, so
that hosts that share this machine's cores do not disturb each other, while gradients and states of real size go over the
network.

    tests/hosts/compare.py [--quick] [--out FILE]        as root; about 20 minutes (--quick: the smallest cell only)
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HOSTS = SOURCE / "tests/hosts/hosts.sh"
HOPSCOTCH = pathlib.Path(os.environ.get("HOPSCOTCH", SOURCE / "build/hopscotch"))
TRAINERS, TRIALS, ROWS, SHARDS = 4, 8, 2048, 4

STRATEGIES = {
    "mop": {"name": "mop"},
    "task_parallel": {"name": "task_parallel"},
    "model_averaging": {"name": "model_averaging"},
    "allreduce": {"name": "allreduce"},
    "ps_sync": {"name": "parameter_server", "mode": "sync"},
    "ps_async_1": {"name": "parameter_server", "mode": "async", "servers": 1},
}
# rate, megabytes of weights, seconds a batch and a row, batch sizes. A unit of mop is long enough to hide a hop, as an epoch
# over a real dataset is.
CELLS = [
    ("1gbit", 1, 0.002, 0.0001, (32, 128, 512)),
    ("1gbit", 10, 0.005, 0.0004, (128,)),
    ("100mbit", 1, 0.005, 0.0004, (128,)),
    ("100mbit", 10, 0.02, 0.002, (256,)),
]


def make_dataset(folder):
    images, labels = folder / "images.idx", folder / "labels.idx"
    images.write_bytes(struct.pack(">IIII", 0x803, ROWS, 28, 28) + os.urandom(ROWS * 784))
    labels.write_bytes(struct.pack(">II", 0x801, ROWS) + bytes(i % 10 for i in range(ROWS)))
    subprocess.run(
        [
            HOPSCOTCH,
            "data",
            "import",
            "idx",
            images,
            labels,
            "--out",
            folder / "data",
            "--shards",
            str(SHARDS),
            "--valid",
            "0.1",
        ],
        check=True,
        capture_output=True,
    )
    return folder / "data"


def run(folder, data, name, cell, batch):
    rate, megabytes, batch_s, row_s, _ = cell
    out = folder / f"{rate}-{megabytes}-{batch}-{name}"
    document = {
        "name": name,
        "seed": 1,
        "data": {"path": str(data)},
        "model": {
            "name": "synthetic",
            "seconds_per_batch": batch_s,
            "seconds_per_row": row_s,
            "parameters": megabytes * 250_000,
        },
        "train": {"epochs": 1, "batch_size": batch, "optimizer": {"name": "sgd", "lr": 0.1}},
        "search": {"procedure": "grid"},
        "space": {"train.optimizer.weight_decay": [i / 1000 for i in range(TRIALS)]},
        "strategy": STRATEGIES[name],
        "run": {"dir": str(out), "device": "cpu"},
    }
    experiment = folder / f"{name}.json"
    experiment.write_text(json.dumps(document))
    done = subprocess.run(
        [HOSTS, "run", str(TRAINERS + 1), HOPSCOTCH, "run", experiment, "--quiet"], capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{name} at {rate}, {megabytes} MB, batch {batch}:\n{done.stderr}{done.stdout}")
    return out


def table(runs, rate):
    return subprocess.run(
        [HOPSCOTCH, "compare", "--bandwidth", rate, "--latency", "0.2ms", *runs], capture_output=True, text=True, check=True
    ).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the first cell, with one batch size")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="a list with commas")
    parser.add_argument("--out", type=pathlib.Path, help="also write the tables there")
    options = parser.parse_args()
    names = options.strategies.split(",")
    cells = [CELLS[0][:4] + ((128,),)] if options.quick else CELLS
    report = []
    with tempfile.TemporaryDirectory(prefix="hopscotch-hosts-") as temporary:
        folder = pathlib.Path(temporary)
        data = make_dataset(folder)
        subprocess.run([HOSTS, "up", str(TRAINERS + 1)], check=True)
        try:
            for cell in cells:
                subprocess.run([HOSTS, "rate", cell[0]], check=True)
                for batch in cell[4]:
                    runs = [run(folder, data, name, cell, batch) for name in names]
                    report.append(
                        f"links {cell[0]}, weights {cell[1]} MB, batch {batch}, {TRIALS} trials, {TRAINERS} trainers\n\n"
                        + table(runs, cell[0])
                    )
                    print(report[-1], flush=True)
        finally:
            subprocess.run([HOSTS, "down"], check=True)
    if options.out:
        options.out.write_text("\n".join(report))


if __name__ == "__main__":
    main()
