// SPDX-License-Identifier: Apache-2.0
// The configurations of manual search: a list of {dotted path: value} from which the space follows.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/search_section.hpp"

namespace hopscotch {
namespace {

Json const* document_value(Json const& document, std::string_view path) {
    auto const dot = path.find('.');
    auto const* found = document.find(path.substr(0, dot));
    return found == nullptr || dot == path.npos ? found : document_value(*found, path.substr(dot + 1));
}

void add_values(Json& space, Json const& configuration) {
    for (auto const& member : configuration.object()) {
        if (space.find(member.key) == nullptr) {
            Json list(Json::Array{});
            list.place(member.value.at_position());
            space.object().push_back({member.key, std::move(list), member.key_position});
        }
        auto& values = space[member.key].array();
        if (std::find(values.begin(), values.end(), member.value) == values.end()) values.push_back(member.value);
    }
}

}  // namespace

Json listed_space(Experiment const& experiment, Problems& problems) {
    auto const& list = experiment.search.proposals.configurations;
    std::string const path = "/search/configurations";
    if (!list.is_array() || list.array().empty()) {
        problems.add(list.at_position(), path,
                     list.is_array() ? "is empty (nothing to train); list at least one"
                                     : "missing (required); list them, for example [{\"train.optimizer.lr\": 0.1}]");
        return {};
    }
    std::size_t const before = problems.entries().size();
    Json space(Json::Object{});
    space.place(list.at_position());
    for (std::size_t i = 0; i < list.array().size(); ++i) {
        auto const& each = list.array()[i];
        auto const here = fmt::format("{}/{}", path, i);
        if (!each.is_object()) {
            problems.add(each.at_position(), here,
                         fmt::format("expected an object of {{path: value}} (got {})", each.kind()));
            continue;
        }
        if (std::find(list.array().begin(), list.array().begin() + static_cast<std::ptrdiff_t>(i), each) !=
            list.array().begin() + static_cast<std::ptrdiff_t>(i))
            problems.add(each.at_position(), here, "is listed twice (it would be trained twice); remove one");
        add_values(space, each);
    }
    if (space.object().empty() && problems.entries().size() == before)
        problems.add(list.at_position(), path,
                     "names no setting (its trial would be the document unchanged); add a {path: value}");
    return problems.entries().size() > before ? Json() : space;
}

std::vector<Assignment> listed_configurations(Experiment const& experiment) {
    std::vector<Assignment> out;
    for (auto const& configuration : experiment.search.proposals.configurations.array()) {
        auto& assignment = out.emplace_back();
        for (auto const& member : experiment.space.object()) {
            auto const* value = configuration.find(member.key);
            if (value == nullptr) value = document_value(experiment.document, member.key);
            if (value != nullptr) assignment.emplace_back(member.key, *value);
        }
    }
    return out;
}

}  // namespace hopscotch
