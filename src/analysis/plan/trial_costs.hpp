// SPDX-License-Identifier: Apache-2.0
// Seconds of a trial's steps and validations: measured in earlier runs, or given on the command line.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost/step_times.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/assignment.hpp"

namespace hopscotch {

struct PreparedRun;
struct TrialConfig;
enum class Engine;

struct TrialCosts {
    double fixed_s = 0, row_s = 0;  // of a step, and of each of its rows
    double validation_s = 0;        // of an epoch
};

struct GivenCosts {
    std::vector<std::string> like;                 // run directories
    bool allow_code = false;                       // that they name as model.file
    std::optional<double> row_s, step_s, valid_s;  // of the mean trial: of a row, of a step besides its rows, of an epoch
};

double mean_flops(PreparedRun const& prepared);  // of a row, over its trials

class CostTable {
public:
    // Reads the runs. Without any input it looks where --dry-run looks (known_speed.hpp). Throws ConfigError for a run of
    // another dataset.
    CostTable(GivenCosts const& given, PreparedRun const& prepared);

    // mean_flops: of a row, over the trials of the plan.
    TrialCosts of(TrialConfig const& config, Assignment const& assignment, double mean_flops) const;

    bool knows_seconds() const { return given_.row_s || !measured_.empty(); }
    bool knows_fixed() const { return given_.step_s || several_batches_; }
    bool knows_validation() const { return given_.valid_s || !measured_.empty(); }
    double mean_step_s() const { return steps_ > 0 ? seconds_ / steps_ : 0; }  // measured
    bool of_other_step() const { return of_other_step_ && !given_.row_s; }     // of some trials: another train.engine
    std::string source() const;                                                // "measured in runs/a"

private:
    struct Measured {
        StepTimes times;  // of all runs
        double validation_s = 0;
    };
    void add_run(std::string const& directory);

    GivenCosts given_;
    std::string dataset_, dataset_hash_;
    DataSchema schema_;
    std::int64_t validation_rows_;
    std::map<std::string, Measured> measured_;  // by configuration
    double steps_ = 0, seconds_ = 0, flops_ = 0, validation_s_ = 0,
           validation_flops_ = 0;  // of all: for trials without a measurement
    bool several_batches_ = false, of_other_step_ = false;
    Engine engine_;
};

}  // namespace hopscotch
