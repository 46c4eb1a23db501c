"""For scripts/scale.sh: a row of its table from the bench's JSON object on standard input; --cut RUN_DIR: what a job leaves
that was killed in the middle of its run.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import sys


def cut(run_dir):
    path = pathlib.Path(run_dir) / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    for name in ("summary.json", "trials.csv"):
        (pathlib.Path(run_dir) / name).unlink(missing_ok=True)


def row(name, bench):
    tenths = bench["tenths"]
    laps = bench["laps"]
    seconds = bench["seconds"] - bench["to_first_lap_s"]
    lost = f"{bench['after_loss_s']:.2f}" if "after_loss_s" in bench else ""
    first, last = (
        f"{tenth['rank0_ms_per_lap']:.2f}" if tenths else "" for tenth in (tenths[:1] + tenths[-1:] or [None, None])
    )
    at_last_lap = tenths[-1]["memory_mb"] if tenths else bench["prepared_mb"]
    stages = (bench["program_mb"], bench["prepared_mb"], at_last_lap, bench["peak_mb"])
    memory = " ".join(f"{megabytes:>5.0f}" for megabytes in stages)
    print(
        f"{name:<8} {laps:>8} {laps / seconds:>10.0f} {first:>14} {last:>14} {memory:>24} "
        f"{bench['to_first_lap_s']:>12.2f} {lost:>12}"
    )


if __name__ == "__main__":
    if sys.argv[1] == "--cut":
        cut(sys.argv[2])
    else:
        row(sys.argv[1], json.loads(sys.stdin.read()))
