# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: the same bits for every number of trainers, an exact journal, a best model, a replay."""

import importlib.util
import json
import math
import shutil
import struct
import unittest

from harness import LONG, SHARDS, SOURCE, Case, experiment, strict_json
from units import with_units

GRID = json.loads((SOURCE / "configs/digits-grid.json").read_text())


def grid(**train):
    return experiment(
        **{**GRID, "data": {"path": "digits"}, "train": {**GRID["train"], **train}, "run": {"dir": "out", "device": "cpu"}}
    )


class Reproducibility(Case):
    def fingerprint(self, folder):
        trials = [
            {key: value for key, value in trial.items() if key not in {"train_s", "cpu_s", "cpu_use", "gpu_s", "gpu_use"}}
            for trial in self.summary(folder)["trials"]
        ]
        units = {
            (lap["trial"], lap["epoch"], unit["shard"]): (unit["rows"], unit["loss_sum"], unit["state_hash"])
            for lap in self.laps(folder)
            for unit in lap["units"]
        }
        validation = {
            (lap["trial"], lap["epoch"]): [lap["validation"][key] for key in ("rows", "loss_sum", "correct", "top5")]
            for lap in self.laps(folder)
        }
        return trials, units, validation

    def test_any_number_of_trainers_gives_the_same_bits(self):
        self.write(grid(epochs=2))
        ways = {
            "threads1": (None, "--trainers", "1"),
            "threads4": (None, "--trainers", "4"),
            "np3": (3,),
            "sequential": (None, "--strategy", "sequential"),
        }
        if LONG:
            ways |= {
                "threads2": (None, "--trainers", "2"),
                "threads3": (None, "--trainers", "3"),
                "np2": (2,),
                "np5": (5,),
                "sequential_np3": (3, "--strategy", "sequential"),
            }
        for name, (np, *args) in ways.items():
            self.succeed("--quiet", "--set", f'run.dir="{name}"', *args, np=np)
        wanted = self.fingerprint("threads1")
        self.assertEqual(len(wanted[1]), 16 * 2 * SHARDS)
        for name in ways:
            with self.subTest(name):
                self.assertEqual(self.fingerprint(name), wanted)
        for name, hops in (("threads1", False), ("threads4", True), ("np3", True)):
            with self.subTest(f"the journal of {name}"):
                self.check_journal(name, hops)
        self.succeed("--quiet", "--set", 'run.dir="seed"', "--set", "seed=43")
        self.assertNotEqual(self.fingerprint("seed")[1], wanted[1])

    def check_journal(self, folder, has_hops):
        """Every unit once, and bytes that are exact."""
        laps, summary = self.laps(folder), self.summary(folder)
        units = [(lap["trial"], lap["epoch"], unit["shard"]) for lap in laps for unit in lap["units"]]
        self.assertEqual(sorted(units), [(t, e, s) for t in range(16) for e in range(2) for s in range(SHARDS)])
        self.assertEqual(summary["units"], len(units))
        moved = 0
        for lap in laps:
            trainers = [unit["trainer"] for unit in lap["units"]] + [lap["home"]]
            hops = sum(a != b for a, b in zip(trainers, trainers[1:]))
            self.assertEqual(lap["hops"], hops)
            self.assertEqual(lap["hop_bytes"], hops * lap["state_bytes"])  # a stay moves nothing
            moved += lap["hop_bytes"]
        self.assertEqual(summary["bytes"]["state"], moved)
        self.assertEqual(summary["hops"], sum(lap["hops"] for lap in laps))
        self.assertEqual((summary["hops"] > 0, summary["bytes"]["state"] > 0), (has_hops, has_hops))


