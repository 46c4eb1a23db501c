#!/usr/bin/env bash
# check_layers.sh must refuse each of these includes, name the file, and accept a clean tree.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source "$(dirname "$0")/can_fail.sh" "$1"

expect accepted rundir/a.cpp '#include "schedule/lap.hpp"'
expect refused rundir/a.cpp '#include "model/state/state.hpp"'
expect refused core/a.hpp '#include "experiment/config.hpp"'
expect refused comm/a.cpp '#include "schedule/lap.hpp"'
expect refused search/a.cpp '#include <chrono>'
expect refused schedule/a.cpp '#include <filesystem>'
expect refused schedule/a.cpp '#include "core/clock.hpp"'
expect refused search/a.cpp '#include "core/file.hpp"'
expect accepted comm/mpi_world.cpp '#include <mpi.h>'
expect refused comm/mpi_world.hpp '#include <mpi.h>'
expect refused strategy/a.cpp '#include <mpi.h>'
expect refused rundir/a.cpp '#include <hdf5.h>'
expect refused rundir/a.cpp '#include <nlohmann/json.hpp>'
expect refused rundir/a.cpp '#include <CLI/CLI.hpp>'
expect refused strategy/a.cpp '#include <ATen/core/Tensor.h>'
expect refused rundir/a.hpp '#include <fmt/format.h>'
expect accepted model/a.cpp '#include <torch/torch.h>'
expect accepted strategy/a.cpp '#include "strategy/mop/mop.hpp"'
expect accepted strategy/mop/a.cpp '#include "strategy/common/pump.hpp"'
expect accepted strategy/mop/a.cpp '#include "strategy/together/group.hpp"'
expect refused strategy/whole_laps/a.cpp '#include "strategy/together/group.hpp"'
expect refused data/other/a.cpp '#include "core/error.hpp"'
expect accepted strategy/other/a.cpp '#include "strategy/together/group.hpp"'
expect refused strategy/other/a.cpp '#include "strategy/mop/mop.hpp"'
expect refused strategy/common/a.hpp '#include "strategy/strategy_table.hpp"'
expect accepted cli/train/a.cpp '#include "job/prepare.hpp"'
expect refused cli/light/a.cpp '#include "job/prepare.hpp"'
expect refused analysis/results/a.cpp '#include "model/zoo/zoo.hpp"'
expect accepted analysis/plan/a.cpp '#include "job/prepare.hpp"'
expect refused job/a.cpp '#include "report/report_page.hpp"'
expect refused elsewhere/a.cpp '#include "core/error.hpp"'
exit "$failed"
