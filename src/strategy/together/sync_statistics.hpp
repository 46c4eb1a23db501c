// SPDX-License-Identifier: Apache-2.0
// strategy.batch_norm "sync": a model adds up its batch statistics over the trainers of a group while a pass is under way.
// The numbers of sums in a step may differ: a trainer without rows, or whose model has thrown, sends empty messages until
// all trainers have finished the step. Three trainers, a layer of batch norm, the third has no rows left:
//   1, 2: sum, sum, sum, -      3: -, -, -, -
#pragma once
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace hopscotch {

class Group;
class TrainingPass;
enum class NormStatistics;

class SyncStatistics {
public:
    // The pass has sums until this is destroyed; none are needed for `local`, or for one trainer.
    SyncStatistics(Group& group, TrainingPass& training, NormStatistics statistics);
    ~SyncStatistics();
    SyncStatistics(SyncStatistics const&) = delete;
    SyncStatistics& operator=(SyncStatistics const&) = delete;

    void begin_step(std::string what) { what_ = std::move(what); }  // for errors
    void end_step();  // after this trainer's part of the step. Throws the exceptions of the sums.

private:
    void sum(std::span<double> values);

    Group& group_;
    TrainingPass& training_;
    bool on_;
    std::string what_;
    std::exception_ptr broken_;  // must not pass through autograd, where it would look like the model's
};

}  // namespace hopscotch
