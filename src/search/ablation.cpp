// SPDX-License-Identifier: Apache-2.0
#include "search/ablation.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "search/list.hpp"

namespace hopscotch {
namespace {

// The first value of every active parameter, but `value` for `changed`. A parameter that becomes active has its first value.
Assignment with(Space const& space, Parameter const* changed, Json const& value) {
    Assignment out;
    for (auto index : space.order)
        if (auto const& parameter = space.parameters[index]; is_active(parameter, out))
            out.emplace_back(parameter.path, &parameter == changed ? value : parameter.values.front());
    return in_order(space, out);
}

}  // namespace

std::vector<Ablation> ablations(Space const& space) {
    std::vector<Ablation> out{{"", Json(), with(space, nullptr, Json())}};
    for (auto const& parameter : space.parameters) {
        if (value_of(out.front().assignment, parameter.path) == nullptr) continue;  // not there, so it cannot be left out
        for (std::size_t i = 1; i < parameter.values.size(); ++i)
            out.push_back({parameter.path, parameter.values[i], with(space, &parameter, parameter.values[i])});
    }
    for (auto const& each : out)
        if (is_forbidden(space, each.assignment))
            throw ConfigError(
                fmt::format("/search/forbid: excludes {} (ablation needs every one of its trials); remove a condition",
                            to_json(each.assignment).dump()));
    return out;
}

std::vector<Delta> delta_table(Space const& space, std::vector<std::optional<double>> const& losses) {
    auto const loss_of = [&](std::size_t trial) { return trial < losses.size() ? losses[trial] : std::nullopt; };
    auto const baseline = loss_of(0);
    std::vector<Delta> out;
    for (auto const& each : ablations(space)) {
        Delta row{
            each.path.empty() ? "baseline" : fmt::format("{} = {}", each.path, each.value.dump()), loss_of(out.size()), {}};
        if (row.loss && baseline) row.delta = *row.loss - *baseline;
        out.push_back(std::move(row));
    }
    return out;
}

std::unique_ptr<Sampler> make_ablation(Experiment const&, Space const& space) {
    std::vector<Assignment> all;
    for (auto& each : ablations(space)) all.push_back(std::move(each.assignment));
    return std::make_unique<List>(std::move(all));
}

}  // namespace hopscotch
