#!/usr/bin/env bash
# Checks the script of the report's page with Oxlint: names that are not defined or not used, values that are lost,
# comparisons that convert. Its files share one scope, so they are checked as one text.
#   scripts/check_page.sh [FILE ...]   by default the page and what tests/e2e adds to it
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
check=$PWD/.deps/venv/bin/oxlint
if [[ ! -x $check ]]; then
    echo "check_page: ${check#"$PWD"/} is missing; scripts/setup.sh installs it" >&2
    exit 77
fi
files=("$@")
if [[ $# -eq 0 ]]; then
    files=(src/report/page/elements.js)  # "use strict" comes first
    for file in src/report/page/*.js tests/e2e/*.js; do [[ $file == */elements.js ]] || files+=("$file"); done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/rules.json" << 'END'
{"env": {"browser": true, "es2024": true}, "globals": {"SECTIONS_EXPECTED": "readonly"},
 "categories": {"correctness": "error", "suspicious": "error"},
 "rules": {"no-undef": "error", "no-unused-vars": "error", "eqeqeq": "error", "no-var": "error", "prefer-const": "error",
           "no-shadow": "error", "unicorn/consistent-function-scoping": "off", "unicorn/no-array-sort": "off"}}
END
cat "${files[@]}" > "$work/page.js"
code=0
"$check" --config "$work/rules.json" --format unix "$work/page.js" > "$work/said" || code=$?
# "FILE:LINE:" of the files instead of the whole text.
wc -l "${files[@]}" | awk -v whole="$work/page.js:" '
    FNR == NR && $2 != "total" { first[++count] = sum; name[count] = $2; sum += $1; next }
    FNR == NR { next }
    index($0, whole) == 1 {
        rest = substr($0, length(whole) + 1); line = rest + 0
        for (i = count; line <= first[i]; --i) {}
        sub(/^[0-9]+/, name[i] ":" line - first[i], rest); print rest; next
    }
    { print }' - "$work/said"
exit "$code"
