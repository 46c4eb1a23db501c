#!/usr/bin/env bash
# Configures a preset once and builds it: scripts/build.sh PRESET [TARGET...]. Runs one job per core, or fewer if memory is
# short (a file that includes LibTorch takes up to 1.5 GB).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?"usage: scripts/build.sh PRESET [TARGET...]"}
shift
folder=build
[[ "$preset" == release ]] || folder="build-$preset"

jobs=$(env -u OMP_NUM_THREADS nproc)
memory_jobs=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
(( memory_jobs < jobs )) && jobs=$memory_jobs
(( jobs < 1 )) && jobs=1

# A configuration that failed half way leaves a cache but no build.ninja; one from another place cannot be used.
if ! grep -qsF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt" || [[ ! -f "$folder/build.ninja" ]]; then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
    cmake --preset "$preset"
fi
targets=()
[[ $# -eq 0 ]] || targets=(--target "$@")
cmake --build "$folder" -j "$jobs" "${targets[@]}"
