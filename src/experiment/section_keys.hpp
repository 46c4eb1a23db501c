// SPDX-License-Identifier: Apache-2.0
// Helpers that the sections of the reader share: names of enums, keys that belong to some names only, lists of numbers.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_reader.hpp"

namespace hopscotch {

using Names = std::vector<std::string>;

template <class Enum>
struct Name {
    std::string_view text;
    Enum value;
};

// One of `now`; the names in `later` are not available in this version. A value of another type is an error that lists
// `now`.
void read_choice(ObjectReader& reader, Key const& key, std::string& out, Names const& now, Names const& later = {});

// For a watcher: one of `names`, by default `fallback`. read_choice() does this itself.
void describe_choice(ObjectReader& reader, Key const& key, std::string const& fallback, Names const& names);

// Returns the name that holds: the given one, or the default's; empty if an unknown one was given. A row of the table has a
// text and a value.
template <class Enum, class Table>
std::string read_name(ObjectReader& reader, Key const& key, Table const& table, Enum& out) {
    Names names;
    for (auto const& row : table) names.emplace_back(row.text);
    std::string text, fallback;
    for (auto const& row : table)
        if (out == row.value) fallback = row.text;
    if (reader.watched()) describe_choice(reader, key, fallback, names);
    read_choice(reader, key, text, names);
    for (auto const& row : table)
        if (text == row.text) out = row.value;
    return reader.has(key.name) ? text : fallback;
}

// Keys that have a meaning for some names only. Given with another name, a key is an error: ignoring it would hide a
// mistake.
class OwnKeys {
public:
    // here: the name that the setting `what` has; empty: the given name is wrong and has been reported.
    OwnKeys(ObjectReader& reader, std::string here, std::string what = "name")
        : reader_(reader), here_(std::move(here)), what_(std::move(what)) {
        reader_.splits(what_);
    }

    // Whether the caller should read `key`. Reports the key if it is given but belongs to other names.
    bool include(std::string_view key, Names const& owners) const;

private:
    ObjectReader& reader_;
    std::string here_, what_;
};

void refuse_later_keys(ObjectReader& reader, Names const& later);

Check<double> at_least_zero_below_one();
Check<double> between_zero_and_one();  // both excluded
Check<std::string> not_empty();

// "512MB", "4GB", or "auto", which does not change `out`.
void read_bytes(ObjectReader& reader, Key const& key, std::uint64_t& out);

void require_text(ObjectReader& reader, Key const& key, std::string& out, std::string_view suggestion);

// Of a key that takes an integer or one word.
struct WordOr {
    std::string_view word, what;  // what: the integer, for an error text
    Json fallback;
};
bool is_word(ObjectReader& reader, Key const& key, WordOr const& other, Check<double> const& check);

template <class Integer>
void read_word_or(ObjectReader& reader, Key const& key, WordOr const& other, Integer& out, Check<double> const& check) {
    if (!is_word(reader, key, other, check)) reader.read(key, out, check);
}

void read_numbers(ObjectReader& reader, Key const& key, std::vector<double>& out, Check<double> const& each);

}  // namespace hopscotch
