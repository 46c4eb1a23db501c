#!/usr/bin/env python3
"""Measures the steps of a file of cases for scripts/gpu_check.sh: first `hopscotch bench step`, then PyTorch's eager loop,
each in one process for all cases. Prints a row for each result as soon as the result is there: title and result, with a
tab between. A case that hangs or ends the process gets a row that says so, and a new process goes on with the next
case.

  gpu_steps.py --cases FILE --device cuda --log FILE [--limit S] [--of-all S] [--small] [--no-peer WHY]
               [--library-path PATH] HOPSCOTCH PYTHON
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time


def small(case):
    """The same case, as a CPU can measure it within a second."""
    case = case | {"batch": 2, "rows": 4}
    if case["shape"] == "3x224x224":
        case["shape"] = "3x32x32"
    if case["model"].startswith("resnet"):
        case["arguments"] = case.get("arguments", {}) | {"width": 4}
    return case


class Process:
    """One process that measures these cases, and its lines."""

    def __init__(self, command, cases, log, environment):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(cases, self.file)
        self.file.flush()
        self.log = log
        self.before = os.path.getsize(log) if os.path.exists(log) else 0
        with open(log, "a") as errors:
            command = [*command, "--cases", self.file.name]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def line(self, deadline):
        """The next result; None at the end. Raises queue.Empty if there is none in time."""
        while True:
            line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            if line is None or line.startswith("{"):
                return None if line is None else json.loads(line)

    def last_words(self):
        """The last line on standard error."""
        with open(self.log, errors="replace") as file:
            file.seek(self.before)
            return (file.read().splitlines() or [""])[-1]

    def end(self):
        self.process.kill()
        self.file.close()
        return self.process.wait()


def results(command, cases, options, library_path=""):
    """(case, result) for each case, in order."""
    environment = os.environ | ({"LD_LIBRARY_PATH": library_path} if library_path else {})
    left = list(cases)
    over = time.monotonic() + options.of_all
    while left:
        process = Process(command, left, options.log, environment)
        start_s = options.start
        while left:
            deadline = min(over, time.monotonic() + options.limit + start_s)
            start_s = 0
            try:
                line = process.line(deadline)
            except queue.Empty:
                process.end()
                line = {"error": f"no result in {options.limit:g} s"}
                yield left.pop(0), line
                break
            if line is None:
                code = process.process.wait()
                yield left.pop(0), {"error": f"ended with {code}: {process.last_words()}"}
                break
            yield left.pop(0), line
        process.end()
        if left and time.monotonic() >= over:
            yield from ((case, {"error": "left out, the time of the phase is over"}) for case in left)
            return


def verdict(options, good, bar):
    return f"bar {bar}: " + ("not judged" if options.device == "cpu" else "met" if good else "MISSED")


def arithmetic(line):
    """The switches that both sides have, so that a reader sees whether they are equal."""
    words = (("deterministic", "any algorithm"), ("tf32", "no TF32"), ("benchmark", "no search"))
    names = {"tf32": "TF32", "benchmark": "cuDNN searches"}
    return ", ".join(names.get(key, key) if line[key] else other for key, other in words)


def row_of_ours(options, case, line):
    if "error" in line:
        return f"FAILED: {line['error']}"
    bars, parts = case.get("bars", {}), [f"{line['rows_per_s']:,} rows/s"]
    if "rows_per_s" in bars:
        parts.append(verdict(options, line["rows_per_s"] >= bars["rows_per_s"], f"{bars['rows_per_s']:,} rows/s"))
    share = line["device_ms_per_step"] / line["ms_per_step"]
    parts.append(f"step {line['ms_per_step']:.3f} ms, {line['device']} {line['device_ms_per_step']:.3f} ms ({share:.0%})")
    parts.append(f"feeding alone {line['feed_share']:.1%} of the step")
    if "feed_share" in bars:
        parts.append(verdict(options, line["feed_share"] <= bars["feed_share"], f"{bars['feed_share']:.0%}"))
    parts.append(arithmetic(line))
    parts.append(f"{line['graphs']} graphs" + "".join(f", refused: {why}" for why in line["refused"]))
    return ", ".join(parts)


def row_of_peer(options, case, line, ours):
    if "error" in line:
        return f"FAILED: {line['error']}"
    text, ratio = f"PyTorch eager ({arithmetic(line)}) {line['rows_per_s']:,} rows/s", case.get("bars", {}).get("ratio")
    if not ours:
        return f"{text}, of ours there is no result" + (f", bar {ratio:g}x: MISSED" if ratio else "")
    text += f": ours is {ours / line['rows_per_s']:.2f}x"
    return text + (", " + verdict(options, ours >= ratio * line["rows_per_s"], f"{ratio:g}x") if ratio else "")


def measure(options, hopscotch, python):
    cases = json.loads(pathlib.Path(options.cases).read_text())
    if options.small:
        cases = [small(case) for case in cases]
    common = ["--device", options.device, "--seconds", "0.05" if options.small else "2", "--repeats", "1"]
    rates = {}
    for case, line in results([hopscotch, "bench", "step", *common], cases, options, options.library_path):
        rates[case["name"]] = line.get("rows_per_s", 0)
        print("step: " + case["name"], row_of_ours(options, case, line), sep="\t", flush=True)
    wanted = [case for case in cases if {"ratio", "peer"} & case.get("bars", {}).keys()]
    if options.no_peer:
        for case in wanted:
            print("beside PyTorch: " + case["name"], f"left out: {options.no_peer}", sep="\t", flush=True)
        return
    peer = [python, str(pathlib.Path(__file__).parent / "bench_step_pytorch.py"), *common]
    for case, line in results(peer, wanted, options):
        text = row_of_peer(options, case, line, rates[case["name"]])
        print("beside PyTorch: " + case["name"], text, sep="\t", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cases", "device", "log"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--limit", type=float, default=60, help="seconds of one case")
    parser.add_argument("--start", type=float, default=120, help="seconds more of the first: it loads the libraries")
    parser.add_argument("--of-all", type=float, default=220, help="seconds of each of the two processes")
    parser.add_argument("--library-path", default="", help="LD_LIBRARY_PATH of HOPSCOTCH, not of PYTHON")
    parser.add_argument("--small", action="store_true", help="sizes for a rehearsal")
    parser.add_argument("--no-peer", default="", help="why PyTorch is left out")
    parser.add_argument("hopscotch")
    parser.add_argument("python")
    options = parser.parse_args()
    measure(options, options.hopscotch, options.python)


if __name__ == "__main__":
    sys.exit(main())
