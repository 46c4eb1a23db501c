#!/usr/bin/env bash
# A run in the terminal: it waits for 4 trainers, and a core for rank 0, which only schedules. Ctrl-C saves the trials and
# stops.
#   slurm/interactive.sh EXPERIMENT.json [options of `hopscotch run`]
# Other resources: SALLOC_PARTITION, SALLOC_ACCOUNT, SALLOC_TIMELIMIT and the like, or the line below.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
HOPSCOTCH=${HOPSCOTCH:-$(dirname "$0")/../build/hopscotch}
[[ -x $HOPSCOTCH ]] || HOPSCOTCH=$(dirname "$0")/../../../bin/hopscotch  # of an installation
export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}  # as launch_with_srun in common.sh
exec salloc --job-name=hopscotch --nodes=1 --ntasks=5 --cpus-per-task=1 --time=01:00:00 \
    srun --mpi=pmix --disable-status "$HOPSCOTCH" run "$@" --resume
