// SPDX-License-Identifier: Apache-2.0
// A search on results that are known beforehand: it decides as it would have done if it had trained. PURE.
#pragma once
#include <functional>

#include "direct/director.hpp"

namespace hopscotch {

// Gives the director the record of each lap that it releases, until it has finished. Decisions in virtual time do not depend
// on the order of the records.
void play_search(Director& director, std::function<LapRecord(Lap const&)> const& result);

}  // namespace hopscotch
