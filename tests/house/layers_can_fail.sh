#!/usr/bin/env bash
# check_layers.sh must refuse each of these includes, name the file, and accept a clean tree.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() {  # accepted|refused path include
    rm -rf "$work/src"
    mkdir -p "$work/src/$(dirname "$2")"
    echo "#include $3" > "$work/src/$2"
    local verdict=accepted output
    output=$("$check" "$work/src") || verdict=refused
    if [[ "$verdict" != "$1" || ( "$1" == refused && "$output" != *"$2:1"* ) ]]; then
        echo "$2 with #include $3: $verdict, expected $1: $output"
        failed=1
    fi
}

expect accepted run/a.cpp '"schedule/lap.hpp"'
expect refused run/a.cpp '"model/state/state.hpp"'
expect refused core/a.hpp '"experiment/config.hpp"'
expect refused comm/a.cpp '"schedule/lap.hpp"'
expect refused search/a.cpp '<chrono>'
expect refused schedule/a.cpp '<filesystem>'
expect refused schedule/a.cpp '"core/clock.hpp"'
expect refused search/a.cpp '"core/file.hpp"'
expect accepted comm/mpi_world.cpp '<mpi.h>'
expect refused comm/mpi_world.hpp '<mpi.h>'
expect refused strategy/a.cpp '<mpi.h>'
expect refused run/a.cpp '<hdf5.h>'
expect refused run/a.cpp '<nlohmann/json.hpp>'
expect refused run/a.cpp '<CLI/CLI.hpp>'
expect refused strategy/a.cpp '<ATen/core/Tensor.h>'
expect refused run/a.hpp '<fmt/format.h>'
expect accepted model/a.cpp '<torch/torch.h>'
expect accepted strategy/a.cpp '"strategy/mop/mop.hpp"'
expect accepted strategy/mop/a.cpp '"strategy/common/pump.hpp"'
expect refused strategy/mop/a.cpp '"strategy/together/group.hpp"'
expect refused strategy/other/a.cpp '"core/error.hpp"'
expect refused strategy/common/a.hpp '"strategy/strategy_table.hpp"'
expect refused elsewhere/a.cpp '"core/error.hpp"'
exit "$failed"
