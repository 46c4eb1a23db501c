// SPDX-License-Identifier: Apache-2.0
#include "cli/common/choice.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {

void add_word(CLI::App& command, std::string const& name, std::vector<std::string> const& words,
              std::function<void(std::size_t)> const& chosen, std::string const& help) {
    auto const read = [=](std::string const& given) {
        auto const found = std::find(words.begin(), words.end(), given);
        if (found == words.end())
            throw ConfigError(fmt::format("{} {}: unknown value (known: {})", name, given, fmt::join(words, ", ")));
        chosen(static_cast<std::size_t>(found - words.begin()));
    };
    command.add_option_function<std::string>(name, read, help)->type_name(fmt::format("{}", fmt::join(words, "|")));
}

}  // namespace hopscotch
