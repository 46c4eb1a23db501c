// SPDX-License-Identifier: Apache-2.0
// Leave one component out (the LOCO of Maggy): trial 0 has the first value of every list, each other trial one value of one
// list instead. How much worse it is says what that component is worth.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiment/space.hpp"

namespace hopscotch {

struct Ablation {
    std::string path;  // what is changed; empty: trial 0, where nothing is
    Json value;        // what stands there instead
    Assignment assignment;
};

// In the order of the trials. Throws ConfigError if search.forbid excludes one.
std::vector<Ablation> ablations(Space const& space);

// One row a trial: what it leaves out, its loss, and how much worse than trial 0 that is.
struct Delta {
    std::string component;       // "model.dropout = 0"; "baseline"
    std::optional<double> loss;  // none: failed, or no result yet
    std::optional<double> delta;
};

// losses: by trial, as many as there are so far.
std::vector<Delta> delta_table(Space const& space, std::vector<std::optional<double>> const& losses);

}  // namespace hopscotch
