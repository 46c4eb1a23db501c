#!/usr/bin/env bash
# A warning is an error for developers alone, and with their compilers alone: werror.sh SOURCE CMAKE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"
cmake=$2
script=$(mktemp --suffix .cmake)
trap 'rm -f "$script"' EXIT
# shellcheck disable=SC2016  # CMake's variable
printf 'include(%s)\nmessage("${werror_default}")\n' "$1/cmake/werror.cmake" > "$script"
failed=0

expect() {  # ON|OFF DEVELOPER COMPILER VERSION
    local got
    got=$("$cmake" -DHOPSCOTCH_DEVELOPER="$2" -DCMAKE_CXX_COMPILER_ID="$3" -DCMAKE_CXX_COMPILER_VERSION="$4" \
        -P "$script" 2>&1)
    [[ $got == "$1" ]] || { echo "developer $2, $3 $4: $got instead of $1"; failed=1; }
}
expect ON ON GNU 12.2.0
expect ON ON Clang 16.0.6
expect OFF ON GNU 13.2.0
expect OFF ON Clang 18.1.3
expect OFF OFF GNU 12.2.0
expect OFF "" GNU 12.2.0

# A preset inherits base, unless it says something else.
developers=$("$cmake" --list-presets 2> /dev/null | sed -n 's/^ *"\(.*\)"$/\1/p' | while read -r preset; do
    if "$cmake" --preset "$preset" -N 2> /dev/null | grep -q 'HOPSCOTCH_DEVELOPER.*"ON"'; then echo "$preset"; fi
done | paste -sd ' ')
[[ $developers == "release dev asan tsan coverage odr" ]] || { echo "presets for developers: $developers"; failed=1; }
exit "$failed"
