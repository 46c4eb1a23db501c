// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

using Words = std::vector<std::string>;

Words const k_features = {"features", "feature", "x", "images", "image", "data", "inputs", "input"};
Words const k_labels = {"labels", "label", "y", "targets", "target", "classes", "class"};
std::pair<Split, Words> const k_split_words[] = {{Split::train, {"train", "training"}},
                                                 {Split::valid, {"valid", "val", "validation"}},
                                                 {Split::test, {"test", "testing"}}};

bool contains(Words const& words, std::string const& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// "/train/X_images" -> train, x, images
Words words_of(std::string const& name) {
    Words out(1);
    for (char const c : name) {
        auto const letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter) != 0)
            out.back() += static_cast<char>(std::tolower(letter));
        else if (!out.back().empty())
            out.emplace_back();
    }
    if (out.back().empty()) out.pop_back();
    return out;
}

enum class Role { features, labels };

struct Meaning {
    Role role = Role::features;
    Split split = Split::train;
};

std::optional<Meaning> meaning_of(std::string const& name, NameMatch match) {
    Meaning out;
    auto words = words_of(name);
    for (auto const& [split, names] : k_split_words)
        if (std::erase_if(words, [&](auto const& word) { return contains(names, word); }) > 0) out.split = split;
    auto const labels = std::count_if(words.begin(), words.end(), [](auto const& word) { return contains(k_labels, word); });
    auto const features =
        std::count_if(words.begin(), words.end(), [](auto const& word) { return contains(k_features, word); });
    out.role = labels > 0 ? Role::labels : Role::features;
    if (match == NameMatch::part) return out;
    auto const of_role = labels > 0 ? labels : features;
    if (of_role == 0 || of_role != static_cast<std::ptrdiff_t>(words.size())) return std::nullopt;
    return out;
}

class Pairing {
public:
    Pairing(std::vector<std::string> const& names, NameMatch match, ImportArraysOptions const& options,
            std::string const& where)
        : names_(names), match_(match), options_(options), where_(where) {}

    std::string_view why() const {
        if (!options_.features.empty() && !options_.labels.empty()) return "as --features and --labels say";
        if (!options_.features.empty()) return "as --features says, and by the labels' name";
        if (!options_.labels.empty()) return "as --labels says, and by the features' name";
        return in_this_order() ? "in the order of the two files" : "found by their names";
    }

    std::vector<ArrayPair> pairs() const {
        if (!options_.features.empty() || !options_.labels.empty())
            return {{named(Role::features, options_.features), named(Role::labels, options_.labels), Split::train}};
        if (in_this_order()) return {{names_[0], names_[1], Split::train}};
        std::vector<ArrayPair> out{{one(Role::features, Split::train), one(Role::labels, Split::train), Split::train}};
        for (auto const split : {Split::valid, Split::test})
            if (!fitting(Role::features, split).empty() || !fitting(Role::labels, split).empty())
                out.push_back({one(Role::features, split), one(Role::labels, split), split});
        return out;
    }

private:
    // Two files with meaningless names are features and labels.
    bool in_this_order() const {
        return match_ == NameMatch::part && names_.size() == 2 && fitting(Role::labels, Split::train).empty();
    }
    static std::string_view name_of(Role role) { return role == Role::features ? "features" : "labels"; }
    std::string known() const { return names_.empty() ? "nothing" : fmt::format("{}", fmt::join(names_, ", ")); }

    std::vector<std::string> fitting(Role role, Split split) const {
        std::vector<std::string> out;
        for (auto const& name : names_)
            if (auto const meaning = meaning_of(name, match_); meaning && meaning->role == role && meaning->split == split)
                out.push_back(name);
        return out;
    }

    std::string one(Role role, Split split) const {
        auto const found = fitting(role, split);
        if (found.size() == 1) return found.front();
        auto const kind = split == Split::train ? "" : split == Split::valid ? "validation " : "test ";
        auto const advice =
            match_ == NameMatch::whole
                ? fmt::format("choose with --{} NAME", name_of(role))
                : "choose with --features FILE --labels FILE, or let only the labels' file name have 'labels', 'y' or "
                  "'targets'";
        if (found.empty())
            throw ConfigError(
                fmt::format("{}: no {}{} found by name (there is {}); {}", where_, kind, name_of(role), known(), advice));
        throw ConfigError(fmt::format("{}: several {}{} found by name ({}); {}", where_, kind, name_of(role),
                                      fmt::join(found, ", "), advice));
    }

    std::string named(Role role, std::string const& name) const {
        if (name.empty()) return one(role, Split::train);
        auto const path = name.front() == '/' ? name.substr(1) : name;
        for (auto const& known_name : names_)
            if (known_name == path) return known_name;
        auto const near = nearest(name, names_);
        throw ConfigError(fmt::format("--{} {}: no such array in {} (there is {}); {}", name_of(role), name, where_, known(),
                                      near.empty() ? "choose one of these" : fmt::format("did you mean {}?", near)));
    }

    std::vector<std::string> const& names_;
    NameMatch match_;
    ImportArraysOptions const& options_;
    std::string const& where_;
};

}  // namespace

std::vector<ArrayPair> pair_arrays(std::vector<std::string> const& names, NameMatch match,
                                   ImportArraysOptions const& options, std::string const& where) {
    return Pairing(names, match, options, where).pairs();
}

std::string_view why_chosen(ImportArraysOptions const& options, std::vector<std::string> const& names, NameMatch match) {
    return Pairing(names, match, options, "").why();
}

Json arrays_json(std::vector<ArrayPair> const& pairs) {
    constexpr std::string_view splits[] = {"train", "valid", "test"};
    Json::Array out;
    for (auto const& pair : pairs)
        out.push_back(Json::object({{"features", readable_name(pair.features)},
                                    {"labels", readable_name(pair.labels)},
                                    {"split", splits[static_cast<std::size_t>(pair.split)]}}));
    return out;
}

}  // namespace hopscotch
