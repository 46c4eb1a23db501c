// SPDX-License-Identifier: Apache-2.0
// A trial of a run, ready to predict. The weights of the best one are stored (run.keep_best "trial": of each). The state of
// another trial, or of a run that has not finished, comes from a checkpoint, or the trial is trained again, to the same
// bits.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/buffer_pool.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "model/trial/trial_model.hpp"

namespace hopscotch {

class Workspace;

struct TrialChoice {
    std::string run_dir;
    std::optional<int> trial;  // default: the best one
    bool allow_code = false;
};

struct TrainedTrial {
    TrialConfig config;
    Manifest manifest;  // of the training data, without its files; provenance: how rows become features
    TrialModel model;
    std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
    Buffer state;
};

// check: whether the rows to predict fit the training data, before a model is made of numbers that another user may have
// written. Throws ConfigError for a run or trial that cannot predict, Error if a trial that is trained again ends
// differently.
TrainedTrial trained_trial(TrialChoice const& choice, Workspace& workspace,
                           std::function<void(Manifest const&)> const& check);

}  // namespace hopscotch
