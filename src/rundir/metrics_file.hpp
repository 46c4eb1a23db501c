// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: a line for each trial and epoch.
#pragma once
#include <filesystem>

#include "core/durable_file.hpp"
#include "core/ids.hpp"

namespace hopscotch {

struct Metrics;

// Each line has `trial`, the keys of to_json(Metrics), and `wall_s`: the seconds from the start of the run to the end of the
// lap.
class MetricsFile {
public:
    explicit MetricsFile(std::filesystem::path const& path) : file_(path) {}
    void append(TrialId trial, Metrics const& metrics, double wall_s);
    void try_again() { file_.try_again(); }

private:
    DispensableFile file_;
};

}  // namespace hopscotch
