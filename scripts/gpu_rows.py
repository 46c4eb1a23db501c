#!/usr/bin/env python3
"""What scripts/gpu_check.sh computes of the files that it has: each command prints the end of one row of its table, with the
bar and `met` or `MISSED` where there is one. With --device cpu it judges no speed: that is a rehearsal.

  gpu_rows.py tests JSON                        GoogleTest's counts
  gpu_rows.py same RUN RUN                      whether each trial has the same state in both run directories
  gpu_rows.py images DIR ROWS                   writes features.npy and labels.npy of CIFAR's shape
  gpu_rows.py breaking MODEL FILE               writes the TorchScript model with an index out of range
  gpu_rows.py watch FILE                        writes `seconds percent` of GPU 0 until it is ended
  gpu_rows.py busy FILE RUN [--percent N]       the mean of that while RUN trained, and the run's own account
  gpu_rows.py parts RUN                         of what a unit's time is made, from trace.json
  gpu_rows.py hop TEXT [--ms N]                 of `bench comm`'s output
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import time
import zipfile

HEAD = struct.Struct("<8siiii")  # of a block of units-N.bin; docs/formats.md
UNITS = {
    b"HOPUNIT1": struct.Struct("<iiqddddQ"),  # of earlier versions
    b"HOPUNIT2": struct.Struct("<iiqddddQd"),
    b"HOPUNIT3": struct.Struct("<iiqddddQdd"),
}


def verdict(options, good, bar):
    return f"bar {bar}: " + ("not judged" if options.device == "cpu" else "met" if good else "MISSED")


def tests(options):
    report = json.loads(pathlib.Path(options.file).read_text())
    every = [test for suite in report["testsuites"] for test in suite["testsuite"] if test["status"] == "RUN"]
    skipped = [test for test in every if test["result"] == "SKIPPED"]
    failed = [f"{test['classname']}.{test['name']}" for test in every if "failures" in test]
    text = f"{len(every) - len(skipped) - len(failed)} passed, {len(skipped)} skipped in {report['time']}"
    return text + (f", FAILED: {', '.join(failed)}" if failed else "")


def states(run):
    summary = json.loads((pathlib.Path(run) / "summary.json").read_text())
    return {trial["id"]: (trial["status"], trial["state_hash"]) for trial in summary["trials"]}


def same(options):
    a, b = states(options.runs[0]), states(options.runs[1])
    finished = [trial for trial in a if a[trial][0] == "finished"]
    equal = [trial for trial in finished if a[trial] == b.get(trial)]
    good = a and len(equal) == len(a) == len(b)
    return f"{len(equal)} of {len(a)} trials have equal states, bar all: {'met' if good else 'MISSED'}"


def write_npy(path, kind, shape, content):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + content)


def images(options):
    rng = random.Random(1)
    out = pathlib.Path(options.dir)
    out.mkdir(parents=True, exist_ok=True)
    pixels = b"".join(rng.randbytes(3 * 32 * 32) for _ in range(options.rows))
    write_npy(out / "features.npy", "|u1", (options.rows, 3, 32, 32), pixels)
    labels = b"".join(struct.pack("<q", rng.randrange(10)) for _ in range(options.rows))
    write_npy(out / "labels.npy", "<i8", (options.rows,), labels)


def breaking(options):
    # From the fourth batch on: so the check of the model before the run finds nothing.
    last = "return (head).forward(_1, )"
    wrong = """_2 = torch.mul(torch.gt(norm.num_batches_tracked, 3), 1000)
    _3 = torch.add(torch.remainder(torch.argmax(_1, 1), 10), _2)
    return (head).forward(torch.embedding(head.weight, _3), )"""
    with zipfile.ZipFile(options.model) as model, zipfile.ZipFile(options.file, "w") as out:
        for name in model.namelist():
            out.writestr(name, model.read(name).replace(last.encode(), wrong.encode()))


def watch(options):
    command = ["nvidia-smi", "-i", "0", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
    with open(options.file, "w") as out, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                print(time.time(), line.strip(), file=out, flush=True)
        finally:
            process.kill()


def units(run):
    """(start, seconds) of each."""
    for path in pathlib.Path(run).glob("units-*.bin"):
        content, at = path.read_bytes(), 0
        while at < len(content):
            magic, *_, count = HEAD.unpack_from(content, at)
            unit = UNITS[magic]
            at += HEAD.size
            for _, _, _, _, start, seconds, *_ in unit.iter_unpack(content[at : at + unit.size * count]):
                yield start, seconds
            at += unit.size * count + 8  # the block's hash


def steady(run):
    """From the end of the first unit to the begin of the last one: start-up and the last trainer's end are left out."""
    found = list(units(run))
    return min(start + seconds for start, seconds in found), max(start for start, _ in found)


