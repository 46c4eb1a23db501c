#!/usr/bin/env bash
# scripts/test_targets.sh names what tests need, also where nothing is built yet: test_targets.sh SCRIPT BUILD_FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
script=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$build" && find . -name CTestTestfile.cmake -exec cp --parents {} "$folder" \;)
find "$folder" -name CTestTestfile.cmake -exec sed -i "s|$build|$folder|g" {} +

expect() {
    local got
    got=$("$script" "$folder" -R "$1" | tr '\n' ' ')
    if [[ $got != "$2" ]]; then
        echo "-R '$1': \"$got\" instead of \"$2\""
        exit 1
    fi
}
expect '^search' 'search_tests '
expect '^(core|schedule)\.' 'core_tests schedule_tests '
expect '^strategy.np4$' 'strategy_tests '
expect '^e2e.schema$' 'hopscotch plugin_model experiment_verdicts '
expect '^house.layers$' ''
