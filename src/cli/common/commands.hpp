// SPDX-License-Identifier: Apache-2.0
// The sub-commands. Each has one file: its options on the command line, and its work (common/work.hpp).
#pragma once
#include "cli/common/work.hpp"

namespace hopscotch {

// Of the program hopscotch, which does not link LibTorch.
Work add_compare(CLI::App& command);
Work add_ctl(CLI::App& command);
Work add_data(CLI::App& command);
Work add_export(CLI::App& command);
Work add_init(CLI::App& command);
Work add_report(CLI::App& command);

// Of the program hopscotch-train.
Work add_bench(CLI::App& command);
Work add_completion(CLI::App& command);
Work add_doctor(CLI::App& command);
Work add_man(CLI::App& command);
Work add_models(CLI::App& command);
Work add_plan(CLI::App& command);
Work add_predict(CLI::App& command);
Work add_replay(CLI::App& command);
Work add_resume(CLI::App& command);
Work add_run(CLI::App& command);
Work add_schema(CLI::App& command);

}  // namespace hopscotch
