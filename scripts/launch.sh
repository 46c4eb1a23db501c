#!/usr/bin/env bash
# Starts a run under mpirun, and ends with the job's own exit code: with --enable-recovery, mpirun 4 returns 0 for all of
# them.
#   launch.sh MPIRUN OPTIONS... -- EXPERIMENT.json [OPTIONS of `hopscotch run`]
#   launch.sh mpirun --enable-recovery -np 5 -- experiment.json --resume && next_step
# Exit codes: 0 finished, 1 failed or without a summary, 2 bad input, 75 interrupted; else that of mpirun.
# HOPSCOTCH: the program; default: build/hopscotch of the repository, or bin/hopscotch of the installation.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOPSCOTCH=${HOPSCOTCH:-$here/../build/hopscotch}
[[ -x $HOPSCOTCH || ! -x $here/../../../bin/hopscotch ]] || HOPSCOTCH=$here/../../../bin/hopscotch

launcher=()
while [[ $# -gt 0 && $1 != -- ]]; do launcher+=("$1"); shift; done
[[ $# -ge 2 && ${#launcher[@]} -gt 0 ]] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
shift

journal() { stat -c '%i %s' "$run_dir/journal.jsonl" 2> /dev/null; }
status() { sed -nE '/"status"/ { s/.*"status": *"([a-z]+)".*/\1/p; q }' "$run_dir/summary.json" 2> /dev/null; }

plan=$("$HOPSCOTCH" run "$@" --dry-run) || exit 2  # it has said why
run_dir=$(sed -n 's/^run dir *//p' <<< "$plan")
before=$(journal)
"${launcher[@]}" "$HOPSCOTCH" run "$@"
code=$?
[[ $code -eq 0 ]] || exit "$code"
state=$(status)
if [[ $(journal) == "$before" ]]; then  # an earlier job has written the status; --resume of a finished run writes nothing
    [[ $state == finished && " $* " == *" --resume "* ]]
    exit
fi
case $state in
    finished) exit 0 ;;
    interrupted) exit 75 ;;
    *) exit 1 ;;
esac
