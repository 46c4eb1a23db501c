// SPDX-License-Identifier: Apache-2.0
// The code that a run directory names: model.file of a plug-in or a TorchScript file. A command that only reads a run
// directory executes such a file if the user says so, because the directory may be somebody else's (docs/security.md).
#pragma once
#include <set>
#include <string>
#include <vector>

namespace hopscotch {

class Json;
struct Experiment;
struct Journal;

enum class RunCode { refused, allowed };
inline RunCode if_allowed(bool allow_code) { return allow_code ? RunCode::allowed : RunCode::refused; }

// model.file of every trial of the run.
std::set<std::string> code_files(Experiment const& experiment, Journal const& journal);

// Allowed files become trusted (model/own/trusted_code.hpp). Refused: throws ConfigError that names those files that are not
// trusted yet, if there are some.
void require_allowed(RunCode code, std::set<std::string> files, std::string const& run_dir);

// Takes out of an experiment, as a run directory keeps it, what starts a command or writes elsewhere. No bit of a state
// depends on it. Allowed: takes nothing. Returns what it took: "run.on_end".
std::vector<std::string> take_out_risky_keys(RunCode code, Json& document);

}  // namespace hopscotch
