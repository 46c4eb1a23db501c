// SPDX-License-Identifier: Apache-2.0
// Steps that the members of a group make together: each computes the gradient of its own rows, the gradients are all-reduced
// bucket by bucket, and all make the same update. Used by allreduce for whole laps, and by the groups of mop for units.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Group;
class SharedLap;
class StepPlan;
class WeightedSum;
enum class NormStatistics;
struct StrategyConfig;
struct TrialConfig;

// Collective. sum: of this group; on_device: it adds up gradients where the GPU has them. after_step: called with the number
// of steps made.
struct LockStep {
    Group& group;
    WeightedSum& sum;
    bool on_device = false;
    StrategyConfig const& strategy;
    TrialConfig const& config;
};
void train_steps(LockStep const& with, SharedLap& mine, StepPlan const& plan, std::int64_t first_step,
                 std::function<void(std::int64_t)> const& after_step);

// Batch statistics are of each member's own batches. Collective: they become their mean, weighted by rows. Counters that are
// integers become the first member's, as in DistributedDataParallel.
class BufferMean {
public:
    explicit BufferMean(Group& group) : group_(group) {}
    void average(SharedLap& mine, StepPlan const& plan, NormStatistics statistics);

private:
    Group& group_;
    // Members, since an exchange that a shutdown cuts off still points here.
    std::vector<float> floats_;
    std::vector<std::int64_t> integers_;
};

// Of one member, at the end of its training.
struct MemberEnd {
    Outcome outcome = Outcome::finished;
    std::string reason;
    std::vector<UnitRecord> units;
    std::uint64_t hash = 0;  // of the values that must be equal
    double exposed_s = 0;
    std::int64_t sync_rounds = 0;
    std::vector<std::int64_t> staleness;
    double gpu_use = -1;  // of all its units
};

// Collective. Adds the ends of all members to the record; trainers: of the job. Throws Error if they hold different values:
// a broken promise, not a bad trial.
void agree(Group& group, MemberEnd const& mine, LapRecord& record, int trainers);

}  // namespace hopscotch
