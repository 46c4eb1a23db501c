#!/usr/bin/env bash
# Lines of each folder of src/ that the default suite runs: scripts/coverage.sh [ctest's arguments]. Builds build-coverage,
# and runs the tests there: half an hour on two cores. A process that is killed leaves no counts.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
scripts/build.sh coverage
find build-coverage -name '*.gcda' -delete
jobs=$(env -u OMP_NUM_THREADS nproc)
ctest --test-dir build-coverage -j "$jobs" --output-on-failure "$@" || echo "coverage: tests failed" >&2

# A file is in several objects: a line is covered if one of them ran it.
find "$PWD/build-coverage/src" -name '*.gcda' -print0 | xargs -0 -n 1 gcov --json-format --stdout 2> /dev/null |
    python3 -B -c '
import collections, json, sys
ran = collections.defaultdict(lambda: collections.defaultdict(bool))
for document in map(json.loads, sys.stdin):
    for file in document["files"]:
        name = file["file"].partition("/src/")[2]
        for line in file["lines"] if file["file"].startswith(sys.argv[1] + "/src/") else ():
            ran[name.partition("/")[0]][name, line["line_number"]] |= line["count"] > 0
ran["all"] = {line: hit for module in list(ran.values()) for line, hit in module.items()}
for module, lines in ran.items():
    print(f"{module:12} {sum(lines.values()):6} of {len(lines):6} lines, {100 * sum(lines.values()) / len(lines):5.1f} %")
' "$PWD"
