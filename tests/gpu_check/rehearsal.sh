#!/usr/bin/env bash
# scripts/gpu_bundle.sh and scripts/gpu_check.sh from end to end without a GPU: every phase on the device cpu, from the
# packed programs alone. Each row must be there, and a row that fails must harm no other: rehearsal.sh SOURCE BUILD PYTHON
# The phases zoo, runs and busy take most of the time, so they belong to the long suite.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$1 build=$2 python=$3
for tool in objdump strip ldd; do
    command -v "$tool" > /dev/null || { echo "rehearsal: no $tool here"; exit 77; }
done
libtorch=$("$build/hopscotch" --version | sed -nE 's/.*LibTorch ([0-9.]+).*/\1/p')
find_torch='import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])'
pytorch=$("$python" -c "$find_torch" 2> /dev/null || true)
if ! grep -q "^__version__ = '${libtorch//./\\.}" "$pytorch/version.py" 2> /dev/null; then
    echo "rehearsal: $python has no PyTorch $libtorch, which $build is built with"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
complain() { echo "$1"; failed=1; }

XZ_OPT=-0 "$source/scripts/gpu_bundle.sh" bundle --build "$build" --no-mpi
check() { PYTHON=$python "$source/scripts/gpu_check.sh" --prebuilt bundle --device cpu --small --results "$1" "${@:2}"; }
phases=(smoke steps sanitize)
if [[ ${HOPSCOTCH_LONG:-} == 1 ]]; then phases=(smoke zoo steps runs busy sanitize); fi
check all "${phases[@]}" > said 2>&1 || complain "gpu_check.sh ended with $?"
cat said
! grep -E 'FAILED|MISSED' all/rows.txt || complain "rows of a rehearsal that say FAILED or MISSED"

has() { [[ " ${phases[*]} " == *" $1 "* ]]; }  # PHASE
rows() {  # NUMBER REGEX
    local found
    found=$(grep -cE "^$2" all/rows.txt || true)
    [[ $found -eq $1 ]] || complain "$found rows like '$2' instead of $1"
}
rows 1 machine
rows 1 'GPU  '
rows 1 PyTorch
rows 1 'versions .*hopscotch'
rows 1 doctor
labelled=$(ctest --test-dir "$build" -N -L '^gpu$' | grep -c 'Test *#')
[[ $labelled -ge 5 && $labelled -eq $(wc -l < "$build/gpu_tests.txt") ]] || complain "$labelled tests are labelled gpu"
rows $((labelled - 1)) 'test: .* passed, [0-9]+ skipped in'
if has zoo; then
    rows 17 'zoo: [a-z].*cpu fp32 loss .* equal bits: yes.* bf16 .* equal bits: yes'
fi
rows 10 'step: .* rows/s.*, step .* ms, cpu .* ms \([0-9]+%\), feeding alone'
rows 2 'step: .* bar (3,500 rows/s|5%): not judged'
rows 6 'beside PyTorch: '
if has runs; then
    rows 5 'digits, replayed bit for bit .* equal'
    rows 1 'a device that breaks .* the user reads: index out of range in self'
    rows 1 'mop on 2 trainers = sequential .* 3 of 3 trials have equal states, bar all: met'
fi
if has busy; then
    rows 2 'GPU busy: mop, .* bar 97 %: not judged'
    rows 2 'parts of a unit, ms: .* units of .* ms: [a-z]+ [0-9]'
    rows 2 'graphs refused: .* none'
    rows 1 'hop between two trainers .* ms for .* MB, .*bar 10 ms: not judged'
fi
for check in memcheck racecheck; do rows "$(grep -c kernels "$build/gpu_tests.txt")" "$check: "; done
rows "${#phases[@]}" '[a-z]*: all of it '
files=(smoke.log)
if has busy; then files+=(zoo.log runs.log busy.log trace-1.json trace-2.json); fi
for file in "${files[@]}"; do
    [[ -s all/$file ]] || complain "$file is not among the results"
done

# A program that is not there, and a phase that breaks off.
tar --extract --file bundle/programs.tar.* --directory bundle
rm bundle/programs.tar.*
program=$(cut -d' ' -f1 bundle/tests/gpu_tests.txt | sort -u | head -1)
rm "bundle/tests/$program"
code=0
check broken smoke sanitize > said 2>&1 || code=$?
[[ $code -eq 1 ]] || complain "without $program the exit code is $code"
grep -qE "^test: .*${program%_tests}.* FAILED: exit code 127" broken/rows.txt ||
    complain "no row says that $program is missing"
grep -qE '^test: .* passed' broken/rows.txt || complain "tests of other programs were not run"
rm bundle/tests/gpu_tests.txt
code=0
check broken smoke sanitize > said 2>&1 || code=$?
grep -qE '^smoke .*FAILED: the phase broke off' broken/rows.txt || complain "no row says that a phase broke off"
grep -qE '^sanitize: all of it' broken/rows.txt || complain "the phase behind it was not run"

# What cannot be run at all.
wanted() {  # TEXT OPTION...
    local code=0
    "$source/scripts/gpu_check.sh" "${@:2}" > said 2>&1 || code=$?
    if [[ $code -ne 2 ]] || ! grep -q "$1" said; then complain "gpu_check.sh ${*:2}: $code, $(tail -1 said)"; fi
}
wanted "is not a bundle" --prebuilt "$work/all" smoke
wanted "neither --prebuilt nor --bundle" smoke
wanted "phase      takes" --prebuilt bundle
printf '#!/bin/sh\nexit 1\n' > no_torch
chmod +x no_torch
PYTHON=$work/no_torch wanted "has no torch; install PyTorch 2.11" --prebuilt bundle smoke
sed -i -E 's/LibTorch [0-9.]+/LibTorch 2.0.1/' bundle/version
PYTHON=$python wanted "and these programs are built with 2.0.1; set PYTHON" --prebuilt bundle smoke
exit "$failed"
