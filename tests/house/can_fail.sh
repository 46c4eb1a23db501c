# Sourced by the tests that a check of the sources can fail; $1 is the check.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # `failed` is read by those who source this file
set -euo pipefail
check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() {  # accepted|refused path line
    rm -rf "$work/src"
    mkdir -p "$work/src/$(dirname "$2")"
    echo "$3" > "$work/src/$2"
    local verdict=accepted output
    output=$("$check" "$work/src") || verdict=refused
    if [[ "$verdict" != "$1" || ( "$1" == refused && "$output" != *"$2:1"* ) ]]; then
        echo "$2 with $3: $verdict, expected $1: $output"
        failed=1
    fi
}
