#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads CTest's results (--output-junit FILE) and prints the names of the tests that may run once more, alone: those that
failed because something came too late, as it can beside other tests on a busy machine. A crash, a finding of a sanitizer
or a wrong value is never one of them, wherever it stands in the test's output."""

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


def is_late(message, output):
    """message: CTest's own, such as "Timeout" or "SEGFAULT". Each failure in the output must be late."""
    if WRONG.search(message) or WRONG.search(output):
        return False
    starts = [found.start() for found in BLOCK.finditer(output)]
    failures = [output[begin:end] for begin, end in zip(starts, [*starts[1:], len(output)])]
    if message.startswith("Timeout"):
        return all(LATE.search(failure) for failure in failures)
    return bool(failures) and all(LATE.search(failure) for failure in failures)


def failed(path):
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") == "fail":
            failure = case.find("failure")
            output = case.findtext("system-out") or ""
            yield case.get("name"), failure.get("message", "") if failure is not None else "", output


def main():
    for name, message, output in failed(sys.argv[1]):
        if is_late(message, output):
            print(name)


if __name__ == "__main__":
    main()
