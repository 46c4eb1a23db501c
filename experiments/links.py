"""Trainers on hosts of their own, with links of a given rate.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess

from job import SOURCE, Missing

HOSTS = SOURCE / "tests/hosts/hosts.sh"
RATE, BYTES_PER_S = "100mbit", 12.5e6
OWN = {**os.environ, "HOPSCOTCH_HOSTS": "hse"}  # beside the hosts of tests
NEEDS = "root, iproute2 and mpirun, because every trainer is a host (a network namespace) with a link of its own"


class Links:
    """So many hosts, each with a link of 100 Mbit/s, until the end of the block. In small sizes trainers are threads: the
    tests do not make hosts, and only bytes are evidence."""

    def __init__(self, job, hosts):
        self.job, self.hosts = job, hosts if job.size == "full" else 0

    def __enter__(self):
        if not self.hosts:
            return self
        if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "unshare", "mpirun"))):
            raise Missing(f"needs {NEEDS}")
        hosts("down")  # of a start that was killed
        try:
            hosts("up", self.hosts)
            hosts("rate", RATE)
        except RuntimeError as error:
            raise Missing(f"needs {NEEDS}: {error}") from error
        return self

    def __exit__(self, *_):
        if self.hosts:
            hosts("down")

    def run(self, experiment, trainers, **options):
        """Like Job.run. The trainers include servers; rank 0 has a host, too."""
        if not self.hosts:
            return self.job.run(experiment, trainers, **options)
        return self.job.run(experiment, trainers, launcher=[HOSTS, "run", trainers + 1], environment=OWN, **options)


def hosts(*words):
    done = subprocess.run([HOSTS, *map(str, words)], env=OWN, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"hosts.sh {' '.join(map(str, words))} failed: {done.stderr[-2000:]}")
