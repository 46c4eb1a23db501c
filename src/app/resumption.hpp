// SPDX-License-Identifier: Apache-2.0
// What a run directory says about a run that another job has begun: which laps are known, and from which file each trial
// goes on. Nothing is written here.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "run/checkpoint.hpp"
#include "run/journal.hpp"
#include "run/run_directory.hpp"

namespace hopscotch {

struct Resumption {
    RunFacts facts;  // as the run began
    Journal journal;
    std::map<TrialId, std::vector<LapSink::Saved>> files;  // whole ones, the furthest first
    std::vector<std::string> damaged;                      // for the user: files that were left out, and why
};

// What the job that goes on has, to be compared with what the run began with.
struct Inputs {
    std::string dataset_hash;
    std::map<std::string, std::uint64_t> files;  // RunFacts::files
    int trainers = 0;
};

// Throws ConfigError if the experiment has changed in anything but section run, if the dataset or a file that the model
// names is another, or if the strategy's bits need the number of trainers that the run began with. DataError for a journal
// that cannot be read.
Resumption read_resumption(Experiment const& experiment, Inputs const& inputs);

}  // namespace hopscotch
