#!/usr/bin/env bash
# Sets up, builds everything and runs the tests: scripts/test.sh [--sanitize] [ctest's arguments, such as -R mop].
# --sanitize instead builds the tests of core, comm, data, schedule, search and run with ASan + UBSan and with TSan.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

if [[ "${1:-}" != --sanitize ]]; then
    scripts/build.sh release
    exec ctest --test-dir build -j "$(env -u OMP_NUM_THREADS nproc)" --output-on-failure "$@"
fi
shift

modules='core|comm|data|schedule|search|run'
worst=0
for preset in asan tsan; do
    cmake --preset "$preset" > "build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; exit 1; }
    rm -f "build-$preset.log"
    # shellcheck disable=SC2086
    scripts/build.sh "$preset" $(printf '%s_tests ' ${modules//|/ })
    echo "== $preset"
    ctest --test-dir "build-$preset" --output-on-failure -R "^($modules)\\." "$@" || worst=$?
done
exit "$worst"
