# SPDX-License-Identifier: Apache-2.0
"""Owners by speed, shards with several holders, and shards that move: no bit and no metric knows of them."""

from harness import Case, experiment, strict_json

TRAIN = {"epochs": 3, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}}
SPACE = {"train.optimizer.lr": [0.01, 0.03, 0.1, 0.2], "train.batch_size": [16, 32]}


class Owners(Case):
    shards = 5

    def trained_with(self, name, np=None, trainers=None, **sections):
        arguments = ["--trainers", str(trainers)] if trainers else []
        run = {"dir": name, "device": "cpu", **sections.pop("run", {})}
        return self.trained(*arguments, np=np, train=TRAIN, space=SPACE, run=run, **sections)

    def facts(self, name):
        return strict_json((self.cwd / name / "experiment.json").read_text())

    def test_no_bit_knows_who_trained(self):
        expected, _ = self.trained_with("alone", trainers=1)
        for name, np, trainers, owners, slow in (
            ("shared", 4, None, "shares", []),
            ("threads", None, 4, "shares", []),
            ("slow", None, 3, "shares", ["slow:rank=2,factor=3"]),
            ("whole", None, 3, "whole", ["slow:rank=2,factor=3"]),
            ("equal", None, 3, "equal", ["slow:rank=2,factor=3"]),
        ):
            with self.subTest(name=name):
                hashes, summary = self.trained_with(
                    name, np, trainers, strategy={"name": "mop", "owners": owners}, run={"inject": slow}
                )
                self.assertEqual(hashes, expected)
                self.assertEqual("replicas" in self.facts(name), owners == "shares")
                self.assertEqual(summary["bytes"]["state"] % summary["hops"], 0, "hops x state size, exactly")
                trained = {unit["trainer"] for lap in self.laps(name) for unit in lap["units"]}
                self.assertEqual(len(trained), trainers or np - 1, "a trainer was idle")

    def test_shards_move_when_a_trainer_turns_out_slow(self):
        """Rank 2 is twelve times slower from its third unit on, when the roll call is over: no load slows the others so."""
        sections = {
            "model": {"name": "synthetic", "seconds_per_batch": 0.006, "parameters": 3000},
            "space": {"train.optimizer.lr": [0.01 * i for i in range(1, 9)]},
            "search": {"procedure": "grid"},
        }
        # A busy machine may slow a trainer, too, so the run to compare with has owners that never move.
        for name, owners, inject in (("undisturbed", "equal", []), ("out", "shares", ["slow:rank=2,factor=12,after=3"])):
            run = {"dir": name, "device": "cpu", "inject": inject, "checkpoint_every_s": 1000}
            strategy = {"name": "mop", "owners": owners}
            self.write(experiment(train={**TRAIN, "epochs": 6}, run=run, strategy=strategy, **sections))
            out, err = self.succeed(np=4)
        self.assertEqual(self.hashes(), self.hashes("undisturbed"))
        summary = self.summary()
        self.assertGreaterEqual(len(summary["owners_moved"]), 1, err)
        self.assertIn("shards move to other trainers", err)
        speed = self.facts("out")["speed"]
        self.assertEqual(speed.index(min(speed)), 1)
        self.assertNotIn("owners_moved", self.summary("undisturbed"))
        events = [line["event"] for line in self.journal()]
        self.assertEqual(events[events.index("owners_moved") + 1 :].count("run_resumed"), len(summary["owners_moved"]))

    def test_a_trainer_that_cannot_open_a_replica(self):
        """As on hosts that have the files of their own shards only: trainer 1 of 2 would share shard 2 with trainer 0."""
        self.write(experiment(train=TRAIN, space=SPACE, strategy={"name": "mop"}))
        # No one can open it on one host, so the job must say so, and not hang between two roll calls.
        (self.cwd / "digits" / "train-00002.h5").unlink()
        code, out, err = self.run_hopscotch("run", "e.json", np=3)
        self.assertEqual(code, 2, out + err)
        self.assertIn("dealt out equally, without replicas", err)
        self.assertIn("train-00002.h5", err)
