// SPDX-License-Identifier: Apache-2.0
#include "experiment/measures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::array<std::pair<std::string_view, double Measures::*>, 3> k_measures{
    {{"parameters", &Measures::parameters}, {"state_mb", &Measures::state_mb}, {"flops_per_row", &Measures::flops_per_row}}};

}  // namespace

std::vector<std::string> measure_names() {
    std::vector<std::string> out;
    for (auto const& [name, value] : k_measures) out.emplace_back(name);
    return out;
}

bool is_measure(std::string_view name) {
    return std::ranges::any_of(k_measures, [&](auto const& each) { return each.first == name; });
}

double& value_in(Measures& measures, std::string_view name) {
    for (auto const& [known, value] : k_measures)
        if (name == known) return measures.*value;
    throw Error(fmt::format("measure \"{}\" is unknown (known: {})", name, fmt::join(measure_names(), ", ")));
}

double value_of(Measures const& measures, std::string_view name) {
    auto copy = measures;
    return value_in(copy, name);
}

}  // namespace hopscotch
