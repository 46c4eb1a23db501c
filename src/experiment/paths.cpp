// SPDX-License-Identifier: Apache-2.0
#include "experiment/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/path_text.hpp"

namespace hopscotch {
namespace {

struct PathKey {
    std::string_view section, key;
    PathUse use;

    std::string dotted() const { return fmt::format("{}.{}", section, key); }
};

constexpr std::array<PathKey, 7> k_paths{{{"data", "path", PathUse::found},
                                          {"data", "stage", PathUse::made},
                                          {"model", "file", PathUse::found},
                                          {"model", "init_from", PathUse::found},
                                          {"run", "dir", PathUse::made},
                                          {"run", "spill", PathUse::made},
                                          {"search", "start_from", PathUse::found}}};

void settle(Json& value, std::string const& path, PathUse use, Problems& problems) {
    if (value.is_array())
        for (std::size_t i = 0; i < value.array().size(); ++i)
            settle(value.array()[i], fmt::format("{}/{}", path, i), use, problems);
    if (value.is_object())
        for (auto& member : value.object()) settle(member.value, path + "/" + member.key, use, problems);
    if (!value.is_string()) return;
    auto [text, problem] = with_home(value.string());
    if (problem.empty()) problem = too_long(text, use);
    auto const at = value.at_position();
    if (!problem.empty()) problems.add(at, path, problem);
    value = Json(std::move(text));
    value.place(at);
}

// The paths that a section has by their own names.
void settle_section(std::string_view name, Json& section, std::string const& path, Problems& problems) {
    if (!section.is_object()) return;
    for (auto& member : section.object())
        for (auto const& known : k_paths)
            if (known.section == name && known.key == member.key)
                settle(member.value, path + "/" + member.key, known.use, problems);
}

// The space, its conditions and lists of configurations have dotted names, or whole models.
void settle_dotted(Json& value, std::string const& path, Problems& problems) {
    if (value.is_array())
        for (std::size_t i = 0; i < value.array().size(); ++i)
            settle_dotted(value.array()[i], fmt::format("{}/{}", path, i), problems);
    if (!value.is_object()) return;
    for (auto& member : value.object()) {
        auto const here = path + "/" + member.key;
        auto const known = std::ranges::find_if(k_paths, [&](auto const& each) { return each.dotted() == member.key; });
        if (known != k_paths.end())
            settle(member.value, here, known->use, problems);
        else
            settle_dotted(member.value, here, problems);
    }
}

}  // namespace

void settle_paths(Json& document, Problems& problems) {
    if (!document.is_object()) return;
    for (auto& member : document.object()) {
        auto const path = "/" + member.key;
        settle_section(member.key, member.value, path, problems);
        if (member.key == "space" || member.key == "search") settle_dotted(member.value, path, problems);
        if (member.key != "run" || !member.value.is_object()) continue;
        for (auto& own : member.value.object())  // words of a command: only those that are paths of the home directory
            if (own.key == "on_end" && own.value.is_array())
                for (auto& word : own.value.array())
                    if (word.is_string() && (word.string() == "~" || word.string().starts_with("~/")))
                        settle(word, "/run/on_end", PathUse::found, problems);
    }
}

}  // namespace hopscotch
