// SPDX-License-Identifier: Apache-2.0
#include "experiment/metric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace hopscotch {
namespace {

enum class Of { everything, classes, one_class, targets };  // what a row's label must be

struct Metric {
    std::string_view name;
    Mode mode;
    Of of;
};

constexpr std::array<Metric, 9> k_metrics{{{"train_loss", Mode::min, Of::everything},
                                           {"val_loss", Mode::min, Of::everything},
                                           {"val_accuracy", Mode::max, Of::classes},
                                           {"val_top5", Mode::max, Of::one_class},
                                           {"val_f1", Mode::max, Of::classes},
                                           {"val_auc", Mode::max, Of::classes},
                                           {"val_mae", Mode::min, Of::targets},
                                           {"val_r2", Mode::max, Of::targets},
                                           {"val_perplexity", Mode::min, Of::one_class}}};

Metric const& metric_named(std::string_view name) {
    auto const found = std::find_if(k_metrics.begin(), k_metrics.end(), [&](auto const& each) { return each.name == name; });
    if (found == k_metrics.end())
        throw Error(fmt::format("metric '{}' does not exist (known: {})", name, fmt::join(metric_names(), ", ")));
    return *found;
}

}  // namespace

std::string_view name_of(LossKind loss) {
    constexpr std::array<std::string_view, 4> names{"cross_entropy", "bce_with_logits", "mse", "huber"};
    return names[static_cast<std::size_t>(loss)];
}

std::vector<std::string> metric_names() {
    std::vector<std::string> out;
    for (auto const& metric : k_metrics) out.emplace_back(metric.name);
    return out;
}

Mode natural_mode(std::string_view metric) { return metric_named(metric).mode; }

std::string_view needed_by(std::string_view metric) {
    constexpr std::array<std::string_view, 4> words{"rows", "classes", "one class a row", "targets"};
    return words[static_cast<std::size_t>(metric_named(metric).of)];
}

bool has_metric(LossKind loss, std::string_view metric) {
    bool const targets = loss == LossKind::mse || loss == LossKind::huber;
    switch (metric_named(metric).of) {
        case Of::everything: return true;
        case Of::classes: return !targets;
        case Of::one_class: return loss == LossKind::cross_entropy;
        case Of::targets: break;
    }
    return targets;
}

}  // namespace hopscotch
