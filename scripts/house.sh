#!/usr/bin/env bash
# Prints the numbers of the house, each with its bar and the places that break it; ends with 1 if a bar is broken.
#   scripts/house.sh          all numbers
#   scripts/house.sh --rest   without those that are tests of their own: layers, names, odr, format
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.deps/venv/bin
if ! "$tools/python3" -c 'import lizard' 2> /dev/null; then
    echo "house: $tools has no lizard; scripts/setup.sh installs it" >&2
    exit 77
fi

worst=0
count() {  # what, command: prints how many lines of the command's output match file:line, and these lines
    local what=$1 output lines
    shift
    output=$("$@" 2>&1) || worst=1
    lines=$(grep -E '^[^ :]+:[0-9]+:' <<< "$output" || true)
    printf '%-44s %5d   (bar 0)\n' "$what" "$(grep -c . <<< "$lines" || true)"
    [[ -z "$lines" ]] || printf '    %s\n' "${lines//$'\n'/$'\n'    }"
}

# shellcheck disable=SC2317  # count calls it
formatted() {  # the first place of each file that differs, as file:line:
    scripts/format.sh --check 2>&1 |
        sed -nE 's/^([^ :]+):([0-9]+):[0-9]+: error.*/\1:\2: differs/p; s/^--- (.*)$/\1:1: differs/p' | sort -t: -u -k1,1
    return "${PIPESTATUS[0]}"
}

if [[ "${1:-}" != --rest ]]; then
    count "includes against the layers" scripts/check_layers.sh
    count "names compared outside their table" scripts/check_names.sh
    count "names that are defined twice" python3 -B scripts/check_odr.py
    count "files that differ from the formatters" formatted
fi
"$tools/python3" scripts/house_numbers.py || worst=1
exit "$worst"
