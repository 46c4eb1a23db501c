#!/usr/bin/env bash
# check_names.sh must refuse each of these lines, name the file, and accept the others.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source "$(dirname "$0")/can_fail.sh" "$1"

expect refused cli/a.cpp 'if (strategy.name == "mop") hop();'
expect refused cli/a.cpp 'if ("allreduce" != name) return;'
expect refused run/a.cpp 'if (procedure == "pbt") keep();'
expect refused schedule/a.cpp 'Names const k_rules{"asha", "median"};'
expect refused run/a.hpp 'return metric == "val_auc" ? auc : f1;'
expect refused model/a.cpp 'if (loss == "huber") return;  // of the "mse"'
expect refused schedule/a.cpp 'if (config.policy == "planned") return;'
expect accepted cli/a.cpp 'if (strategy_traits(name).training == Training::hopping) hop();  // "mop"'
expect accepted cli/a.cpp '// if it is "mop"'
expect accepted cli/a.cpp 'fmt::print("use mop, or allreduce");'
expect accepted experiment/strategy_traits.cpp '{.name = "mop"},'
expect accepted experiment/some_config.hpp 'std::string name = "mop";'
exit "$failed"
