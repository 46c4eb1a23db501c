#!/usr/bin/env bash
# check_shell.sh must refuse each of these lines, and accept the last ones.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source "$(dirname "$0")/can_fail.sh" "$1"

expect() {  # 0|1 line; instead of the one for C++
    local code=0
    printf '#!/usr/bin/env bash\n%s\n' "$2" > "$work/a.sh"
    "$check" "$work" > "$work/said" 2>&1 || code=$?
    if [[ $code -eq 77 ]]; then cat "$work/said" && exit 77; fi
    if [[ $code -ne $1 ]]; then
        echo "$2: exit $code, expected $1: $(cat "$work/said")"
        failed=1
    fi
}

# shellcheck disable=SC2016  # these are texts
{
    expect 1 'rm -rf $1/*'
    expect 1 'for file in $(ls); do echo "$file"; done'
    expect 1 'eval hopscotch run $*'
    expect 1 'echo "$never_set"'
    expect 0 'rm -rf "${1:?}"/build'
    expect 0 'echo "$HOME"'
}
exit "$failed"
