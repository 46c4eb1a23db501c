// SPDX-License-Identifier: Apache-2.0
// The numbers of a trial and of an update, as the formulas of update_element.hpp read them.
#pragma once
#include <cstdint>
#include <string_view>

#include "model/gpu/step_block.hpp"

namespace hopscotch {

enum class OptimizerKind;
enum class UpdateRule;
struct OptimizerConfig;
struct TrainConfig;
struct FlatUpdate;

UpdateRule rule_of(OptimizerKind kind);

// The member that points to slots of this kind (slot_kinds() of model/state/layout.hpp); null: they are not the optimizer's.
float* FlatUpdate::* place_of_slot(std::string_view kind);

UpdateNumbers update_numbers(TrainConfig const& train);
StepEntry step_entry(OptimizerConfig const& optimizer, double lr, std::int64_t step);  // step counts from 1

}  // namespace hopscotch
