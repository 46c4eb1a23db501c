#!/usr/bin/env bash
# Counts the cases that the last test run in build/ skipped, by their reasons, and says what would make them run:
# scripts/skips.sh [LOG].
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

# GoogleTest: the line behind "FILE:LINE: Skipped". unittest -v: "... skipped 'REASON'". ctest -V would not tell them apart.
awk '
    reason { print; reason = 0 }
    /: Skipped$/ { reason = 1 }
    / \.\.\. skipped / { sub(/.* \.\.\. skipped ./, ""); sub(/.$/, ""); print }
' "${1:-build/Testing/Temporary/LastTest.log}" | sort | uniq -c | sort -rn | awk '
    { sum += $1; lines = lines "\n" $0; gpus += /GPU|CUDA|CPU build/ ? $1 : 0 }
    END {
        if (sum) print "skipped: " sum " cases, " gpus " of them for a GPU" lines
        if (gpus) print "to run them: a machine with a GPU, and scripts/gpu_check.sh"
        if (sum > gpus) print "to run the others: scripts/setup.sh --tests, which says what it cannot install"
    }'
