# The phases runs and busy of scripts/gpu_check.sh, which sources this file: whole runs on the device.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # its variables and functions

# The run and its replay: every unit's state is computed again and compared by hash.
run_digits() {  # SETTING [options of hopscotch run]
    local launch=()
    [[ $1 != *mpirun ]] || launch=(mpirun --oversubscribe -np 3)
    local busy title="digits, replayed bit for bit"
    tried "$title" "$1" 100 "${launch[@]}" "$hopscotch" run e.json --quiet --overwrite "${@:2}" || return 0
    busy=$(grep -oE 'trainers busy [0-9]+ %' "$scratch/said" | tail -1)
    tried "$title" "$1" 60 "$hopscotch" replay out || return 0
    row "$title" "$1" "equal, $busy"
}

# A kernel that reads beyond its table ends the use of a GPU by its process. The reason has to come from the trainer to the
# user. On a CPU the same model fails alone.
breaking() {
    local title="a device that breaks" setting="index out of range" code=0 told expected
    expected='cannot be used any more by this process'
    [[ $device != cpu ]] || expected='index out of range in self'
    "$python" scripts/gpu_rows.py breaking examples/torchscript_model.pt "$scratch/breaking.pt"
    sed 's/"model": {[^}]*}/"model": {"name": "torchscript", "file": "breaking.pt"}/' "$scratch/e.json" > "$scratch/b.json"
    (cd "$scratch" && ours 60 "$hopscotch" run b.json --quiet --trainers 1 --set run.dir=breaks > said 2>&1) || code=$?
    { echo "== $title $setting: exit code $code"; cat "$scratch/said"; } >> "$log"
    told=$(grep -oF "$expected" "$scratch/said" | head -1 || true)
    if [[ $code -ne 0 && -n $told ]]; then
        row "$title" "$setting" "the user reads: $told"
    else
        row "$title" "$setting" "FAILED: exit code $code, and no reason"
    fi
}

phase_runs() {
    tried "digits" "import" 30 "$hopscotch" data import csv "$PWD/data/digits.csv" --out digits --shards 4 --valid 0.2 \
        --shape 1x8x8 --label label || return 0
    cat > "$scratch/e.json" << END
{"data": {"path": "digits"}, "model": {"name": "cnn", "channels": [16, 32], "dropout": 0.1},
 "run": {"dir": "out", "device": "$device"},
 "train": {"epochs": $(sized 3 1), "batch_size": 32, "optimizer": {"name": "adam", "lr": 0.01}},
 "space": {"train.optimizer.lr": [0.003, 0.01, 0.03]}}
END
    run_digits "mop, 1 trainer" --trainers 1
    run_digits "mop, 2 trainers, 1 GPU" --trainers 2
    run_digits "mop, 2 trainers, mpirun"
    run_digits "task_parallel" --trainers 2 --strategy task_parallel
    run_digits "allreduce" --trainers 2 --strategy allreduce
    # Each trial by two trainers and by one alone: the same bits.
    local title="mop on 2 trainers = sequential"
    tried "$title" "digits" 60 "$hopscotch" run e.json --quiet --overwrite --trainers 2 --set run.dir=hopped || return 0
    tried "$title" "digits" 60 "$hopscotch" run e.json --quiet --overwrite --trainers 1 --strategy sequential \
        --set run.dir=alone || return 0
    row "$title" "digits, deterministic" "$(rows_of same "$scratch/hopped" "$scratch/alone")"
    breaking
}

# ResNet-18 on images that lie on the GPU, for some 30 s. nvidia-smi says in how much of the time a kernel ran.
busy() {  # TRAINERS
    local title="GPU busy: mop, resnet18 3x32x32 b512 bf16" watcher code=0
    "$python" scripts/gpu_rows.py watch "$scratch/samples" > /dev/null 2>&1 &
    watcher=$!
    tried "$title" "$1 trainers" 120 "$hopscotch" run b.json --quiet --overwrite --trainers "$1" || code=$?
    kill "$watcher" 2> /dev/null || true
    wait "$watcher" 2> /dev/null || true
    [[ $code -eq 0 ]] || return 0
    row "$title" "$1 trainers" "$(rows_of busy "$scratch/samples" "$scratch/busy")"
    row "parts of a unit, ms: the same run" "$1 trainers" "$(rows_of parts "$scratch/busy")"
    row "graphs refused: the same run" "$1 trainers" "$(grep -o '[a-z0-9_]* trains without CUDA graphs.*' "$scratch/said" |
        sort -u | paste -sd ';' | grep . || echo none)"
    cp "$scratch/busy/trace.json" "$results/trace-$1.json"
}

images() {
    if ! "$python" scripts/gpu_rows.py images "$scratch/images" "$(sized 50000 128)" >> "$log" 2>&1; then
        row "GPU busy: images" "" "FAILED: they could not be made"
        return 0
    fi
    tried "GPU busy: images" "import" 60 "$hopscotch" data import npy images/features.npy images/labels.npy --out pictures \
        --shards 4 --valid 0.1 || return 0
    cat > "$scratch/b.json" << END
{"data": {"path": "pictures", "augment": ["flip", {"name": "crop", "padding": 4}]},
 "model": {"name": "resnet18", "stem": "cifar"$(sized "" ', "width": 16')},
 "train": {"epochs": $(sized 12 1), "batch_size": $(sized 512 16), "precision": "bf16",
           "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9}},
 "space": {"train.optimizer.lr": [0.01, 0.02, 0.05, 0.1]}, "run": {"dir": "busy", "device": "$device"}}
END
    busy 1
    busy 2
}

# A state of ResNet-50 with momentum.
hop() {
    local title="hop between two trainers" megabytes
    megabytes=$(sized 205 1)
    tried "$title" "2 trainers, 1 GPU" 60 mpirun --oversubscribe -np 3 "$hopscotch" bench comm --device "$device" \
        --megabytes "$megabytes" --seconds "$(sized 2 0.3)" --period "$(sized 0.5 0.1)" --repeats 1 || return 0
    row "$title" "2 trainers, 1 GPU" "$(rows_of hop "$scratch/said")"
}

phase_busy() {
    images
    hop
}
