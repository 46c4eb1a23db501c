// SPDX-License-Identifier: Apache-2.0
// Laps, their records, decisions and orders as JSON and back, bit for bit: hashes are hex, numbers that are not finite are
// null.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/json.hpp"
#include "direct/trial_view.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

inline constexpr int k_most = INT32_MAX - 1;        // trials, epochs, attempts: one more is counted
inline constexpr int k_most_units = 1'000'000;      // of a lap: more shards mean a damaged journal, not a dataset
inline constexpr int k_most_trainers = UINT16_MAX;  // a server log has 16 bits for a worker

// Throw Error that names the key and the range: other files are indexed, and memory is taken, by these numbers.
std::int64_t integer_in(Json const& json, std::string_view key, std::int64_t low, std::int64_t high);
int count_in(Json const& json, std::string_view key, int most = k_most);  // 0 to most

// A hash that is not known is 0, and null or absent in a file.
Json to_hex_or_null(std::uint64_t hash);
std::uint64_t hash_in(Json const& json, std::string_view key);  // throws Error

Json to_json(Lap const& lap);
Lap lap_from_json(Json const& json);  // throws Error naming the key that is missing or ill-typed

Json to_json(Decision const& decision);
Decision decision_from_json(Json const& json);  // likewise

Json to_json(Order const& order);
Order order_from_json(Json const& json);  // likewise

Json to_json(LapRecord const& record);
Json to_json(LapRecord const& record, StoredUnits const& units);  // where its units are, instead of them
LapRecord lap_record_from_json(Json const& json);                 // likewise

}  // namespace hopscotch
