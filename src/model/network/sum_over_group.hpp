// SPDX-License-Identifier: Apache-2.0
// Lets a model add up numbers over the trainers that train it together. The model does not know these trainers.
#pragma once
#include <functional>
#include <span>

namespace hopscotch {

// Replaces values by their sums over all trainers of a step; all of them call it equally often, in one order.
using SumOverGroup = std::function<void(std::span<double> values)>;

}  // namespace hopscotch
