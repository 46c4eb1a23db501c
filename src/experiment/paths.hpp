// SPDX-License-Identifier: Apache-2.0
// The paths in an experiment's document, wherever they stand: in their sections, in the space, in lists of configurations.
#pragma once
#include "core/json_reader.hpp"

namespace hopscotch {

// Replaces "~" by the home directory, and reports paths that no file can have. Done once, where the document is read, so all
// ranks have the same paths.
void settle_paths(Json& document, Problems& problems);

}  // namespace hopscotch
