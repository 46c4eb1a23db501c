#!/usr/bin/env python3
"""scripts/gpu_steps.py with made-up programs in place of hopscotch and PyTorch: a case that hangs, crashes or fails gets a
row that says so, every other case gets its own, and bars are judged on a GPU only. And the rows of scripts/gpu_rows.py
that a rehearsal on a CPU cannot have.

  rows_test.py SOURCE
"""

# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()

# Does what the model of each case says; "rate" prints the rows/s that stand in the shape.
PROGRAM = f"""#!{sys.executable} -S
import json, os, signal, sys
path = sys.argv[sys.argv.index("--cases") + 1]
for case in json.load(open(path)):
    line = {{"bench": "step", "name": case["name"], "device": "gpu", "ms_per_step": 2.0, "device_ms_per_step": 1.5}}
    if case["model"] == "hangs":
        signal.pause()
    if case["model"] == "crashes":
        print("the driver is gone", file=sys.stderr, flush=True)
        os.abort()
    if case["model"] == "fails":
        print(json.dumps(line | {{"error": "no such layer"}}), flush=True)
        continue
    refused = ["gradients: capturing failed"] if case["model"] == "refused" else []
    rate = int(case["shape"]) // FACTOR
    line |= {{key: case.get("fast", False) for key in ("tf32", "benchmark")}} | {{"deterministic": not case.get("fast")}}
    print(json.dumps(line | {{"rows_per_s": rate, "feed_share": 0.04, "graphs": 2, "refused": refused}}), flush=True)
"""


def case(name, model="rate", shape="4000", **bars):
    return {"name": name, "model": model, "shape": shape, "bars": bars}


class Steps(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.replace("FACTOR", "1"))
        self.program.chmod(0o755)

    def rows(self, cases, *options):
        """{title: result}. The peer, in place of a Python, has half the rate."""
        peer = self.folder / "peer"
        peer.write_text(PROGRAM.replace("FACTOR", "2"))
        peer.chmod(0o755)
        file = self.folder / "cases.json"
        file.write_text(json.dumps(cases))
        command = [sys.executable, SOURCE / "scripts/gpu_steps.py", "--cases", file, "--log", self.folder / "log"]
        command += ["--limit", "6", "--start", "6", *options, self.program, peer]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(line.split("\t") for line in done.stdout.splitlines())

    def test_every_case_has_its_row(self):
        cases = [case("a"), case("b", "hangs"), case("c", "crashes"), case("d", "fails"), case("e", "refused"), case("f")]
        rows = self.rows(cases, "--device", "cuda")
        self.assertEqual(list(rows), [f"step: {name}" for name in "abcdef"])
        self.assertIn(
            "4,000 rows/s, step 2.000 ms, gpu 1.500 ms (75%), feeding alone 4.0% of the step, "
            "deterministic, no TF32, no search, 2 graphs",
            rows["step: a"],
        )
        self.assertEqual(rows["step: b"], "FAILED: no result in 6 s")
        self.assertRegex(rows["step: c"], "FAILED: ended with -6: the driver is gone")
        self.assertEqual(rows["step: d"], "FAILED: no such layer")
        self.assertIn("2 graphs, refused: gradients: capturing failed", rows["step: e"])
        self.assertNotIn("refused", rows["step: f"])

    def test_bars_are_judged_on_a_gpu(self):
        cases = [
            case("slow", rows_per_s=4001),
            case("fast", rows_per_s=3999, feed_share=0.05),
            case("feeds", feed_share=0.03),
            case("twice", ratio=2),
            case("thrice", ratio=3),
            case("beside", peer=True),
        ]
        rows = self.rows(cases, "--device", "cuda")
        self.assertIn("bar 4,001 rows/s: MISSED", rows["step: slow"])
        self.assertIn("bar 3,999 rows/s: met", rows["step: fast"])
        self.assertIn("bar 5%: met", rows["step: fast"])
        self.assertIn("bar 3%: MISSED", rows["step: feeds"])
        peer = "PyTorch eager (deterministic, no TF32, no search) 2,000 rows/s: ours is 2.00x"
        self.assertEqual(rows["beside PyTorch: twice"], peer + ", bar 2x: met")
        self.assertIn("bar 3x: MISSED", rows["beside PyTorch: thrice"])
        self.assertEqual(rows["beside PyTorch: beside"], peer)
        self.assertNotIn("beside PyTorch: slow", rows)
        rehearsed = self.rows(cases, "--device", "cpu")
        self.assertFalse([row for row in rehearsed.values() if "met" in row or "MISSED" in row])

    def test_both_sides_tell_their_switches(self):
        rows = self.rows([case("a", peer=True) | {"fast": True}], "--device", "cuda")
        for row in rows.values():
            self.assertIn("any algorithm, TF32, cuDNN searches", row)

    def test_without_pytorch(self):
        rows = self.rows([case("a", ratio=2)], "--device", "cpu", "--no-peer", "there is none")
        self.assertEqual(rows["beside PyTorch: a"], "left out: there is none")


class Rows(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.run_dir = pathlib.Path(temporary.name)

    def row(self, *arguments):
        command = [sys.executable, SOURCE / "scripts/gpu_rows.py", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def test_busy_counts_from_the_end_of_the_first_unit_to_the_begin_of_the_last(self):
        """Units of 10 s from 100, 110 and 120 on; so samples between 110 and 120 count."""
        block = struct.pack("<8siiii", b"HOPUNIT2", 0, 0, 1, 3)
        for start in (100.0, 110.0, 120.0):
            block += struct.pack("<iiqddddQd", 0, 0, 8, 0.5, start, 10.0, 0.0, 7, -1.0)
        (self.run_dir / "units-1.bin").write_bytes(block + bytes(8))
        (self.run_dir / "summary.json").write_text(
            json.dumps({"utilisation": 0.991, "trials": [{"gpu_use": 0.9}, {"gpu_use": 0.96}, {"gpu_use": None}]})
        )
        samples = self.run_dir / "samples"
        samples.write_text("105 10\n112 98\n115 100\n118 [N/A]\n119 96\n125 0\n")
        text = "98.0 % of 3 samples in 10.0 s, the run's own account 99 %, in units 93 %, bar "
        self.assertEqual(self.row("busy", samples, self.run_dir), text + "97 %: met")
        self.assertEqual(self.row("busy", samples, self.run_dir, "--percent", "98.5"), text + "98.5 %: MISSED")
        self.assertIn("no sample of nvidia-smi", self.row("busy", self.run_dir / "none", self.run_dir))

    def test_failed_tests_are_named(self):
        result = {"name": "trains", "classname": "GpuZoo", "status": "RUN", "result": "COMPLETED"}
        every = [result, result | {"result": "SKIPPED"}, result | {"name": "hops", "failures": [{}]}]
        report = self.run_dir / "report.json"
        report.write_text(json.dumps({"time": "2s", "testsuites": [{"testsuite": every}]}))
        self.assertEqual(self.row("tests", report), "1 passed, 1 skipped in 2s, FAILED: GpuZoo.hops")

    def test_a_hop_has_a_bar(self):
        text = self.run_dir / "hop"
        text.write_text('warm\n{"p50_ms": 9.5, "to_host_ms": 4, "to_device_ms": 4.5, "megabytes": 205}\n')
        self.assertEqual(self.row("hop", text), "9.50 ms for 205 MB, to the host 4.00, to the device 4.50, bar 10 ms: met")
        self.assertIn("MISSED", self.row("hop", text, "--ms", "9"))
        self.assertIn("not judged", self.row("--device", "cpu", "hop", text))


if __name__ == "__main__":
    unittest.main()
