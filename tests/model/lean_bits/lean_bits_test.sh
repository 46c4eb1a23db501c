#!/usr/bin/env bash
# The lean step's arithmetic has the stored bits: as the product is built (-O3), and as other compilers and options build it;
# in the long suite by more of them, and for 64-bit ARM.
# lean_bits_test.sh BUILT: the program of lean_bits.cpp with the product's own object files.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$(cd "$(dirname "$0")/../../.." && pwd)
grep -qw avx2 /proc/cpuinfo || { echo "needs a CPU with AVX2"; exit 77; }

stored="products c86fed524654c8d5
elements e4ddfc7c04022407
columns 654bd87425402d3c
losses 120d3b6c182804ff
updates 6bf4afa1b74e8512
images 67c37b3ebfd52dbe"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
compare() { # what it was built by, command
    local found
    found=$("${@:2}")
    [[ $found == "$stored" ]] && return
    echo "FAILED: other bits by $1:"
    diff <(echo "$stored") <(echo "$found") || failed=1
}

compare "the product's build" "$1"
sources=("$source"/src/model/lean/{columns,elements,losses,pooling,products,update}.cpp
         "$source/tests/model/lean_bits/lean_bits.cpp")
compilers=("g++ -O2 -march=native" "clang++ -O2")
[[ -z ${HOPSCOTCH_LONG:-} ]] || compilers+=("g++ -O2" "g++ -O3 -march=native" "clang++ -O3 -march=native")
for compiler in "${compilers[@]}"; do
    command -v "${compiler%% *}" > /dev/null || continue
    # shellcheck disable=SC2206 # the compiler and its options
    build=($compiler -std=c++20 -mavx2 -mfma -ffp-contract=off -fno-math-errno -I"$source/src")
    "${build[@]}" -mavx512f -c -o "$folder/avx512.o" "$source/src/model/lean/products_avx512.cpp"
    "${build[@]}" -o "$folder/bits" "${sources[@]}" "$folder/avx512.o"
    compare "$compiler" "$folder/bits"
done
if [[ -n ${HOPSCOTCH_LONG:-} ]]; then
    for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
        command -v "$tool" > /dev/null || { echo "needs $tool (scripts/setup.sh --tests=long)"; exit 77; }
    done
    aarch64-linux-gnu-g++ -O3 -std=c++20 -ffp-contract=off -fno-math-errno -static -idirafter /usr/include -I"$source/src" \
        -o "$folder/arm" "${sources[@]}" "$source/src/model/lean/products_avx512.cpp"
    compare "64-bit ARM" qemu-aarch64 "$folder/arm"
fi
[[ $failed -eq 0 ]] && echo "equal bits"
exit $failed
