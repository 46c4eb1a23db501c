// SPDX-License-Identifier: Apache-2.0
// server_log.jsonl: the order of gradients, for the modes of parameter_server whose bits depend on timing (async, ssp,
// backup). One line a part of a lap, in the order of parts:
//   {"trial": 3, "epoch": 0, "part": 1, "order": [0, 2, 1, 0, ...]}
// order: the workers in the order in which their gradients of this part came, until the last one that changed the lap's
// result. A worker's gradients come in the order of its steps, and all else (the gradients combined or dropped, the version
// that a worker reads) follows from that order by the rule in strategy/baselines/parameter_server/served_part.hpp;
// `hopscotch replay` follows it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

using ServerLog = std::vector<std::vector<std::uint16_t>>;  // of one lap, by part

// Nothing if the record has no log.
void append_server_log(std::filesystem::path const& file, LapRecord const& record);

// Throws DataError that names the file and line.
std::map<std::pair<TrialId, int>, ServerLog> read_server_log(std::filesystem::path const& file);

}  // namespace hopscotch
