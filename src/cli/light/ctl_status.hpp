// SPDX-License-Identifier: Apache-2.0
// The status of a run, from its files alone: once, or again and again.
#pragma once
#include <filesystem>
#include <string>

namespace hopscotch {

// A job that trains gives a sign of life every second; file systems of clusters may show it later.
inline constexpr double k_quiet_s = 30;
std::string silence_text(double silent_s);

int print_status(std::filesystem::path const& run_dir);

// Draws live.json until the run ends, then prints the status. Returns 0; 1 if the job gives no sign of life.
int follow_status(std::filesystem::path const& run_dir);

}  // namespace hopscotch
