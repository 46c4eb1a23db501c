#!/usr/bin/env bash
# Disturbs runs, and checks that their results are the same as undisturbed.
#   scripts/chaos.sh [ROUNDS [SEED]]
#       Kills, fills up and interrupts runs at random instants, and resumes them until they finish. 200 rounds by default, a
#       quarter of an hour. Prints the events of each round. Ends with 1 at the first round with another result.
#   scripts/chaos.sh --losses [ROUNDS]
#       Takes one trainer, then two of four trainers, away from jobs. The jobs must finish by themselves.
#   scripts/chaos.sh --random [SECONDS [SEED]]
#       Runs random experiments, each once undisturbed and once disturbed; 600 s by default. Continues after a failure;
#       --random --only SEED/NUMBER [--times N] repeats one of them.
#   scripts/chaos.sh --orders [CASES [SEED]]
#       Strikes jobs as soon as they have acknowledged orders (hopscotch ctl). The runs must still obey the orders. 200 cases
#       by default. Continues after a failure; --orders --only SEED/NUMBER [--times N] repeats one of them.
#   scripts/chaos.sh --readers FIRST LAST
#       Runs the random experiments of these seeds, undisturbed, and reads each run with every command that reads runs.
#   scripts/chaos.sh --soak [SECONDS [SEED]]
#       One job of an hour with everything at once: orders, lost trainers, standstills, damaged hops, a clock that steps, a
#       disk that is full. Then its bits are replayed, and no process may have grown.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release hopscotch
export OMP_NUM_THREADS=1 HOPSCOTCH="$PWD/build/hopscotch" HOPSCOTCH_SOURCE="$PWD"
export HOPSCOTCH_MPIRUN="mpirun --oversubscribe --bind-to none"
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
if [[ "${1:-}" == --readers ]]; then
    shift
    exec python3 -B random_readers.py "$@"
fi
if [[ "${1:-}" == --soak ]]; then
    shift
    exec python3 -B soak.py "$@"
fi
if [[ "${1:-}" == --orders ]]; then
    shift
    exec python3 -B order_chaos.py "$@"
fi
exec python3 -B chaos.py "$@"
