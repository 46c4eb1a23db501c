#!/usr/bin/env bash
# Prints the targets that tests need: scripts/test_targets.sh BUILD_FOLDER [ctest's arguments, such as -R mop].
# From CTest's files, because `ctest --show-only` leaves out the commands of programs that are not built yet.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(cd "$1" && pwd)
shift

# The programs in the folder that these tests name in their commands and environment, and what else e2e tests load or start.
words=$(ctest --test-dir "$build" -N "$@" | sed -n 's/^ *Test *#[0-9]*: \(.*\)$/[=[\1]=]\n(\1 /p' |
    grep -rhF -f - --include=CTestTestfile.cmake "$build" | tr -c 'A-Za-z0-9_./-' '\n' | grep "^$build/" | sort -u || true)
sed -n "s|^$build/tests/\([a-z_]*\)\$|\1|p" <<< "$words" | while read -r name; do
    [[ -d $build/tests/$name ]] || echo "$name" # else the folder of a module
done
! grep -q "^$build/hopscotch\$" <<< "$words" || printf 'hopscotch\nplugin_model\nexperiment_verdicts\n'
