// SPDX-License-Identifier: Apache-2.0
// train.early_stopping: when a trial has stopped learning. PURE: a function of the trial's own laps. The order in which laps
// of different trials come in does not matter.
#pragma once
#include <string>

#include "experiment/config.hpp"

namespace hopscotch {

class EarlyStop {
public:
    EarlyStop(EarlyStopping const& rule, std::string metric, Mode mode);

    static EarlyStop never() { return {{}, "", Mode::min}; }

    // Call it after every lap, in order. A value that is not finite does not count as an improvement; an improvement exceeds
    // min_delta.
    void observe(int epoch, double value);

    bool may_be_due() const { return rule_.patience > 0; }
    bool due() const { return rule_.patience > 0 && bad_epochs_ >= rule_.patience; }

    // The number of `laps` that are certain to be trained, after `observed` of them.
    int certain_laps(int observed, int laps) const;

    std::string reason() const;  // "no better val_accuracy for 5 epochs (best 0.91 in epoch 7)"

private:
    EarlyStopping rule_;
    std::string metric_;
    Mode mode_;
    double best_ = 0;
    int best_epoch_ = -1;  // -1: no value has been finite
    int bad_epochs_ = 0;   // since then
};

}  // namespace hopscotch
