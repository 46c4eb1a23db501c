#!/usr/bin/env bash
# That check_cuda.sh finds an error, a warning, a spilled register and too many registers: cuda_can_fail.sh CHECK
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
check=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

expect() {  # 0|1, name of the case, FILE
    local result=0
    "$check" "$3" > "$folder/said" 2>&1 || result=$?
    [[ $result -ne 77 ]] || { cat "$folder/said"; exit 77; }
    [[ $result -eq $1 ]] || { echo "$2: exit code $result instead of $1"; cat "$folder/said"; failed=1; }
}

cat > "$folder/good.cpp" << 'CODE'
#include <cuda_runtime_api.h>
int devices();
int devices() { int count = 0; return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0; }
CODE
expect 0 "a good source" "$folder/good.cpp"
sed 's/&count/count/' "$folder/good.cpp" > "$folder/error.cpp"
expect 1 "an error" "$folder/error.cpp"
if [[ $(g++ -dumpversion) == 12* ]]; then
    sed 's/count : 0/2.5 * count : 0.0/' "$folder/good.cpp" > "$folder/warning.cpp"
    expect 1 "a warning" "$folder/warning.cpp"
fi
[[ $failed -eq 0 ]] || exit 1

# Without nvcc the first kernel ends this test as skipped.
kernel() {  # __launch_bounds__ of the kernel; it sums 120 values that are all alive
    echo "__global__ void __launch_bounds__($1) sums(float* values) {"
    for i in {0..119}; do echo "    float v$i = values[$i * 32 + threadIdx.x];"; done
    echo "    __syncthreads();"
    for i in {0..119}; do echo "    values[threadIdx.x * 120 + $i] = v$i * v$(((i * 7 + 60) % 120));"; done
    echo "}"
}
kernel 32 > "$folder/many.cu"
expect 1 "too many registers" "$folder/many.cu"
grep -q "uses [0-9]* registers" "$folder/said" || { echo "registers: not named"; cat "$folder/said"; failed=1; }
kernel "1024, 1" > "$folder/spill.cu"
expect 1 "spilled registers" "$folder/spill.cu"
grep -q "spills registers" "$folder/said" || { echo "spill: not named"; cat "$folder/said"; failed=1; }
echo '__global__ void one(float* value) { *value = 1; }' > "$folder/good.cu"
expect 0 "a good kernel" "$folder/good.cu"
exit "$failed"
