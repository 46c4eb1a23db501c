// SPDX-License-Identifier: Apache-2.0
// The numbers of a trial and of an update, as the formulas of update_element.hpp read them.
#pragma once
#include <cstdint>

#include "model/gpu/step_block.hpp"

namespace hopscotch {

enum class OptimizerKind;
enum class UpdateRule;
struct OptimizerConfig;
struct TrainConfig;

UpdateRule rule_of(OptimizerKind kind);
UpdateNumbers update_numbers(TrainConfig const& train);
StepEntry step_entry(OptimizerConfig const& optimizer, double lr, std::int64_t step);  // step counts from 1

}  // namespace hopscotch
