// SPDX-License-Identifier: Apache-2.0
// A run as its directory has it at this moment. Each command that looks at a run reads it here; a job that continues the run
// compares the parts with its own inputs first (job/earlier_jobs.hpp).
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "experiment/config.hpp"
#include "rundir/journal.hpp"
#include "rundir/run_directory.hpp"

namespace hopscotch {

struct RecordedRun {
    std::filesystem::path directory;
    RunFacts facts;         // experiment.json
    Experiment experiment;  // that of the facts, without its risky keys
    Journal journal;        // empty: the first job has just begun

    // The experiment with the last assignment of the trial, which the journal must have. Throws ConfigError for an
    // assignment that is not valid.
    TrialConfig config_of(TrialId trial) const;
    std::string status() const;  // finished, interrupted or failed, as the journal says; running: no job has ended the run
};

// The run may have finished, been interrupted, crashed, or still work. Throws ConfigError if no run has begun in the
// directory; DataError for a damaged file, or an experiment that this version cannot read.
RecordedRun read_run(std::filesystem::path const& directory);

// summary.json; null: no job has ended the run. Throws DataError as read_run(). Apart from the rest: a command that does not
// show the summary does not fail because of it.
Json read_summary(std::filesystem::path const& run_dir);

// The lines of metrics.jsonl, which may be missing. Throws DataError as read_run().
std::vector<Json> read_metric_lines(std::filesystem::path const& run_dir);

// Takes out of an experiment, as a run directory keeps it, the keys that start a command or write elsewhere: the directory
// may come from another user (docs/security.md). No bit of a state depends on them. Returns their names: "run.on_end".
std::vector<std::string> take_out_risky_keys(Json& document);

}  // namespace hopscotch
