#!/usr/bin/env bash
# From nothing to a leaderboard: sets up, builds, imports data/digits.csv and trains configs/digits-grid.json with a
# trainer per core (at most 4) under mpirun. A second call takes only the time of the run.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/prepare.sh

trainers=$(nproc)
(( trainers > 4 )) && trainers=4
# Rank 0 schedules and sleeps most of the time, so it shares a core with a trainer.
exec mpirun -np $((trainers + 1)) --oversubscribe --bind-to none "$hopscotch" run configs/digits-grid.json --overwrite "$@"
