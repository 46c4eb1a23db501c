// SPDX-License-Identifier: Apache-2.0
// One trial's network, loss and optimizer, in three parts. All three work on the block that `state` is bound to. A caller
// that needs one part takes that part only, and a test can replace one part.
#pragma once
#include <memory>

namespace hopscotch {

class Evaluator;
class TrainingPass;
class TrialState;
class Workspace;
struct Manifest;
struct TrialConfig;

struct TrialModel {
    TrialModel();
    TrialModel(std::shared_ptr<TrialState> of_state, std::unique_ptr<TrainingPass> pass,
               std::unique_ptr<Evaluator> evaluator);
    TrialModel(TrialModel&&) noexcept;
    TrialModel& operator=(TrialModel&&) noexcept;
    ~TrialModel();

    std::shared_ptr<TrialState> state;  // shared with the other two parts
    std::unique_ptr<TrainingPass> training;
    std::unique_ptr<Evaluator> evaluation;
};

// Throws ConfigError if check_model would complain. The workspace outlives the model. The manifest gives the normalisation
// of features and the meaning of labels; its files are not touched.
TrialModel make_trial_model(TrialConfig const& config, Manifest const& manifest, Workspace& workspace);

}  // namespace hopscotch