class Nothing(Case):
    """Runs and journals that hold no result say so, and not that all is well."""

    def test_a_run_of_failing_trials_fails(self):
        self.write(
            experiment(
                space={"train.optimizer.lr": [1e30]}, train={"epochs": 1, "optimizer": {"name": "sgd", "momentum": 0.9}}
            )
        )
        code, out, err = self.run_hopscotch("run", "e.json", "--trainers", "2")
        self.assertEqual(code, 1, out + err)
        self.assertIn("no trial finished an epoch with a finite val_accuracy", err)
        self.assertEqual(self.summary()["status"], "failed")
        code, _, err = self.run_hopscotch("replay", "out")
        self.assertEqual(code, 0, err)

    def test_an_empty_journal_is_no_proof(self):
        self.write(experiment())
        self.succeed("--quiet", "--trainers", "1")
        (self.cwd / "out/journal.jsonl").write_text("")
        code, out, err = self.run_hopscotch("replay", "out")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("the journal has no lap", err)

    def test_one_rank_is_enough_for_what_is_no_job(self):
        _, alone, _ = self.run_hopscotch("data", "inspect", "digits")
        code, out, err = self.run_hopscotch("data", "inspect", "digits", np=3)
        self.assertEqual((code, out), (0, alone), err)


class Diverging(Case):
    def run_with(self, lr, folder):
        self.write(experiment(space={"train.optimizer.lr": [0.03, lr, 0.2]}, run={"dir": folder, "device": "cpu"}))
        return self.succeed("--trainers", "2")

    def test_it_ends_alone(self):
        _, err = self.run_with(1e6, "bad")
        self.run_with(0.1, "good")
        bad, good = self.summary("bad")["trials"], self.summary("good")["trials"]
        self.assertEqual([trial["status"] for trial in bad], ["finished", "diverged", "finished"])
        self.assertRegex(
            bad[1]["reason"],
            r"^epoch \d+, unit on shard \d+: the (loss|state) is not finite "
            r"\(a smaller learning rate may help\)$",
        )
        self.assertIn("warning trial 1 diverged: " + bad[1]["reason"], err)
        for lone in (0, 2):
            for key in ("state_hash", "best", "last", "epochs"):
                self.assertEqual(bad[lone][key], good[lone][key])
        hashes = {
            f: {
                (lap["trial"], lap["epoch"]): [u["state_hash"] for u in lap["units"]]
                for lap in self.laps(f)
                if lap["trial"] != 1
            }
            for f in ("bad", "good")
        }
        self.assertEqual(hashes["bad"], hashes["good"])
        texts = [path for path in (self.cwd / "bad").rglob("*") if path.suffix in (".json", ".jsonl")]
        self.assertGreaterEqual(len(texts), 6)
        for path in texts:
            for text in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                strict_json(text)
        self.assertNotRegex((self.cwd / "bad/trials.csv").read_text().lower(), r"\b(nan|inf)\b")


