#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of an all-reduce is left when the backward pass is over: four trainers with links of 1 Gbit/s, steps of 30 ms of
which 20 ms are backward, gradients of 1 MB that take 12.6 ms on the wire (63 % of backward). Prints exposed time per step
for small buckets, which can start early, and for one bucket, which cannot.

    tests/hosts/overlap.py        as root; half a minute
"""

import json
import pathlib
import subprocess
import tempfile

import compare


def run(folder, data, algorithm, bucket_mb):
    out = folder / f"{algorithm}-{bucket_mb}"
    document = {
        "name": "overlap",
        "seed": 1,
        "data": {"path": str(data)},
        "model": {"name": "synthetic", "seconds_per_batch": 0.03, "parameters": 250_000},
        "train": {"epochs": 2, "batch_size": 128, "optimizer": {"name": "sgd", "lr": 0.1}},
        "search": {"procedure": "grid"},
        "space": {"train.optimizer.lr": [0.1]},
        "strategy": {"name": "allreduce", "algorithm": algorithm, "bucket_mb": bucket_mb},
        "run": {"dir": str(out), "device": "cpu"},
    }
    experiment = folder / "overlap.json"
    experiment.write_text(json.dumps(document))
    subprocess.run(
        [compare.HOSTS, "run", str(compare.TRAINERS + 1), compare.HOPSCOTCH, "run", experiment, "--quiet"],
        check=True,
        capture_output=True,
    )
    summary = json.loads((out / "summary.json").read_text())
    return [1000 * seconds / summary["sync_rounds"] for seconds in (max(summary["exposed_s"]), summary["makespan_s"])]


def main():
    with tempfile.TemporaryDirectory(prefix="hopscotch-hosts-") as temporary:
        folder = pathlib.Path(temporary)
        data = compare.make_dataset(folder)
        subprocess.run([compare.HOSTS, "up", str(compare.TRAINERS + 1)], check=True)
        try:
            subprocess.run([compare.HOSTS, "rate", "1gbit"], check=True)
            for algorithm in ("ring", "deterministic"):
                for bucket_mb in (0.125, 25):
                    exposed, step = run(folder, data, algorithm, bucket_mb)
                    print(
                        f"{algorithm:13} buckets of {bucket_mb:>5} MB: {exposed:5.1f} ms exposed of a step of {step:.1f} ms "
                        f"({100 * exposed / step:.1f} %)",
                        flush=True,
                    )
        finally:
            subprocess.run([compare.HOSTS, "down"], check=True)


if __name__ == "__main__":
    main()
