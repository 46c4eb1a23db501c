#!/usr/bin/env bash
# Counts the cases that the last test run in build/ skipped, by their reasons, and says what would make them run:
# scripts/skips.sh [RESULTS.xml]. Not from CTest's LastTest.log, which `ctest -N` empties, also beside a run.
# HOPSCOTCH_REFUSE_SKIPS=1, of CI: exits with 1 if a case was skipped for want of a tool, and not of a GPU or another CPU.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

outputs() {
    python3 -c '
import sys, xml.etree.ElementTree as xml
for case in xml.parse(sys.argv[1]).iter("testcase"):
    said = case.findtext("system-out") or ""
    print(said)
    skipped = case.find("skipped")
    if skipped is not None and "RETURN_CODE" in skipped.get("message", ""):  # a script that ended with 77: its last line
        print(" ... skipped \x27" + (said.strip() or case.get("name")).splitlines()[-1] + "\x27")' "$1"
}

# GoogleTest: the line behind "FILE:LINE: Skipped". unittest -v: "... skipped 'REASON'". ctest -V would not tell them apart.
outputs "${1:-build/tests.xml}" | awk '
    reason { print; reason = 0 }
    /: Skipped$/ { reason = 1 }
    / \.\.\. skipped / { sub(/.* \.\.\. skipped ./, ""); sub(/.$/, ""); print }
' | sort | uniq -c | sort -rn | awk -v refuse="${HOPSCOTCH_REFUSE_SKIPS:-0}" '
    { sum += $1; lines = lines "\n" $0; gpus += /GPU|CUDA|CPU build/ ? $1 : 0; cpus += /CPU with/ ? $1 : 0 }
    END {
        if (sum) print "skipped: " sum " cases, " gpus " of them for a GPU" lines
        if (gpus) print "to run them: a machine with a GPU, and scripts/gpu_check.sh"
        if (cpus) print "to run " cpus " of them: another CPU"
        if (sum <= gpus + cpus) exit 0
        print "to run the others: scripts/setup.sh --tests, which says what it cannot install"
        if (refuse) print "refused: " sum - gpus - cpus " of them (HOPSCOTCH_REFUSE_SKIPS); install the tools that they name"
        exit refuse
    }'
