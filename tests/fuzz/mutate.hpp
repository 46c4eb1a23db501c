// SPDX-License-Identifier: Apache-2.0
// Damage that knows the format: JSON documents whose values, keys and structure change, and bytes. All of it is drawn from
// the given generator, so that a case is its seed and its number.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/rng.hpp"

namespace hopscotch::fuzz {

inline std::size_t below(Rng& rng, std::size_t n) { return n == 0 ? 0 : rng.below(static_cast<std::uint32_t>(n)); }
inline bool one_in(Rng& rng, std::uint32_t n) { return rng.below(n) == 0; }

template <class T>
T const& any_of(Rng& rng, std::vector<T> const& items) {
    return items[below(rng, items.size())];
}

// Paths that lead elsewhere: out of the directory, absolute, to what is not a regular file.
std::string odd_path(Rng& rng);

// One to four changes of values, keys, members; now and then of the text itself too.
std::string mutated_json(Json document, Rng& rng);

// The document as text; strings of mutated_json that stand for raw tokens (1e999, NaN, bad UTF-8) are written as those.
std::string rendered(Json const& document);

// Flips, cuts, repeats, and overwrites with bytes that mean something to parsers.
std::string mutated_bytes(std::string bytes, Rng& rng);

// A number that lengths and counts break on: 0, all ones, a power of two or its neighbour, `near` give or take a little.
std::uint64_t odd_number(std::uint64_t near, Rng& rng);

}  // namespace hopscotch::fuzz
