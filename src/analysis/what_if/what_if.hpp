// SPDX-License-Identifier: Apache-2.0
// Several procedures side by side, each on the same orders of the configurations.
#pragma once
#include "analysis/what_if/played_search.hpp"
#include "core/json.hpp"

namespace hopscotch {

struct WhatIfRow {
    std::string label;                 // "asha search.eta=4"
    std::vector<PlayedSearch> played;  // by order
};

struct WhatIf {
    KnownTrials const& known;
    std::int64_t epochs = 0;  // that each search may train
    std::vector<WhatIfRow> rows;
};

// Of the known trials.
std::optional<double> best_known(KnownTrials const& known);

std::string what_if_text(WhatIf const& what_if);
Json what_if_json(WhatIf const& what_if);  // with the numbers of each order

}  // namespace hopscotch
