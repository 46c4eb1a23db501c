// SPDX-License-Identifier: Apache-2.0
// The code that a run directory names: model.file of a plug-in or a TorchScript file. A command that only reads a run
// directory executes such a file if the user says so, because the directory may come from another user (docs/security.md).
#pragma once
#include <set>
#include <string>

namespace hopscotch {

struct Experiment;
struct Journal;

enum class RunCode { refused, allowed };
inline RunCode if_allowed(bool allow_code) { return allow_code ? RunCode::allowed : RunCode::refused; }

// model.file of every trial of the run.
std::set<std::string> code_files(Experiment const& experiment, Journal const& journal);

// Allowed files become trusted (model/zoo/trusted_code.hpp). Refused: throws ConfigError that names those files that are not
// trusted yet, if there are some.
void require_allowed(RunCode code, std::set<std::string> files, std::string const& run_dir);

}  // namespace hopscotch
