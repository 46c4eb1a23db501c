#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""late_tests.py RESULTS.xml LOG reads what CTest says of a run, and prints the names of the tests that may run once more,
alone: those that failed because something came too late, as it can beside other tests on a busy machine. A crash, a finding
of a sanitizer or a wrong value is never one of them, wherever it stands in the test's output."""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

# The words of a limit: of the tests' own (tests/e2e/limits.py, harness.py) and of the product's.
LATE = re.compile(
    r"no .+ within [\d.]+ s|\bhangs; status|TimeoutExpired|timed out after|has been silent for|"
    r"(?:run\.)?(?:deadline_s|stall_s|silence_s)\b.* sets this limit"
)
WRONG = re.compile(
    r"Sanitizer|runtime error:|Segmentation fault|SIGSEGV|SIGABRT|SIGBUS|SIGFPE|SEGFAULT|aborted|double free|free\(\)|"
    r"corrupt|overrun|terminate called|assertion .* failed|\bhash|differ|damaged",
    re.IGNORECASE,
)
BLOCK = re.compile(r"^(?:(?:FAIL|ERROR): .*|\S+:\d+: Failure)$", re.MULTILINE)  # of unittest, of GoogleTest


ENDED = re.compile(
    r"Test +#\d+: (\S+) \.*\*\*\*(.*?) +[\d.]+ sec", re.MULTILINE
)  # CTest: Failed, Timeout, Exception: SegFault


def is_late(how, output):
    """how: CTest's word. Each failure in the output must be late."""
    if how not in ("Failed", "Timeout") or WRONG.search(output):
        return False
    starts = [found.start() for found in BLOCK.finditer(output)]
    failures = [output[begin:end] for begin, end in zip(starts, [*starts[1:], len(output)])]
    return (how == "Timeout" or bool(failures)) and all(LATE.search(failure) for failure in failures)


def main():
    results, log = sys.argv[1:]  # of the same run: by --output-junit, and all that CTest printed
    ends = dict(ENDED.findall(pathlib.Path(log).read_text(errors="replace")))
    for case in xml.parse(results).getroot().iter("testcase"):
        name = case.get("name")
        if case.get("status") == "fail" and is_late(ends.get(name), case.findtext("system-out") or ""):
            print(name)


if __name__ == "__main__":
    main()