class Replay(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("train_once")
        super().setUp(case)
        case.train_once()
        shutil.copytree(case.cwd / "out", cls.imported.parent / "out")
        case.doCleanups()

    def train_once(self):
        self.write(experiment())
        self.succeed("--trainers", "2", "--quiet")

    def setUp(self):
        super().setUp()
        shutil.copytree(self.imported.parent / "out", self.cwd / "out")
        self.path = self.cwd / "out/journal.jsonl"

    def replay(self, *args):
        return self.run_hopscotch("replay", "out", *args)

    def test_same_hashes(self):
        self.assertEqual(
            self.replay(), (0, f"{2 * 2 * SHARDS} units of 2 trials: every state hash equals the journal's\n", "")
        )
        self.assertEqual(
            self.replay("--trial", "1")[:2], (0, f"{2 * SHARDS} units of 1 trials: every state hash equals the journal's\n")
        )
        self.assertEqual(self.replay("--trial", "9"), (2, "", "out: there is no trial 9 in this run\n"))

    def test_a_run_of_which_no_bits_are_promised(self):
        facts = json.loads((self.cwd / "out/experiment.json").read_text())
        self.assertFalse(facts["approximate"])
        facts["approximate"] = True  # as a GPU with run.deterministic false leaves it
        (self.cwd / "out/experiment.json").write_text(json.dumps(facts))
        code, out, err = self.replay()
        self.assertEqual((code, out), (2, ""))
        self.assertIn("out: there are no bits to verify (it was trained on a GPU with run.deterministic false", err)

    def test_one_flipped_digit(self):
        lines = self.path.read_text().splitlines(keepends=True)
        at = next(
            i
            for i, line in enumerate(lines)
            if (lap := json.loads(line))["event"] == "lap_done" and lap["trial"] == 1 and lap["epoch"] == 1
        )
        line = with_units(self.cwd / "out", json.loads(lines[at]))
        unit = dict(line["units"][5])
        flipped = f"{int(unit['state_hash'][0], 16) ^ 1:x}{unit['state_hash'][1:]}"
        line["units"][5]["state_hash"] = flipped
        lines[at] = json.dumps(line) + "\n"
        self.path.write_text("".join(lines))
        message = (
            f"trial 1, epoch 1, unit 5 (shard {unit['shard']}): journal {flipped}, replayed {unit['state_hash']}\n"
            "1 of 2 trials differ from the journal of out\n"
        )
        self.assertEqual(self.replay(), (1, "", message))
        self.assertEqual(self.replay("--trial", "0")[0], 0)
        self.assertEqual(self.replay("--trial", "1")[0], 1)

    def test_the_steady_part_of_a_run(self):
        """scripts/gpu_rows.py reads the units by itself: it runs where nothing else of the repository is."""
        spec = importlib.util.spec_from_file_location("gpu_rows", SOURCE / "scripts/gpu_rows.py")
        gpu_rows = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(gpu_rows)
        units = [unit for lap in self.laps() for unit in lap["units"]]
        end_of_first = min(unit["start_unix_s"] + unit["seconds"] for unit in units)
        self.assertEqual(gpu_rows.steady(self.cwd / "out"), (end_of_first, max(unit["start_unix_s"] for unit in units)))

    def test_damaged_units(self):
        path = self.cwd / "out/units-1.bin"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        code, _, err = self.replay()
        self.assertEqual(code, 2)
        self.assertRegex(
            err, r"units-1.bin: the units of trial \d+, epoch \d+ cannot be read \(the block is damaged\); restore"
        )
        path.unlink()
        self.assertIn("(No such file or directory)", self.replay()[2])

    def test_torn_last_line(self):
        text = self.path.read_text()
        last = text.rindex("\n", 0, -1) + 1
        self.path.write_text(text[: last + 20])
        self.assertEqual(self.replay()[0], 0)
        self.path.write_text(text[:last] + "{]\n")
        code, out, err = self.replay()
        self.assertNotEqual(code, 0)
        self.assertIn(f"out/journal.jsonl:{text.count(chr(10))}: ", err)

    def test_no_run_directory(self):
        self.assertEqual(
            self.run_hopscotch("replay", "digits"), (2, "", "digits: not a run directory (it has no experiment.json)\n")
        )


class Best(Case):
    def test_shipped_grid(self):
        self.write(grid())
        self.succeed("--quiet", "--trainers", "2")
        summary = self.summary()
        best = summary["trials"][summary["best_trial"]]
        self.assertGreaterEqual(best["best"]["val_accuracy"], 0.97)
        self.assertEqual(best["best"]["val_accuracy"], max(trial["best"]["val_accuracy"] for trial in summary["trials"]))
        about = strict_json((self.cwd / "out/best/model.json").read_text())
        self.assertEqual(
            (about["trial"], about["epoch"], about["metrics"]), (best["id"], best["best"]["epoch"], best["best"])
        )
        lap = next(lap for lap in self.laps() if (lap["trial"], lap["epoch"]) == (about["trial"], about["epoch"]))
        self.assertEqual(about["state_hash"], lap["state_hash"])
        self.check_tensors(best["config"]["model.hidden"])

    def check_tensors(self, hidden):
        data = (self.cwd / "out/best/model.safetensors").read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        header = strict_json(data[8 : 8 + length])
        header.pop("__metadata__")
        sizes = [64, *hidden, 10]
        shapes = {}
        for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            shapes[f"layers.{i}.weight"], shapes[f"layers.{i}.bias"] = [outputs, inputs], [outputs]
        self.assertEqual({name: tensor["shape"] for name, tensor in header.items()}, shapes)
        end = 0
        for tensor in header.values():
            self.assertEqual(tensor["dtype"], "F32")
            self.assertEqual(tensor["data_offsets"], [end, end + 4 * math.prod(tensor["shape"])])
            end = tensor["data_offsets"][1]
        self.assertEqual(len(data), 8 + length + end)
        self.assertTrue(all(map(math.isfinite, struct.unpack_from(f"<{end // 4}f", data, 8 + length))))


if __name__ == "__main__":
    unittest.main()
