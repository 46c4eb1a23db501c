#!/usr/bin/env python3
"""What scripts/gpu_check.sh computes of the files that it has: each command prints the end of one row of its table, with the
bar and `met` or `MISSED` where there is one.

  gpu_rows.py rates RATES [--ratio N] [--rows-per-s N] [--feed-share N]   RATES: lines of `bench step` and of its peer
  gpu_rows.py same RUN RUN                      whether each trial has the same state in both run directories
  gpu_rows.py images DIR ROWS                   writes features.npy and labels.npy of CIFAR's shape
  gpu_rows.py watch FILE                        writes `seconds percent` of GPU 0 until it is ended
  gpu_rows.py busy FILE RUN [--percent N]       the mean of that while RUN trained, and the run's own account
  gpu_rows.py hop TEXT [--ms N]                 of `bench comm`'s output
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import time

HEAD = struct.Struct("<8siiii")  # of a block of units-N.bin; docs/formats.md
UNITS = {b"HOPUNIT1": struct.Struct("<iiqddddQ"), b"HOPUNIT2": struct.Struct("<iiqddddQd")}  # 1: of earlier versions


def verdict(good, bar):
    return f"bar {bar}: {'met' if good else 'MISSED'}"


def rates(options):
    lines = [json.loads(line) for line in open(options.file) if line.startswith("{")]
    ours = [line for line in lines if "peer" not in line]
    peers = [line["rows_per_s"] for line in lines if "peer" in line]
    if not ours or (options.ratio and not peers):
        return f"FAILED: {len(ours)} of ours, {len(peers)} of PyTorch's"
    rate = statistics.median(line["rows_per_s"] for line in ours)
    feed = statistics.median(line["feed_share"] for line in ours)
    parts = [f"{rate:,.0f} rows/s"]
    if peers:
        parts.append(f"PyTorch eager {statistics.median(peers):,.0f}: {rate / statistics.median(peers):.2f}x")
    if options.ratio:
        parts.append(verdict(rate >= options.ratio * statistics.median(peers), f"{options.ratio:g}x"))
    if options.rows_per_s:
        parts.append(verdict(rate >= options.rows_per_s, f"{options.rows_per_s:,.0f} rows/s"))
    parts.append(f"feeding alone {100 * feed:.1f} % of the step")
    if options.feed_share:
        parts.append(verdict(100 * feed <= options.feed_share, f"{options.feed_share:g} %"))
    return ", ".join(parts)


def states(run):
    summary = json.loads((pathlib.Path(run) / "summary.json").read_text())
    return {trial["id"]: (trial["status"], trial["state_hash"]) for trial in summary["trials"]}


def same(options):
    a, b = states(options.runs[0]), states(options.runs[1])
    finished = [trial for trial in a if a[trial][0] == "finished"]
    equal = [trial for trial in finished if a[trial] == b.get(trial)]
    return f"{len(equal)} of {len(a)} trials have equal states, " + verdict(a and len(equal) == len(a) == len(b), "all")


def images(options):
    import numpy

    rng = numpy.random.default_rng(1)
    out = pathlib.Path(options.dir)
    out.mkdir(parents=True, exist_ok=True)
    numpy.save(out / "features.npy", rng.integers(0, 256, (options.rows, 3, 32, 32), dtype=numpy.uint8))
    numpy.save(out / "labels.npy", rng.integers(0, 10, options.rows, dtype=numpy.int64))


def watch(options):
    command = ["nvidia-smi", "-i", "0", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
    with open(options.file, "w") as out, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                print(time.time(), line.strip(), file=out, flush=True)
        finally:
            process.kill()


def steady(run):
    """From the end of the first unit to the begin of the last one: start-up and the last trainer's end are left out."""
    begins, ends = [], []
    for path in pathlib.Path(run).glob("units-*.bin"):
        content, at = path.read_bytes(), 0
        while at < len(content):
            magic, *_, count = HEAD.unpack_from(content, at)
            unit = UNITS[magic]
            at += HEAD.size
            for _, _, _, _, start, seconds, *_ in unit.iter_unpack(content[at : at + unit.size * count]):
                begins.append(start)
                ends.append(start + seconds)
            at += unit.size * count + 8  # the block's hash
    return min(ends), max(begins)


def busy(options):
    begin, end = steady(options.run)
    samples = []
    for line in open(options.file):
        words = line.split()
        if len(words) == 2 and words[1].isdigit() and begin <= float(words[0]) <= end:
            samples.append(int(words[1]))
    summary = json.loads((pathlib.Path(options.run) / "summary.json").read_text())
    own = f"the run's own account {100 * summary['utilisation']:.0f} %"
    if not samples:
        return f"no sample of nvidia-smi in {end - begin:.1f} s, {own}, {verdict(False, f'{options.percent:g} %')}"
    mean = statistics.mean(samples)
    bar = verdict(mean >= options.percent, f"{options.percent:g} %")
    return f"{mean:.1f} % of {len(samples)} samples in {end - begin:.1f} s, {own}, {bar}"


def hop(options):
    found = [json.loads(line) for line in open(options.file) if line.startswith("{")]
    if not found:
        return "FAILED: no result"
    line = found[-1]
    ms = next((line[key] for key in ("p50_ms", "median_ms", "hop_ms", "ms") if key in line), None)
    if ms is None:
        ms = line["megabytes"] / line["p50_gb_per_s"]  # MB / (GB/s)
    return f"{ms:.2f} ms for {line['megabytes']:g} MB, " + verdict(ms <= options.ms, f"{options.ms:g} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def add(name, function, *arguments, **numbers):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        for argument, settings in arguments:
            command.add_argument(argument, **settings)
        for key, value in numbers.items():
            command.add_argument("--" + key.replace("_", "-"), type=float, default=value)

    add("rates", rates, ("file", {}), ratio=0, rows_per_s=0, feed_share=0)
    add("same", same, ("runs", {"nargs": 2}))
    add("images", images, ("dir", {}), ("rows", {"type": int}))
    add("watch", watch, ("file", {}))
    add("busy", busy, ("file", {}), ("run", {}), percent=95)
    add("hop", hop, ("file", {}), ms=10)
    options = parser.parse_args()
    text = options.function(options)
    if text:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
