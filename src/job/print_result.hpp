// SPDX-License-Identifier: Apache-2.0
// Prints the result of a run.
#pragma once
#include <filesystem>

namespace hopscotch {

enum class Task;
struct Summary;

void print_result(Summary const& summary, Task task, std::filesystem::path const& run_dir);

}  // namespace hopscotch
