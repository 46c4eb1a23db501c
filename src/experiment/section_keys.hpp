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
void read_choice(ObjectReader& reader, std::string_view key, std::string& out, Names const& now, Names const& later = {});

// Returns the name that holds: the given one, or the default's; empty if an unknown one was given. A row of the table has a
// text and a value.
template <class Enum, class Table>
std::string read_name(ObjectReader& reader, std::string_view key, Table const& table, Enum& out) {
    Names names;
    for (auto const& row : table) names.emplace_back(row.text);
    std::string text;
    read_choice(reader, key, text, names);
    for (auto const& row : table)
        if (text == row.text) out = row.value;
    if (reader.has(key)) return text;
    for (auto const& row : table)
        if (out == row.value) text = row.text;
    return text;
}

// Keys that have a meaning for some names only. Given with another name, a key is an error: ignoring it would hide a
// mistake.
class OwnKeys {
public:
    // here: the name that the setting `what` has; empty: the given name is wrong and has been reported.
    OwnKeys(ObjectReader& reader, std::string here, std::string what = "name")
        : reader_(reader), here_(std::move(here)), what_(std::move(what)) {}

    // Whether the caller should read `key`. Reports the key if it is given but belongs to other names.
    bool include(std::string_view key, Names const& owners) const;

private:
    ObjectReader& reader_;
    std::string here_, what_;
};

void refuse_later_keys(ObjectReader& reader, Names const& later);

Check<double> at_least_zero_below_one();
Check<std::string> not_empty();

// "512MB", "4GB", or "auto", which does not change `out`.
void read_bytes(ObjectReader& reader, std::string_view key, std::uint64_t& out);

void require_text(ObjectReader& reader, std::string_view key, std::string& out, std::string_view suggestion);

void read_numbers(ObjectReader& reader, std::string_view key, std::vector<double>& out, Check<double> const& each);

}  // namespace hopscotch
