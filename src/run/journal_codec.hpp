// SPDX-License-Identifier: Apache-2.0
// Laps and their records as JSON and back, bit for bit: hashes are hex, numbers that are not finite are null.
#pragma once
#include "core/json.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

Json to_json(Lap const& lap);
Lap lap_from_json(Json const& json);  // throws Error naming the key that is missing or ill-typed

Json to_json(LapRecord const& record);
LapRecord lap_record_from_json(Json const& json);  // likewise

}  // namespace hopscotch
