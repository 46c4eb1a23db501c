// SPDX-License-Identifier: Apache-2.0
// The losses, one row each: everything that code outside tensor/step/loss.cpp asks about a loss.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/config.hpp"

namespace hopscotch {

enum class Answers { one_class, labels, targets };  // that the loss compares a row's outputs with

struct LossTraits {
    LossKind value;
    std::string_view text;  // as in an experiment: "bce_with_logits"
    Answers answers;
    std::vector<std::string_view> keys = {};  // of the section `train` that belong to the loss
};

std::vector<LossTraits> const& loss_traits();
LossTraits const& loss_traits(LossKind loss);
std::string_view name_of(LossKind loss);
std::vector<std::string> losses_with(std::string_view key);
std::vector<std::string> losses_for(Answers answers);  // the first is the default

}  // namespace hopscotch
