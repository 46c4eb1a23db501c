// SPDX-License-Identifier: Apache-2.0
// The files of models that a run began with (plug-ins, TorchScript, initial weights). It goes on with these, and with no
// other: otherwise the writer of an order could choose the code that the job executes.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace hopscotch {

struct Experiment;
struct ModelConfig;
struct PreparedRun;

// xxh64 of each file of model_files(). Throws ConfigError if one cannot be read.
std::map<std::string, std::uint64_t> hashes_of_model_files(Experiment const& experiment);

// Throws CommError that names a file that was replaced since the job began.
void require_same_files(PreparedRun const& prepared);

// A file of this model that the run did not begin with; empty: there is none.
std::string new_file_of(PreparedRun const& prepared, ModelConfig const& model);

// Throws ConfigError if an order in the journal of earlier jobs names such a file.
void refuse_new_files(PreparedRun const& prepared);

}  // namespace hopscotch
