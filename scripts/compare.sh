#!/usr/bin/env bash
# Every strategy on one dataset with the same trials, then one table: time, bytes, storage, memory and accuracy.
#   scripts/compare.sh [--trainers N] [--set path=value]...
# Trainers are processes of this machine (N = 4 unless told). On a cluster run configs/compare-*.json with your launcher and call
# `hopscotch compare runs/compare-*` yourself.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
trainers=4
settings=()
while [[ $# -gt 0 ]]; do
    case "$1" in
        --trainers) trainers=$2; shift 2 ;;
        --set) settings+=(--set "$2"); shift 2 ;;
        *) sed -n '2,6p' "$0"; exit 2 ;;
    esac
done
scripts/build.sh > /dev/null
export OMP_NUM_THREADS=1
launch=(mpirun --oversubscribe --bind-to none -np $((trainers + 1)))
[[ $(id -u) != 0 ]] || launch+=(--allow-run-as-root)
runs=()
for strategy in mop task-parallel model-averaging allreduce parameter-server parameter-server-async; do
    echo "== $strategy" >&2
    "${launch[@]}" build/hopscotch run "configs/compare-$strategy.json" --quiet --overwrite "${settings[@]}" > /dev/null
    runs+=("runs/compare-$strategy")
done
build/hopscotch compare "${runs[@]}"
