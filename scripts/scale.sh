#!/usr/bin/env bash
# Measures rank 0 with played trainers: its real courier, director, recorder and run directory, and trainers that answer at
# once and train nothing (tests/scale). Prints one table:
#   scripts/scale.sh [TRAINERS [TRIALS]]        1000 trainers and 4000 trials x 10 epochs take some minutes and 4 GB of disk
#   run      laps that rank 0 took a second, CPU of its thread a lap in the first and in the last tenth; memory of the
#            program, with the prepared run, at the last lap, and at the peak, the report
#   resume   of the directory that `run` left, cut off after half of its journal: seconds until the first lap
#   loss     of one trainer in the middle: seconds until a lap goes out again
#   search   asha, which decides during the run
# SCALE_DIR: where the run directories go (default: a temporary folder, removed at the end).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
trainers=${1:-1000}
trials=${2:-4000}
cmake --build build --target scale_bench > /dev/null
bench=$PWD/build/tests/scale_bench
python=.deps/venv/bin/python3
if [[ -n "${SCALE_DIR:-}" ]]; then
    folder=$SCALE_DIR
    mkdir -p "$folder"
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

row() {  # name, arguments of the bench
    local name=$1
    shift
    "$bench" --trainers "$trainers" --shards "$trainers" "$@" > "$folder/$name.txt" 2> "$folder/$name.err" ||
        { cat "$folder/$name.err" >&2; exit 1; }
    tail -1 "$folder/$name.txt" | "$python" scripts/scale_row.py "$name"
}

printf '%-8s %8s %10s %14s %14s %24s %12s %12s\n' \
    row laps laps/s 'ms a lap' 'last tenth' 'MB: start plan laps peak' 'first lap s' 'after loss s'
row run --trials "$trials" --epochs 10 --laps-per-s 1000 --checkpoints-per-s 67 --dir "$folder/run"
"$python" scripts/scale_row.py --cut "$folder/run/run"
row resume --trials "$trials" --epochs 10 --laps-per-s 1000 --dir "$folder/run" --resume
rm -rf "$folder/run"
row loss --trials "$((trials / 4))" --epochs 10 --laps-per-s 1000 --lose-at 0.5 --dir "$folder/loss"
rm -rf "$folder/loss"
row search --trials "$((trials * 5 / 2))" --epochs 9 --procedure asha --laps-per-s 1000 --dir "$folder/search"
