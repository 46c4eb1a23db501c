# SPDX-License-Identifier: Apache-2.0
"""Rounds of chaos: a round is drawn by its name SEED/NUMBER, and runs in a folder of its own beside data/. As many at once
as there are cores."""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
from typing import Callable, NamedTuple

from random_outcome import Different

KEPT = 10  # folders of failures
LOCK = threading.Lock()
FIRST = ("experiments", "refused", "jobs", "kills", "orders", "acknowledged", "failures", "hangs", "leftovers")


class Failure(Exception):
    pass


class Refused(Exception):
    pass


class Place(NamedTuple):
    """Where rounds of a kind run, and what they count together."""

    folder: pathlib.Path
    counts: collections.Counter


class Kind(NamedTuple):
    mode: str  # scripts/chaos.sh --MODE runs this kind
    make: Callable  # of name, folder, counts, document and plan: a round


def one(name, kind, place, document=None, plan=None):
    """A verdict (same, refused, FAILED) and what there is to say. The folder of a failure is kept, of the first few at
    least."""
    counts = place.counts
    with LOCK:
        counts["begun"] += 1
        folder = place.folder / f"{name.replace('/', '-')}-{counts['begun']}"
    began, own = time.monotonic(), collections.Counter()
    verdict, why, this = "same", "", kind.make(name, folder, own, document, plan)
    try:
        this.run()
    except Refused as refused:
        verdict, why = "refused", f": {refused}"
    except Exception as failure:  # a file that is missing or no JSON, too
        error = "" if isinstance(failure, (Failure, Different)) else f"{type(failure).__name__}: "
        verdict, why = (
            "FAILED",
            f": {error}{failure}\n  folder: {folder}\n  again: scripts/chaos.sh --{kind.mode} --only {name}",
        )
    own.update({"same": ["experiments"], "refused": ["refused"], "FAILED": ["experiments", "failures"]}[verdict])
    with LOCK:
        counts.update(own)
        kept = verdict == "FAILED" and counts["failures"] <= KEPT
    if not kept:
        shutil.rmtree(folder)
    return verdict, f"{name} ({time.monotonic() - began:.1f} s; {'; '.join(this.story)}){why}"


def main(about, kind, datasets, by, default):
    """by: what the first argument counts, seconds or cases."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(by, type=float, nargs="?", default=default)
    parser.add_argument("seed", nargs="?", default="0")
    parser.add_argument("--only", metavar="SEED/NUMBER")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix=f"hopscotch-{kind.mode}-"))
    datasets(place / "data")
    began, counts, numbers = time.monotonic(), collections.Counter(), itertools.count()
    count = options.times if options.only else int(options.cases) if by == "cases" else None

    def rounds():
        for number in numbers:
            if number >= count if count is not None else time.monotonic() >= began + options.seconds:
                return
            verdict, told = one(options.only or f"{options.seed}/{number}", kind, Place(place, counts))
            print(f"{verdict} {told}", flush=True)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for each in [pool.submit(rounds) for _ in range(len(os.sched_getaffinity(0)))]:
            each.result()
    print(
        f"{kind.mode} chaos: {', '.join(f'{counts[name]} {name}' for name in FIRST)}, {time.monotonic() - began:.0f} seconds"
    )
    for name in sorted(set(+counts) - set(FIRST) - {"begun"}):
        print(f"  {counts[name]} {name}")
    if not counts["failures"]:
        shutil.rmtree(place)
    sys.exit(1 if counts["failures"] else 0)
