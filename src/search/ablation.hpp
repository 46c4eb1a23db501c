// SPDX-License-Identifier: Apache-2.0
// Ablation: leave one component out (LOCO of Maggy). Trial 0 has the first value of every list. Each other trial changes the
// value of one list. The rise of the loss is the worth of the component.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiment/space.hpp"

namespace hopscotch {

struct Ablation {
    std::string path;  // of the changed key; empty: trial 0
    Json value;        // the new value
    Assignment assignment;
};

// In the order of the trials. Throws ConfigError if search.forbid excludes one.
std::vector<Ablation> ablations(Space const& space);

// One row a trial: the component left out, the loss, and how much worse the loss is than that of trial 0.
struct Delta {
    std::string component;       // "model.dropout = 0"; "baseline"
    std::optional<double> loss;  // none: failed, or no result yet
    std::optional<double> delta;
};

// losses: by trial, of the trials so far.
std::vector<Delta> delta_table(Space const& space, std::vector<std::optional<double>> const& losses);

}  // namespace hopscotch
