// SPDX-License-Identifier: Apache-2.0
// Small experiment documents for tests, and lists of names as messages have them.
#pragma once
#include <string>
#include <vector>

#include "experiment/reader.hpp"

namespace hopscotch {

// The required keys, and the given sections on lines of their own.
inline std::string document(std::string const& more = "\"space\": {\"train.optimizer.lr\": [0.1]}") {
    std::string out = "{\"data\": {\"path\": \"d\"}, \"model\": {\"name\": \"mlp\"}, \"run\": {\"dir\": \"r\"},\n";
    return out.append(more).append("}");
}

inline std::string complaints(std::string const& text, std::vector<std::string> const& overrides = {}) {
    Problems problems("e.json");
    read_experiment(text, overrides, problems);
    return problems.text();
}

// Names of a table, so that a new row changes no test: "a, b, c"; and "a, b and c".
inline std::string listed(std::vector<std::string> const& names, std::string const& before_last = ", ") {
    std::string out;
    for (auto const& name : names) out += (out.empty() ? "" : &name == &names.back() ? before_last : ", ") + name;
    return out;
}
inline std::string owners(std::vector<std::string> const& names) { return listed(names, " and "); }

}  // namespace hopscotch
