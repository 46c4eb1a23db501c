// SPDX-License-Identifier: Apache-2.0
#include "experiment/loss_traits.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {

std::vector<LossTraits> const& loss_traits() {
    static std::vector<LossTraits> const table = {
        {LossKind::cross_entropy, "cross_entropy", Answers::one_class, {"label_smoothing", "class_weights"}},
        {LossKind::bce_with_logits, "bce_with_logits", Answers::labels, {"class_weights"}},
        {LossKind::mse, "mse", Answers::targets},
        {LossKind::huber, "huber", Answers::targets, {"huber_delta"}},
        {LossKind::mae, "mae", Answers::targets},
        {LossKind::quantile, "quantile", Answers::targets, {"quantile"}},
    };
    return table;
}

LossTraits const& loss_traits(LossKind loss) {
    auto const found = std::ranges::find(loss_traits(), loss, &LossTraits::value);
    require(found != loss_traits().end(), "a loss has no row in experiment/loss_traits.cpp");
    return *found;
}

std::string_view name_of(LossKind loss) { return loss_traits(loss).text; }

std::vector<std::string> losses_with(std::string_view key) {
    std::vector<std::string> out;
    for (auto const& row : loss_traits())
        if (std::ranges::count(row.keys, key) > 0) out.emplace_back(row.text);
    return out;
}

std::vector<std::string> losses_for(Answers answers) {
    std::vector<std::string> out;
    for (auto const& row : loss_traits())
        if (row.answers == answers) out.emplace_back(row.text);
    return out;
}

}  // namespace hopscotch
