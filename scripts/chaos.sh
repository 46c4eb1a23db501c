#!/usr/bin/env bash
# Runs that are killed, filled up and interrupted at random instants and resumed until they finish: scripts/chaos.sh [ROUNDS [SEED]].
# 200 rounds by default, a quarter of an hour. Prints what happened in each; ends with 1 at the first that came out different.
# scripts/chaos.sh --losses [ROUNDS]: jobs that lose one, then two of four trainers and must finish by themselves.
# scripts/chaos.sh --random [SECONDS [SEED]]: random experiments, each once undisturbed and once disturbed; 600 s by default. Goes on after a failure;
# --random --only SEED/NUMBER [--times N] repeats one of them.
# scripts/chaos.sh --orders [CASES [SEED]]: jobs that are struck as soon as they have acknowledged orders (hopscotch ctl), and must obey them all the
# same; 200 cases by default. Goes on after a failure; --orders --only SEED/NUMBER [--times N] repeats one of them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release hopscotch
export OMP_NUM_THREADS=1 HOPSCOTCH="$PWD/build/hopscotch" HOPSCOTCH_SOURCE="$PWD" HOPSCOTCH_MPIRUN="mpirun --oversubscribe --bind-to none"
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cd tests/e2e
if [[ "${1:-}" == --losses ]]; then
    shift
    exec python3 -B losses.py "$@"
fi
if [[ "${1:-}" == --random ]]; then
    shift
    exec python3 -B random_chaos.py "$@"
fi
if [[ "${1:-}" == --orders ]]; then
    shift
    exec python3 -B order_chaos.py "$@"
fi
exec python3 -B chaos.py "$@"
