# SPDX-License-Identifier: Apache-2.0
"""A job in a control group that has less memory than the job has states: a part of the states goes to the disk, and the
kernel kills no one. Slurm and containers limit memory in this way."""

import os
import pathlib
import re
import unittest

from harness import Case, experiment

LIMIT = 2 << 30
TRIALS, FLOATS = 30, 20_000_000  # 2.4 GB of states


def groups():
    """(the folder where this process may make a group, the file of the limit) of each hierarchy that limits memory."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    for _, place, kind, options, *_ in mounts:
        root = pathlib.Path(place)
        if kind == "cgroup" and "memory" in options.split(","):
            yield root, "memory.limit_in_bytes"
        if kind == "cgroup2" and "memory" in (root / "cgroup.subtree_control").read_text().split():
            yield root, "memory.max"


class MemoryLimit(Case):
    def test_of_a_control_group(self):
        group = self.make_group()
        model = {"name": "synthetic", "parameters": FLOATS, "seconds_per_batch": 0.0}
        search = {"procedure": "random", "trials": TRIALS, "in_flight": TRIALS}
        run = {"dir": "out", "device": "cpu", "checkpoint_every_s": 1e6}
        space = {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.1}}
        train = {"epochs": 2, "batch_size": 512}
        self.write(experiment(model=model, search=search, space=space, train=train, run=run))
        enter = f"echo $$ > {group}/cgroup.procs; exec "
        self.launcher = ["bash", "-c", enter + '"$@"', "bash"]
        code, out, err = self.run_hopscotch("run", "e.json", np=3)
        self.assertEqual(code, 0, out + err)
        self.assertGreater(self.summary("out")["spilled_bytes"], TRIALS * FLOATS * 4 - LIMIT)
        for name in ("memory.oom_control", "memory.events"):
            if (group / name).exists():
                self.assertEqual(re.findall(r"oom_kill (\d+)", (group / name).read_text()), ["0"])

    def command(self, args, np):
        return self.launcher + super().command(args, np)

    def make_group(self):
        refusals = ["no hierarchy of control groups that limits memory"]
        for root, limit in groups():
            group = root / f"hopscotch-{os.getpid()}"
            try:
                group.mkdir()
                self.addCleanup(group.rmdir)
                (group / limit).write_text(str(LIMIT))
                return group
            except OSError as error:
                refusals.append(str(error))
        self.skipTest(f"cannot make a control group with a memory limit ({refusals[-1]})")


if __name__ == "__main__":
    unittest.main()
