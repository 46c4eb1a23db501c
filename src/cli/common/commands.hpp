// SPDX-License-Identifier: Apache-2.0
// The sub-commands. Each has one file: its options on the command line, and its work (common/work.hpp).
#pragma once
#include "cli/common/command.hpp"

namespace hopscotch {

// Of the program hopscotch, which links no LibTorch.
Work add_compare(Command command);
Work add_ctl(Command command);
Work add_data(Command command);
Work add_export(Command command);
Work add_init(Command command);
Work add_report(Command command);
Work add_what_if(Command command);

// Of the program hopscotch-train.
Work add_bench(Command command);
Work add_completion(Command command);
Work add_doctor(Command command);
Work add_man(Command command);
Work add_models(Command command);
Work add_plan(Command command);
Work add_predict(Command command);
Work add_replay(Command command);
Work add_resume(Command command);
Work add_run(Command command);
Work add_schema(Command command);

}  // namespace hopscotch
