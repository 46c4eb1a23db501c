// SPDX-License-Identifier: Apache-2.0
// The vocabulary of one entry of the space and of conditions, used by space.cpp alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiment/space.hpp"

namespace hopscotch {

// Every listed value is tried in a document of its own.
inline constexpr std::size_t k_most_parameters = 256, k_most_listed = 10'000;

// None after a complaint.
std::optional<Parameter> read_parameter(Json::Member const& member, Problems& problems);

// {path: value | [values] | {"above": x, "below": x}}, of `when` and of `forbid`.
std::vector<Condition> read_conditions(Json const& object, std::string const& path, Problems& problems);

// For a watcher: the input of read_conditions(); the values of a parameter that is not an object.
Json conditions_schema();
Json listed_values_schema();

}  // namespace hopscotch
