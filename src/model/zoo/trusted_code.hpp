// SPDX-License-Identifier: Apache-2.0
// The files of code that this process may execute: plug-ins and TorchScript files that the user's own experiment names, or
// that --allow-code allows. No other file is loaded, whatever a run directory, a journal or an order names
// (docs/security.md).
#pragma once
#include <set>
#include <string>

namespace hopscotch {

// Adds these files, as model.file names them. Any thread.
void trust_code(std::set<std::string> const& files);

bool is_trusted(std::string const& file);

void require_trusted(std::string const& file);  // throws ConfigError

}  // namespace hopscotch
