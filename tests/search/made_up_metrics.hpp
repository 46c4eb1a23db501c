// SPDX-License-Identifier: Apache-2.0
// Values of several metrics, for searches that have more than one objective.
#pragma once
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

// The first is the loss; the others are drawn from it, with ties. None of a lap that failed.
inline std::vector<double> made_up_metrics(TrialId trial, std::optional<double> loss, std::size_t count) {
    std::vector<double> out;
    for (std::size_t i = 0; loss && i < count; ++i)
        out.push_back(i == 0 ? *loss : std::floor(4 * std::fmod(*loss * 7.3 + trial.value * 0.37, 3)) / 4);
    return out;
}

}  // namespace hopscotch
