#!/usr/bin/env bash
# Fuzzes the readers of hopscotch, in three ways.
#   scripts/fuzz.sh [SECONDS=60] [TARGET...]
#       Tries foreign files with clang's libFuzzer, with address and undefined-behaviour checks on. Targets are the files of
#       fuzz/. New inputs go to build-fuzz/corpus, crashes to build-fuzz/crashes.
#   scripts/fuzz.sh --files [--sanitize] [COUNT=10000]
#       Damages experiments, run directories, datasets and messages between ranks: the readers get COUNT files of each kind,
#       the decoders 10 x COUNT messages of each kind, and the binary COUNT / 50 commands. --sanitize: readers and decoders
#       only, ASan + UBSan.
#   scripts/fuzz.sh --door [SECONDS=60]
#       Imports tables, pictures and arrays whose truth is known, and compares every value, class and prediction. Needs
#       numpy, h5py and Pillow (.deps/venv).
# Exit code 1 if anything crashed or hung, or printed an error that names no file.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ "${1:-}" == --files ]]; then
    shift
    preset=release build=build targets=(fuzz_readers fuzz_messages hopscotch)
    [[ "${1:-}" != --sanitize ]] || { preset=asan build=build-asan targets=(fuzz_readers fuzz_messages) && shift; }
    scripts/build.sh "$preset" "${targets[@]}"
    # What libhdf5 itself loses on its way out of a damaged file is not ours.
    worst=0
    ASAN_OPTIONS=detect_leaks=0 "$build/tests/fuzz_readers" --count "${1:-10000}" || worst=1
    "$build/tests/fuzz_messages" --count $((${1:-10000} * 10)) || worst=1
    [[ "$preset" == asan ]] || python3 -B tests/fuzz/binary_fuzz.py "$build/hopscotch" $((${1:-10000} / 50)) || worst=1
    exit "$worst"
fi

if [[ "${1:-}" == --door ]]; then
    scripts/build.sh release hopscotch hopscotch-train
    exec .deps/venv/bin/python -B tests/e2e/door_truth.py "$PWD/build/hopscotch" --seconds "${2:-60}" --seed "$RANDOM"000
fi

seconds=${1:-60}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(basename -s .cpp fuzz/*.cpp)
out="build-fuzz"

works() {  # a clang that knows our C++ and has libFuzzer
    command -v "$1" >/dev/null && "$1" -std=c++20 -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null <<< '
        #include <source_location>
        extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) {
            return std::source_location::current().line() == 0;
        }'
}
clang=""
candidates=(clang++ clang++-{22..16})
[[ -z "${CLANG:-}" ]] || candidates=("$CLANG")
for candidate in "${candidates[@]}"; do
    if works "$candidate"; then clang=$candidate && break; fi
done
if [[ -z "$clang" ]]; then
    echo "fuzz: needs clang 16 or later with libFuzzer:" \
         "apt-get install clang-16 libclang-rt-16-dev   (or CLANG=clang++-19)" >&2
    exit 2
fi

hdf5=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5 2>/dev/null || true)
# shellcheck disable=SC2206,SC2054  # words are wanted; commas of one option
flags=(-std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
       -Isrc -Itests -Ifuzz $hdf5)
sources=(src/core/{characters,error,hash,json,json_reader}.cpp)
for file in csv/csv_{reader,scan,columns,labels,cells,header,column_types,decisions} number_range \
            array/{idx_reader,npy_header,npy_reader,npz_directory,npz_member} \
            array/array_source; do
    sources+=("src/data/import/$file.cpp")
done
sources+=(src/model/state/safetensors_reader.cpp)

compile() {  # source object: only if it, or any header, is newer
    [[ -e "$2" && -z $(find "$1" src/core src/data src/model tests/data fuzz \
                         \( -name '*.hpp' -o -path "$1" \) -newer "$2" -print -quit) ]] && return
    echo "fuzz: compiling $1"
    "$clang" "${flags[@]}" -c "$1" -o "$2"
}

mkdir -p "$out/objects" "$out/crashes"
objects=()
for source in "${sources[@]}"; do
    object="$out/objects/$(tr / _ <<< "${source%.cpp}").o"
    compile "$source" "$object"
    objects+=("$object")
done
python3 fuzz/make_seeds.py "$out/seeds"

failed=0
for target in "${targets[@]}"; do
    [[ -e "fuzz/$target.cpp" ]] || {
        echo "fuzz: no target $target (there are: $(basename -s .cpp fuzz/*.cpp | xargs))" >&2
        exit 2
    }
    compile "fuzz/$target.cpp" "$out/objects/$target.o"
    "$clang" -fsanitize=fuzzer,address,undefined "$out/objects/$target.o" "${objects[@]}" -o "$out/$target" \
        -lfmt -lxxhash -lz
    mkdir -p "$out/corpus/$target"
    echo "fuzz: $target for $seconds s"
    "$out/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$out/crashes/$target-" "$out/corpus/$target" "$out/seeds/$target" ||
        { failed=1; echo "fuzz: $target FAILED" >&2; }
done
exit "$failed"
