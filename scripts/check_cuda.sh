#!/usr/bin/env bash
# Compiles what is for GPUs, without a GPU: scripts/check_cuda.sh [FILE...] (default: all of src/).
#   *.cpp   parsed with CUDA's real headers, which come with LibTorch, and with our warnings
#   *.cu    compiled for the H100 and H200, where nvcc is installed. A kernel may use 64 registers (so that 1,024 threads fit
#           on a multiprocessor) and spill none.
# 77: something could not be compiled here, and the rest is right; the last line says what. NCCL comes with scripts/setup.sh
# --cuda; elsewhere tests/house/nccl_names stands for its header.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
most_registers=64

packages=$(echo .deps/venv/lib/python3*/site-packages)
cuda=$(echo "$packages"/nvidia/cu*/include)
[[ -f $cuda/cuda_runtime_api.h ]] || { echo "needs cuda_runtime_api.h in .deps/venv (scripts/setup.sh)"; exit 77; }
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

if [[ $# -gt 0 ]]; then
    sources=("$@")
else
    mapfile -t sources < <({ ls src/tensor/gpu/cuda_*.cpp src/tensor/gpu/*.cu
                             grep -rlE --include='*.cpp' '^#if(def)? .*HOPSCOTCH_CUDA' src; } | sort -u)
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0 left=''

# All of a module in one, as the product is built: most of the time goes into LibTorch's headers. Other compilers have other
# warnings (cmake/werror.cmake).
errors=()
[[ $(g++ -dumpversion) != 12* ]] || errors=(-Werror)
for module in comm tensor; do
    for source in "${sources[@]}"; do
        in=tensor
        [[ $source != src/comm/* ]] || in="comm"
        [[ $source != *.cpp || $in != "$module" ]] || echo "#include \"$source\""
    done > "$folder/$module.cpp"
    [[ -s $folder/$module.cpp ]] || continue
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion "${errors[@]}" -Wno-restrict \
        -DHOPSCOTCH_CUDA=1 -DAT_PER_OPERATOR_HEADERS -DFMT_HEADER_ONLY -I. -Isrc -isystem "$packages/torch/include" \
        -isystem "$packages/torch/include/torch/csrc/api/include" -isystem "$cuda" \
        -idirafter "$packages/nvidia/nccl/include" -idirafter tests/house/nccl_names "$folder/$module.cpp" || failed=1
done

for source in "${sources[@]}"; do
    [[ $source == *.cu ]] || continue
    [[ -x $nvcc ]] || { left="needs nvcc (a CUDA toolkit), for the kernels of GPUs"; break; }
    "$nvcc" -std=c++20 -arch=sm_90 -Isrc -Werror all-warnings -Xptxas -v -c "$source" -o "$folder/kernel.o" \
        > "$folder/said" 2>&1 || { cat "$folder/said"; failed=1; continue; }
    awk -v file="$source" -v most="$most_registers" '
        /Compiling entry function/ { kernel = $(NF - 2) }
        /spill stores/ { spilled = $0 !~ / 0 bytes spill stores, 0 bytes spill loads/ }
        match($0, /Used [0-9]+ registers/) {
            used = substr($0, RSTART + 5, RLENGTH - 15) + 0
            ++kernels
            if (spilled) { print file ": " kernel " spills registers"; bad = 1 }
            if (used > most) { print file ": " kernel " uses " used " registers (limit " most ")"; bad = 1 }
        }
        END {
            if (!kernels) { print file ": no kernel found in the words of ptxas"; bad = 1 }
            exit bad
        }' "$folder/said" || failed=1
done
if [[ $failed -eq 0 && -n $left ]]; then echo "$left" && exit 77; fi
exit "$failed"
