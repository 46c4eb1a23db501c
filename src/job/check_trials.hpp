// SPDX-License-Identifier: Apache-2.0
// Checks that the model zoo and the strategy can train the trials of an experiment. Problems stand at their place in the
// file.
#pragma once

namespace hopscotch {

class Problems;
struct Experiment;
struct PreparedRun;

// Checks the trials one after another, up to the first that has a problem.
void check_trials(PreparedRun const& prepared, Problems& problems);

// For an experiment that the reader has refused: adds the problems of the dataset and of the model's arguments, so that the
// user sees all problems at once. Throws ConfigError.
[[noreturn]] void refuse_with_all_problems(Experiment const& experiment, Problems& problems);

// For trainers that are threads of one process: throws ConfigError if several of them would train a model that draws from
// torch's own random generator.
void check_threads(PreparedRun const& prepared);

}  // namespace hopscotch
