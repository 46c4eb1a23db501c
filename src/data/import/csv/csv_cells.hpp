// SPDX-License-Identifier: Apache-2.0
// The meaning of one cell of a table. Private to the importer.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/number_range.hpp"

namespace hopscotch {

using Cells = std::vector<std::string_view>;

// Empty, or a word for nothing: ?, NA, N/A, NaN, NULL and their kind. (None is a text: it can be an answer.)
bool is_missing(std::string_view cell);
std::span<std::string_view const> missing_words();  // all but the empty cell

enum class CellKind { number, text, missing };

// A number may be anything that from_chars reads, with a leading '+' too.
CellKind read_cell(std::string_view cell, double& value);

// 17, -3, 17.0, and every 64-bit integer exactly. Nothing: a fraction, a text, or an integer that needs more bits.
std::optional<WideInteger> exact_integer(std::string_view cell);

// Digits after a zero, as in the postcode 02134: the digits are a name, and 2134 is a different name.
bool is_code(std::string_view cell);

// A number that is written for people, as 1,234 or 5% or $7 or 12 kg or 3,14, or with U+2212 as the minus sign: the text
// after the digits ("%", "kg", ""). Nothing: not such a number.
std::optional<std::string> dressed_number(std::string_view cell);

// Days since 1970-01-01, with a fraction for the time: 2024-05-31, 2024/05/31, 2024-05-31T12:30:05.5+02:00. Without a zone:
// UTC. Nothing: no such date.
std::optional<double> read_date(std::string_view cell);

}  // namespace hopscotch
