#!/usr/bin/env bash
# check_page.sh must refuse each of these lines, and accept the last ones.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source "$(dirname "$0")/can_fail.sh" "$1"

expect() {  # 0|1 line; instead of the one for C++
    local code=0
    printf '// A file.\n%s\n' "$2" > "$work/a.js"
    printf 'const given = 3;\n' > "$work/b.js"
    "$check" "$work/b.js" "$work/a.js" > "$work/said" 2>&1 || code=$?
    if [[ $code -eq 77 ]]; then cat "$work/said" && exit 77; fi
    if [[ $code -ne $1 ]] || { [[ $1 -eq 1 ]] && ! grep -q "a.js:2:" "$work/said"; }; then
        echo "$2: exit $code, expected $1: $(cat "$work/said")"
        failed=1
    fi
}

expect 1 'console.log(givn);'
expect 1 'const unused = given;'
expect 1 'console.log(given == "3");'
expect 1 'var old = given; console.log(old);'
expect 1 'for (const given of [1]) console.log(given);'
expect 0 'console.log(given === 3);'
exit "$failed"
