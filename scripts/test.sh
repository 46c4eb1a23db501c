#!/usr/bin/env bash
# Sets up, builds and runs the tests: scripts/test.sh [--long | --sanitize] [ctest's arguments, such as -R mop].
#   --long      runs the long suite, which takes a quarter of an hour more (tests/README.md).
#   --sanitize  instead builds the tests of core, comm, data, schedule, search and run with ASan + UBSan and with TSan.
# With -R it builds only what the chosen tests run.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

if [[ "${1:-}" != --sanitize ]]; then
    suite=() targets=()
    if [[ "${1:-}" == --long ]]; then
        export HOPSCOTCH_LONG=1
        suite=(-C long)
        shift
    fi
    if [[ " $* " == *" -R "* ]]; then
        scripts/build.sh release build.ninja
        mapfile -t targets < <(scripts/test_targets.sh build "$@")
    fi
    scripts/build.sh release "${targets[@]}"
    # Two tests a core: many of them wait for other processes half of their time.
    result=0
    ctest --test-dir build -j "$((2 * $(env -u OMP_NUM_THREADS nproc)))" --output-on-failure "${suite[@]}" "$@" || result=$?
    scripts/skips.sh
    exit "$result"
fi
shift

modules='core|comm|data|schedule|search|run'
worst=0
for preset in asan tsan; do
    cmake --preset "$preset" > "build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; exit 1; }
    rm -f "build-$preset.log"
    # shellcheck disable=SC2046  # words are wanted
    scripts/build.sh "$preset" $(printf '%s_tests ' ${modules//|/ })
    echo "== $preset"
    ctest --test-dir "build-$preset" --output-on-failure -R "^($modules)\\." "$@" || worst=$?
done
exit "$worst"