def busy(options):
    begin, end = steady(options.run)
    samples = []
    for line in open(options.file) if pathlib.Path(options.file).exists() else []:
        words = line.split()
        if len(words) == 2 and words[1].isdigit() and begin <= float(words[0]) <= end:
            samples.append(int(words[1]))
    summary = json.loads((pathlib.Path(options.run) / "summary.json").read_text())
    own = f"the run's own account {100 * summary['utilisation']:.0f} %"
    uses = [trial["gpu_use"] for trial in summary["trials"] if trial.get("gpu_use") is not None]
    if uses:
        own += f", in units {100 * statistics.mean(uses):.0f} %"
    if not samples:
        bar = verdict(options, False, f"{options.percent:g} %")
        return f"no sample of nvidia-smi in {end - begin:.1f} s, {own}, {bar}"
    mean = statistics.mean(samples)
    bar = verdict(options, mean >= options.percent, f"{options.percent:g} %")
    return f"{mean:.1f} % of {len(samples)} samples in {end - begin:.1f} s, {own}, {bar}"


def parts(options):
    text = (pathlib.Path(options.run) / "trace.json").read_text().rstrip()
    events = json.loads(text if text.endswith("]") else text.rstrip(",") + "]")
    of_units = [event["dur"] for event in events if event.get("cat") == "unit"]
    sums = collections.Counter()
    for event in events:
        if event.get("cat") == "part":
            sums[event["name"]] += event["dur"]
    each = ", ".join(f"{name} {total / len(of_units) / 1e3:.2f}" for name, total in sums.most_common())
    return f"{len(of_units)} units of {statistics.mean(of_units) / 1e3:.2f} ms: {each or 'no part took long enough'}"


def hop(options):
    found = [json.loads(line) for line in open(options.file) if line.startswith("{")]
    if not found:
        return "FAILED: no result"
    ms = found[-1]["p50_ms"]
    copies = [found[-1].get(part, 0) for part in ("to_host_ms", "to_device_ms")]
    return (
        f"{ms:.2f} ms for {found[-1]['megabytes']:g} MB, to the host {copies[0]:.2f}, to the device {copies[1]:.2f}, "
        + verdict(options, ms <= options.ms, f"{options.ms:g} ms")
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    commands = parser.add_subparsers(required=True)

    def add(name, function, *arguments, **numbers):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        for argument, settings in arguments:
            command.add_argument(argument, **settings)
        for key, value in numbers.items():
            command.add_argument("--" + key, type=float, default=value)

    add("tests", tests, ("file", {}))
    add("same", same, ("runs", {"nargs": 2}))
    add("images", images, ("dir", {}), ("rows", {"type": int}))
    add("breaking", breaking, ("model", {}), ("file", {}))
    add("watch", watch, ("file", {}))
    add("busy", busy, ("file", {}), ("run", {}), percent=97)
    add("parts", parts, ("run", {}))
    add("hop", hop, ("file", {}), ms=10)
    options = parser.parse_args()
    text = options.function(options)
    if text:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
