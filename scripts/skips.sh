#!/usr/bin/env bash
# Counts the cases that the last test run in build/ skipped, by their reasons: scripts/skips.sh [LOG].
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

# GoogleTest: the line behind "FILE:LINE: Skipped". unittest -v: "... skipped 'REASON'". ctest -V would not tell them apart.
awk '
    reason { print; reason = 0 }
    /: Skipped$/ { reason = 1 }
    / \.\.\. skipped / { sub(/.* \.\.\. skipped ./, ""); sub(/.$/, ""); print }
' "${1:-build/Testing/Temporary/LastTest.log}" | sort | uniq -c | sort -rn |
    awk '{ sum += $1; lines = lines "\n" $0 } END { if (sum) print "skipped: " sum " cases" lines }'
