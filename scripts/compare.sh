#!/usr/bin/env bash
# Runs every strategy on the digits with the same trials. Then prints one table: time, bytes, storage, memory and accuracy.
#   scripts/compare.sh [--trainers N] [--set path=value]...
# Trainers are processes of this machine (N = 4 by default). Like quickstart.sh, the script first sets up, builds and imports
# if needed. On a cluster, run configs/compare-*.json with your launcher, then call `hopscotch compare runs/compare-*`.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '2,5p' "$0" >&2; exit 2; }
trainers=4
settings=()
while [[ $# -gt 0 ]]; do
    [[ $# -ge 2 ]] || usage
    case "$1" in
        --trainers) trainers=$2 ;;
        --set) settings+=(--set "$2") ;;
        *) usage ;;
    esac
    shift 2
done
[[ $trainers =~ ^[1-9][0-9]*$ ]] || usage
source scripts/prepare.sh >&2
export OMP_NUM_THREADS=1
launch=(mpirun --oversubscribe --bind-to none -np $((trainers + 1)))
runs=()
for strategy in mop task-parallel model-averaging allreduce parameter-server parameter-server-async; do
    echo "== $strategy" >&2
    "${launch[@]}" "$hopscotch" run "configs/compare-$strategy.json" --quiet --overwrite "${settings[@]}" > /dev/null
    runs+=("runs/compare-$strategy")
done
"$hopscotch" compare "${runs[@]}"
