// SPDX-License-Identifier: Apache-2.0
// Reads the files of earlier jobs in the run directory: the laps of the journal, and the names of the checkpoints that are
// there (usable_files.hpp reads them). Writes nothing.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "job/kept_best.hpp"
#include "rundir/journal.hpp"
#include "rundir/run_directory.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct EarlierJobs {
    RunFacts facts;  // of the job before; if this job extends the run, also the number of trials before
    bool extends = false;
    Journal journal;
    std::map<TrialId, std::vector<SavedState>> files;  // that are there, not checked yet; the furthest first
    KeptBest kept;
};

// The inputs of this job, which must equal those of the run's start.
struct Inputs {
    std::string dataset_hash;
    std::map<std::string, std::uint64_t> files;  // RunFacts::files
    int trainers = 0;
};

// Throws ConfigError if the inputs have changed: the experiment outside section run (search.trials may grow where
// extension.hpp says so), the dataset, a file of the model, or the number of trainers where the strategy's bits depend on
// it. Throws DataError if the journal cannot be read.
EarlierJobs read_earlier_jobs(Experiment const& experiment, Inputs const& inputs);

// Earlier versions trained 0.1 + 2 * 0.1 = 0.30000000000000004 where this one has 0.3. A run that began with such sums goes
// on with them, so that its decisions and its bits stay.
StepValues step_values_of(Experiment experiment, Journal const& journal);

}  // namespace hopscotch
