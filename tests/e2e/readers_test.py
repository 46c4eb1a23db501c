# SPDX-License-Identifier: Apache-2.0
"""A short version of scripts/chaos.sh --readers."""

import pathlib
import tempfile
import unittest

from harness import and_long
from random_experiments import datasets, experiment
from random_readers import check


class Readers(unittest.TestCase):
    def test_random_experiments(self):
        with tempfile.TemporaryDirectory(prefix="hopscotch-readers-") as folder:
            datasets(pathlib.Path(folder) / "data")
            for seed in and_long([1, 6], list(range(14, 24))):
                with self.subTest(seed=seed):
                    place = pathlib.Path(folder) / "work"
                    place.mkdir(exist_ok=True)
                    check(place, experiment(seed))


if __name__ == "__main__":
    unittest.main()
