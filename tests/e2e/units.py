# SPDX-License-Identifier: Apache-2.0
"""The units of laps: units-N.bin of a run directory (docs/formats.md)."""

import math
import pathlib
import struct

HEAD = struct.Struct("<8siiii")
UNITS = {
    b"HOPUNIT1": struct.Struct("<iiqddddQ"),  # of version 0.1
    b"HOPUNIT2": struct.Struct("<iiqddddQd"),
    b"HOPUNIT3": struct.Struct("<iiqddddQdd"),
}


def with_units(folder, line):
    """A line of the journal; a lap's units as a list, as journals of version 0.1 have them."""
    at = line.get("units")
    if not isinstance(at, dict):
        return line
    block = (pathlib.Path(folder) / f"units-{at['job']}.bin").read_bytes()[at["offset"] :]
    magic, trial, epoch, attempt, count = HEAD.unpack_from(block)
    assert (trial, epoch, attempt, count) == (line["trial"], line["epoch"], line["attempt"], at["count"])
    unit = UNITS[magic]
    keys = ("shard", "trainer", "rows", "loss_sum", "start_unix_s", "seconds", "wait_s", "state_hash", "cpu_s", "gpu_use")
    units = [dict(zip(keys, values)) for values in unit.iter_unpack(block[HEAD.size : HEAD.size + count * unit.size])]
    for unit in units:
        unit["state_hash"] = f"{unit['state_hash']:016x}"
        unit["loss_sum"] = unit["loss_sum"] if math.isfinite(unit["loss_sum"]) else None
    return {**line, "units": units}
