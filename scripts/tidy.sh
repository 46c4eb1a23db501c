#!/usr/bin/env bash
# Runs clang-tidy 19.1.0.1 with .clang-tidy over the sources that changed; ends with 1 if it has anything to say.
#   scripts/tidy.sh [BASE]       .cpp files that differ from BASE, and those of headers that do. Default: where the branch
#                                left main; on main itself HEAD~1.
#   scripts/tidy.sh FILE.cpp...  these files
# A file takes 5 to 60 s. Files run side by side, one per core.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

tidy=.deps/venv/bin/clang-tidy
if [[ ! -x $tidy ]]; then
    echo "tidy: $tidy is missing; scripts/setup.sh installs it" >&2
    exit 77
fi

changed() {  # against the base, and what git does not know yet
    local base=${1:-}
    [[ -n "$base" ]] || base=$(git merge-base HEAD main)
    [[ "$base" != "$(git rev-parse HEAD)" || -n "${1:-}" ]] || base=HEAD~1
    echo "tidy: files that differ from $(git log -1 --format='%h %s' "$base")" >&2
    git diff --name-only --diff-filter=d "$base"
    git ls-files --others --exclude-standard
}
if [[ $# -gt 0 && -f "$1" ]]; then
    given=("$@")
else
    list=$(changed "$@")
    mapfile -t given <<< "$list"
fi
mapfile -t files < <(for file in "${given[@]}"; do
    source=${file%.hpp}
    source=${source%.cpp}.cpp
    [[ "$file" =~ ^src/.*\.(hpp|cpp)$ && -f "$source" && "$source" != src/tensor/gpu/cuda_* ]] && echo "$source"
done | sort -u)
if [[ ${#files[@]} -eq 0 ]]; then
    echo "tidy: no sources in src/ to look at"
    exit 0
fi

# Only for its list of commands: nothing is compiled but the header with the version.
build="build-tidy"
cmake --preset dev -B "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DHOPSCOTCH_TESTS=OFF > /dev/null
cmake --build "$build" --target hopscotch_version > /dev/null

# clang does not know all of g++'s warnings; "N warnings generated" counts those in foreign headers.
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$tidy" -p "$build" --quiet --warnings-as-errors='*' \
        --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations \
        2> >(grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated' >&2) || {
    echo "tidy: see above (${#files[@]} files)" >&2
    exit 1
}
echo "tidy: nothing to say about ${#files[@]} files"
