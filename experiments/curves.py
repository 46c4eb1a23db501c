"""What figures read of a run directory: the curves, and the units.

SPDX-License-Identifier: Apache-2.0
"""

import json
import struct

BLOCK, HEAD, UNIT = b"HOPUNIT2", struct.Struct("<iiii"), struct.Struct("<iiqddddQd")


def metrics(run):
    """{trial: [the line of metrics.jsonl, by epoch]}."""
    out = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        out.setdefault(row["trial"], {})[row["epoch"]] = row
    return {trial: [rows[epoch] for epoch in sorted(rows)] for trial, rows in sorted(out.items())}


def units(run):
    """Of the run's only job, in the order of docs/formats.md: [(trial, epoch, [unit]) by lap]."""
    data, at, out = (run / "units-1.bin").read_bytes(), 0, []
    while at < len(data):
        if not data.startswith(BLOCK, at):
            raise ValueError(f"units-1.bin has no block at byte {at} (another version wrote it?); read docs/formats.md")
        trial, epoch, _, count = HEAD.unpack_from(data, at + len(BLOCK))
        at += len(BLOCK) + HEAD.size
        each = [UNIT.unpack_from(data, at + UNIT.size * i) for i in range(count)]
        out.append((trial, epoch, [{"shard": u[0], "trainer": u[1], "start": u[4], "seconds": u[5]} for u in each]))
        at += UNIT.size * count + 8  # the hash of the block
    return out


def visits(run):
    """{trial: [the shards in the order of the visits, by epoch]}."""
    out = {}
    for trial, epoch, of_lap in units(run):
        out.setdefault(trial, {})[epoch] = [unit["shard"] for unit in of_lap]
    return {trial: [orders[epoch] for epoch in sorted(orders)] for trial, orders in sorted(out.items())}


def lap_s(run):
    """Seconds from the start of the first unit to the validation, of the first lap of the journal."""
    journal = map(json.loads, (run / "journal.jsonl").read_text().splitlines())
    lap = next(line for line in journal if line["event"] == "lap_done")
    (first,) = (of_lap for trial, epoch, of_lap in units(run) if (trial, epoch) == (lap["trial"], lap["epoch"]))
    return lap["validation"]["start_unix_s"] - min(unit["start"] for unit in first)


def first_at(curve, target, first=0.0):
    """Epochs (from 0, with a straight line between two) until a curve reaches the target; None: it does not."""
    before = first
    for epoch, value in enumerate(curve):
        if value >= target:
            return epoch + (target - before) / (value - before)
        before = value
    return None
