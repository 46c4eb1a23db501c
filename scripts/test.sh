#!/usr/bin/env bash
# Sets up, builds and runs the tests: scripts/test.sh [--strict] [--long | --sanitize] [ctest's arguments, such as -R mop].
#   --strict    a test fails at its first failure. Else tests that came too late beside others run once more, alone
#               (late_tests.py): if they pass, the run passes, and names them last.
#   --long      runs the long suite, which takes some 25 minutes more (tests/README.md), and then the modules with
#               threads as --sanitize does, unless ctest's arguments choose tests.
#   --sanitize  instead builds the tests of the modules with ASan + UBSan and with TSan.
# With -R it builds only what the chosen tests run.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

strict='' long='' sanitize=''
while [[ "${1:-}" == --strict || "${1:-}" == --long || "${1:-}" == --sanitize ]]; do
    declare "${1#--}=1"
    shift
done

# Programs that only tests use are installed during the build, which needs none of them.
scripts/setup.sh
scripts/setup.sh "--tests${long:+=long}" &
setup_of_tests=$!
trap wait EXIT
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cores=$(env -u OMP_NUM_THREADS nproc)

# How many times as long as on a quiet machine the same work takes on each core: all limits of the tests are longer by that.
measure_patience() {
    python3 - "$cores" << 'PYTHON'
import subprocess, sys, time

work = "sum(i * i for i in range(10_000_000))"  # 0.7 s
start = time.monotonic()
for process in [subprocess.Popen([sys.executable, "-c", work]) for _ in range(int(sys.argv[1]))]:
    process.wait()
print(max(1, round(time.monotonic() - start)))
PYTHON
}

run_ctest() { # name of the files of results, ctest's arguments
    local files=$PWD/build/$1
    shift
    ctest --test-dir build --output-on-failure --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
        --output-junit "$files.xml" "$@" | tee "$files.log"
}

# Once more, alone, if all that failed may have come too late. flaky: their names.
run_again() {
    local names all
    mapfile -t names < <(scripts/late_tests.py build/tests.xml build/tests.log)
    all=$(grep -c 'status="fail"' build/tests.xml)
    [[ ${#names[@]} -gt 0 && ${#names[@]} -eq $all ]] || return 1
    echo "== once more, alone: ${names[*]}"
    run_ctest tests_again "${suite[@]}" -R "^($(IFS='|'; echo "${names[*]//./\\.}"))\$" || return 1
    flaky=("${names[@]}")
}

if [[ -z $sanitize ]]; then
    suite=() targets=() flaky=()
    if [[ -n $long ]]; then
        export HOPSCOTCH_LONG=1
        suite=(-C long)
    fi
    if [[ " $* " == *" -R "* ]]; then
        scripts/build.sh release build.ninja
        mapfile -t targets < <(scripts/test_targets.sh build "$@")
    fi
    scripts/build.sh release "${targets[@]}"
    wait "$setup_of_tests"
    export HOPSCOTCH_TEST_PATIENCE="${HOPSCOTCH_TEST_PATIENCE:-$(measure_patience)}"
    echo "== limits of tests: $HOPSCOTCH_TEST_PATIENCE times those of a quiet machine (HOPSCOTCH_TEST_PATIENCE)"
    # Two tests a core: many of them wait for other processes half of their time.
    result=0 refused=0
    run_ctest tests "${suite[@]}" -j "$((2 * cores))" "$@" || result=$?
    scripts/skips.sh || refused=1
    if [[ $result -ne 0 && -z $strict ]] && run_again; then result=0; fi
    if [[ -n $long && $# -eq 0 ]]; then scripts/test.sh --sanitize -R '^(comm|rundir|view|strategy)\.' || result=$?; fi
    for name in "${flaky[@]}"; do echo "flaky: $name (failed beside others, passed alone)"; done
    exit "$((result ? result : refused))"
fi

wait "$setup_of_tests"
suite=(-R '^(core|comm|data|kernels|schedule|direct|search|rundir|view|analysis|strategy)\.' "$@")
worst=0
for preset in asan tsan; do
    cmake --preset "$preset" > "build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; exit 1; }
    rm -f "build-$preset.log"
    mapfile -t targets < <(scripts/test_targets.sh "build-$preset" "${suite[@]}")
    scripts/build.sh "$preset" "${targets[@]}"
    echo "== $preset"
    ctest --test-dir "build-$preset" --output-on-failure -j "$cores" "${suite[@]}" || worst=$?
done
exit "$worst"
