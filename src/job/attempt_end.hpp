// SPDX-License-Identifier: Apache-2.0
// How an attempt of a job ends. After the last three, the next attempt continues from the run directory.
#pragma once
#include <string>
#include <variant>

#include "job/owner_moves.hpp"
#include "strategy/common/setback.hpp"

namespace hopscotch {

struct TrialsEnded {};  // all of them
struct SignalCame {};

// A trial must continue from its newest checkpoint: an order resumed it after its state was dropped, or it failed and may
// try again.
struct TrialGoesBack {
    std::string why;
};

using AttemptEnd = std::variant<TrialsEnded, SignalCame, Setback, TrialGoesBack, OwnersMove>;

}  // namespace hopscotch
