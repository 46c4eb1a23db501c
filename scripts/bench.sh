#!/usr/bin/env bash
# Measures this machine: the training step, hops over each transport, and how busy eight trainers are when 10 MB states hop
# every 100 ms. Takes several minutes; run nothing else meanwhile.
#   scripts/bench.sh [PYTHON]     PYTHON with a full torch: also compares the step with the plain PyTorch loop
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/prepare.sh
export OMP_NUM_THREADS=1
python=${1:-}
launch=(mpirun --oversubscribe --bind-to none)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Interleaved, so that a slow spell of the machine hits both sides. step MODEL SHAPE BATCH [HIDDEN...]
step() {
    local arguments=() hidden=()
    if [[ $# -gt 3 ]]; then
        hidden=(--hidden "${@:4}")
        arguments=(--arguments "{\"hidden\": [$(IFS=,; echo "${*:4}")]}")
    fi
    echo "== step: $*"
    for _ in 1 2 3 4 5; do
        "$hopscotch" bench step --repeats 1 --seconds 2 --model "$1" --shape "$2" --batch "$3" "${arguments[@]}"
        [[ -z "$python" ]] || "$python" scripts/bench_step_pytorch.py --repeats 1 --seconds 2 \
            --model "$1" --shape "$2" --batch "$3" "${hidden[@]}"
    done
}

step mlp 64 32 64
step mlp 784 64 512 256
step logistic 784 64
step cnn 3x32x32 32
step resnet20 3x32x32 32
echo "== augmentation: resnet20 with flip, crop and cutout"
for _ in 1 2 3 4 5; do
    "$hopscotch" bench step --repeats 1 --seconds 2 --model resnet20 --shape 3x32x32
    "$hopscotch" bench step --repeats 1 --seconds 2 --model resnet20 --shape 3x32x32 \
        --augment flip --augment crop --augment cutout
done
echo "== reading rows: in memory, through windows, row by row"
"$hopscotch" bench read

echo "== hops: 100 MB once a second between two computing ranks; memory that changes hands, copies: with CMA, without, TCP"
"${launch[@]}" -np 2 "$hopscotch" bench comm
"${launch[@]}" -np 2 "$hopscotch" bench comm --copy
"${launch[@]}" --mca btl_vader_single_copy_mechanism none -np 2 "$hopscotch" bench comm --copy --repeats 2
"${launch[@]}" --mca btl tcp,self -np 2 "$hopscotch" bench comm --copy --repeats 2

echo "== synthetic: 8 trials on 8 trainers, units of 100 ms, states of 10 MB"
"$hopscotch" data import csv data/digits.csv --out "$scratch/digits8" --shards 8 --label label --shape 1x8x8 \
    > "$scratch/import.log"
for _ in 1 2 3; do
    "${launch[@]}" -np 9 "$hopscotch" run configs/synthetic.json --quiet --overwrite --set data.path="$scratch/digits8" \
        --set run.dir="$scratch/run" --set train.batch_size=45 | grep -E "^(finished|makespan)"
    grep -A3 -E '"(unit_gap_ms|hop_ms)"' "$scratch/run/summary.json" | tr -d '\n '
    echo
done
