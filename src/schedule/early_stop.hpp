// SPDX-License-Identifier: Apache-2.0
// When a trial has stopped learning (train.early_stopping). PURE: a function of the trial's own laps, so that it does not
// matter when and in which order the laps of different trials come in.
#pragma once
#include <string>

#include "experiment/config.hpp"

namespace hopscotch {

class EarlyStop {
public:
    EarlyStop(EarlyStopping const& rule, std::string metric, Mode mode);

    // After every lap, in order. A value that is not finite improves nothing; an improvement is more than min_delta.
    void observe(int epoch, double value);

    bool due() const { return rule_.patience > 0 && bad_epochs_ >= rule_.patience; }

    // Of `laps` in all, with `observed` behind it: up to where no lap can turn out to be one too many.
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
