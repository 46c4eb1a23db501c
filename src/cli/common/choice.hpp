// SPDX-License-Identifier: Apache-2.0
// A command-line option that takes one of a few words. CLI11's own transformer prints its table into the help.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace hopscotch {

// Calls chosen(index) with the index of the given word. Parsing throws ConfigError that lists the words.
void add_word(CLI::App& command, std::string const& name, std::vector<std::string> const& words,
              std::function<void(std::size_t)> const& chosen, std::string const& help);

template <class T>
void add_choice(CLI::App& command, std::string const& name, std::vector<std::pair<std::string, T>> const& words, T& target,
                std::string const& help) {
    std::vector<std::string> names;
    for (auto const& [word, value] : words) names.push_back(word);
    add_word(command, name, names, [words, &target](std::size_t i) { target = words[i].second; }, help);
}

}  // namespace hopscotch
