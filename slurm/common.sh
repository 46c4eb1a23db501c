# The templates of this folder source this file. It starts `hopscotch run --resume`, passes Slurm's warning before the time
# limit on, and puts a job that has not finished back into the queue. A template or the environment may set:
#   HOPSCOTCH_HOME       the repository, or share/hopscotch below an installation; default: the folder of sbatch
#   HOPSCOTCH            the binary; default: build/hopscotch of the repository, or bin/hopscotch of the installation
#   HOPSCOTCH_LAUNCHER   srun (default) or mpirun
#   HOPSCOTCH_REQUEUES   how often a job may go back into the queue; default 0, never
# Exit codes of the job: 0 finished, 1 failed, 2 bad input, 75 interrupted: the same sbatch continues the run.
# SPDX-License-Identifier: Apache-2.0
HOPSCOTCH=${HOPSCOTCH:-$HOPSCOTCH_HOME/build/hopscotch}
[[ -x $HOPSCOTCH || ! -x $HOPSCOTCH_HOME/../../bin/hopscotch ]] || HOPSCOTCH=$HOPSCOTCH_HOME/../../bin/hopscotch

say() { echo "[slurm job $SLURM_JOB_ID, restarts ${SLURM_RESTART_COUNT:-0}] $*" >&2; }

# hopscotch_job EXPERIMENT [OPTIONS of `hopscotch run`]
hopscotch_job() {
    [[ -f ${1:-} ]] || { say "no experiment '${1:-}': sbatch TEMPLATE EXPERIMENT.json [OPTIONS]"; exit 2; }
    local plan before ends_before launcher code=0 as_launched=()
    ((${SLURM_NTASKS:-1} == 1)) || as_launched=(--processes "$SLURM_NTASKS")
    plan=$("$HOPSCOTCH" run "$@" --resume --dry-run "${as_launched[@]}") || exit 2  # bad input: it has said why
    run_dir=$(sed -n 's/^run dir *//p' <<< "$plan")
    before=$(progress)
    ends_before=$(ends)
    # Without these two bash would die of the signals; with them it acts on them as soon as its `wait` returns.
    trap 'say "told to stop soon"; kill -USR1 "$launcher"' USR1
    trap 'ending=yes' TERM
    unset SLURM_NTASKS_PER_NODE  # the most that a node gets: srun warns when it is not the same for all
    "launch_with_${HOPSCOTCH_LAUNCHER:-srun}" "$@" --resume &
    launcher=$!
    [[ ${HOPSCOTCH_LAUNCHER:-srun} == srun ]] || end_when_ended "$launcher" "$ends_before" &
    while kill -0 "$launcher" 2> /dev/null; do wait "$launcher"; done
    wait "$launcher" || code=$?
    conclude "$code" "$before" "$ends_before"
}

# With Slurm's default fence, a rank may leave it before the others have come, and MPI_Init crashes (docs/decisions/0074).
launch_with_srun() {
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
    exec srun --mpi=pmix --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" "$HOPSCOTCH" run "$@"
}

# mpirun by itself fills one node after the other; it shall start as many ranks on each as srun does.
launch_with_mpirun() {
    local hosts
    hosts=$(srun --mpi=none printenv SLURMD_NODENAME | sort -V | uniq -c |
        awk '{ printf "%s%s:%s", comma, $2, $1; comma = "," }')
    exec mpirun -host "$hosts" --bind-to none "$HOPSCOTCH" run "$@"
}

# mpirun may outlive its ranks when a node was lost, although the run has finished without that node. $2 says how often the
# run had ended before.
end_when_ended() {
    while kill -0 "$1" 2> /dev/null; do
        sleep 5
        # It takes two TERM to end it, and where it waits for a lock of its own, more than that.
        (($(ends) <= $2)) || { sleep 5; kill -TERM "$1"; sleep 1; kill -TERM "$1"; sleep 5; kill -KILL "$1"; } 2> /dev/null
    done
}

# finished, interrupted, failed; empty while it runs and if it was killed.
status() { sed -nE '/"status"/ { s/.*"status": *"([a-z]+)".*/\1/p; q }' "$run_dir/summary.json" 2> /dev/null; }

# How often a job on this run has come to its end, whatever that was.
ends() {
    local count
    count=$(grep -cE '"event":"run_ended"' "$run_dir/journal.jsonl" 2> /dev/null) || true
    echo "${count:-0}"
}

# How many starts in a row have come to their end and saved nothing.
idle_starts() {
    awk '/"event":"(lap_done|checkpoint)"/ { saved = 1; idle = 0 }
        /"event":"run_ended"/ { idle += !saved; saved = 0 }
        END { print idle + 0 }' "$run_dir/journal.jsonl" 2> /dev/null || true
}

# An orderly end that has saved nothing may be a signal at a bad time. Twice in a row, it has a cause that stays, such as a
# full disk or a time limit that is too short.
may_go_on() {
    local code=$1 before=$2 ends_before=$3 after=$4 idle
    ((after <= before)) || return 0
    idle=$(idle_starts)
    ((code == 75 && $(ends) > ends_before && ${idle:-0} < 2))
}

# How much has been saved for good.
progress() { grep -cE '"event":"(lap_done|checkpoint)"' "$run_dir/journal.jsonl" 2> /dev/null || true; }

# Slurm kills the whole step when one rank dies, so the launcher's exit code alone does not tell what became of the run.
conclude() {
    local code=$1 before=${2:-0} ends_before=$3 after state
    state=$(status)
    after=$(progress)
    after=${after:-0}
    [[ $code != 2 ]] || exit 2
    [[ $state != finished ]] || exit 0
    say "hopscotch ended with $code, status ${state:-unknown};" \
        "saved so far: $after laps and checkpoints, $before at the start"
    [[ $state != failed ]] || exit 1
    # Cancelled, past its limit, or requeued by Slurm itself: that is Slurm's decision.
    [[ -z ${ending:-} ]] || exit 75
    if ((${SLURM_RESTART_COUNT:-0} >= ${HOPSCOTCH_REQUEUES:-0})); then
        say "not requeued (HOPSCOTCH_REQUEUES is ${HOPSCOTCH_REQUEUES:-0}); the same sbatch continues the run"
    elif may_go_on "$code" "$before" "$ends_before" "$after"; then
        requeue
    elif ((code == 75)); then
        say "not requeued, since nothing was saved in this start (is the disk full, or the time limit too short?);" \
            "the same sbatch continues the run"
    else
        say "not requeued, since it would only crash again: nothing was saved in this start"
    fi
    ((code != 0)) || code=75  # of a launcher that lost its ranks
    exit "$code"
}

requeue() {
    local id=$SLURM_JOB_ID job
    # The id of an array's last task is the array's own: with it all tasks would be requeued.
    [[ -z ${SLURM_ARRAY_JOB_ID:-} ]] || id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
    # The script may live on on a node that Slurm has lost: it must not stop the job that has taken over.
    job=$(scontrol -o show job "$id")
    if [[ $job == *" Restarts="* && $job != *" Restarts=${SLURM_RESTART_COUNT:-0} "* ]]; then
        say "Slurm has put this job back into the queue by itself (a lost node?)"
    elif [[ -z $job ]] || ! scontrol requeue "$id"; then
        say "could not be requeued; the same sbatch continues the run"
    fi
}

[[ -x $HOPSCOTCH ]] || {
    say "no program $HOPSCOTCH: call sbatch in Hopscotch's folder, or set HOPSCOTCH_HOME or HOPSCOTCH"
    exit 2
}
