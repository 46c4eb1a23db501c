// SPDX-License-Identifier: Apache-2.0
// The code that a run directory names: model.file of a plug-in or a TorchScript file. A command that only reads a run
// directory executes such a file if the user says so, because the directory may be somebody else's (docs/security.md).
#pragma once
#include <set>
#include <string>

namespace hopscotch {

struct Experiment;
struct Journal;

enum class RunCode { refused, allowed };

// model.file of every trial of the run.
std::set<std::string> code_files(Experiment const& experiment, Journal const& journal);

// Throws ConfigError that names the files, unless there are none or they are allowed.
void require_allowed(RunCode code, std::set<std::string> const& files, std::string const& run_dir);

}  // namespace hopscotch
