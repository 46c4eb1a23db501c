// SPDX-License-Identifier: Apache-2.0
#include "core/json_lookup.hpp"

namespace hopscotch {

Json const* find_path(Json const& json, std::string_view dotted_path) {
    Json const* at = &json;
    while (at != nullptr && !dotted_path.empty()) {
        auto const dot = dotted_path.find('.');
        at = at->find(dotted_path.substr(0, dot));
        dotted_path = dot == dotted_path.npos ? std::string_view() : dotted_path.substr(dot + 1);
    }
    return at;
}

std::optional<double> number_in(Json const& json, std::string_view key) {
    auto const* value = json.find(key);
    return value != nullptr && value->is_number() ? std::optional(value->number()) : std::nullopt;
}

}  // namespace hopscotch
