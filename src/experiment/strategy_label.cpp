// SPDX-License-Identifier: Apache-2.0
#include "experiment/strategy_label.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace {

std::string text_of(Json const& value) { return value.is_string() ? value.string() : value.dump(); }

}  // namespace

std::string strategy_label(Json const& experiment, std::string const& strategy) {
    using Shown = StrategySetting::Shown;
    auto const& settings = strategy_traits(strategy).settings;
    auto const* section = experiment.find("strategy");
    std::string main = strategy, rest;
    for (auto const& setting : settings) {
        if (setting.shown == Shown::if_given) continue;
        auto const* given = section == nullptr ? nullptr : section->find(setting.key);
        auto const value = given == nullptr ? std::string(setting.fallback) : text_of(*given);
        if (setting.shown == Shown::always_bare)
            main += " " + value;
        else if (setting.shown == Shown::always || value != setting.fallback)
            rest += fmt::format(" {}={}", setting.key, value);
    }
    if (section == nullptr || !section->is_object()) return main + rest;
    for (auto const& [key, value, position] : section->object()) {
        auto const setting = std::ranges::find(settings, key, &StrategySetting::key);
        bool const told = setting != settings.end() && setting->shown != Shown::if_given;
        if (key == "name" || value.is_null() || told) continue;
        bool const has_label = setting != settings.end() && !setting->label.empty();
        rest += fmt::format(" {}={}", has_label ? setting->label : key, text_of(value));
    }
    return main + rest;
}

}  // namespace hopscotch
