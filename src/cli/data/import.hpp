// SPDX-License-Identifier: Apache-2.0
// `hopscotch data import`: a sub-command for each importer.
#pragma once
#include "cli/common/command.hpp"

namespace hopscotch {

// Parsing throws ConfigError for words that are unknown.
Work add_import(Command command);

}  // namespace hopscotch
