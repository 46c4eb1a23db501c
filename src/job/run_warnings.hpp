// SPDX-License-Identifier: Apache-2.0
// What a user should know of a run before it begins, and what does not stop it.
#pragma once
#include <string>
#include <vector>

namespace hopscotch {

struct PreparedRun;

// One line each: "problem (why); suggestion". Trainers that will be idle, units of one step, shards that are links, rules of
// the space that are never met, a model that sleeps.
std::vector<std::string> warnings_of(PreparedRun const& prepared);

}  // namespace hopscotch
