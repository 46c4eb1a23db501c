// SPDX-License-Identifier: Apache-2.0
// The rule of a parameter server for one part of a trial's parameters, without messages: gradients in, answers out. The
// result depends on the order of arrival alone, so a run and its replay (server_replay.hpp) are the same code. A version is
// a number of updates since the lap began. Two workers, ssp with staleness 1, "a0": worker a's gradient of step 0:
//   a0: version 0, a may read (1 ahead)   a1: a waits   b0: both of step 0 are here: version 1, a and b read it   ...
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "experiment/config.hpp"
#include "model/trial/part_update.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch {

// The common data of all parts of a trial in one lap.
struct ServedLap {
    StrategyConfig config;
    TrainConfig train;
    StepPlan plan;
    std::int64_t train_rows = 0;                          // of an epoch, for the schedule
    std::int64_t steps = 0, samples = 0, reductions = 0;  // the state's counters at the beginning

    // The factor of a gradient: its share of the step's rows; async: 1, since each gradient is an update of its own.
    double share(int worker, std::int64_t step) const;
    // The version at the end of the lap.
    std::int64_t last_version() const;
    // The version that a worker needs after it has sent its gradient of this step. sync and backup: the version that the
    // step makes; ssp: at most `staleness` steps older (Ho et al. 2013); async: any; after the worker's last step: the last
    // one.
    std::int64_t needed_version(int worker, std::int64_t step) const;
    // The number of gradients that complete a step: of all workers with rows in the step; backup: of the first ones (Chen et
    // al. 2016).
    std::int64_t gradients_of(std::int64_t step) const;
};

class ServedPart {
public:
    explicit ServedPart(PartUpdate values) : values_(std::move(values)) {}
    void begin(std::shared_ptr<ServedLap const> lap);

    // The workers that get the parameters now, in this order. staleness: the number of versions between the one that the
    // gradient was computed with and the one that it updates (or would have updated).
    struct Answer {
        int worker = 0;
        std::int64_t step = 0;
        std::int64_t version = 0, staleness = 0;
    };
    std::vector<Answer> take(int worker, std::int64_t step, Buffer gradient);
    // From a worker without rows, which only needs the last version; its step is -1.
    std::vector<Answer> ask(int worker);

    PartUpdate const& values() const { return values_; }
    bool complete() const { return version_ == lap_->last_version(); }
    // Workers in the order in which their gradients came until the lap was complete.
    std::vector<std::uint16_t> const& order() const { return order_; }
    bool somebody_waits() const { return !waiting_.empty(); }

private:
    void combine();
    void update(std::span<float> gradient, std::int64_t rows);
    std::vector<Answer> answer();

    struct Waiting {
        Answer answer;
        std::int64_t needed = 0;
    };
    PartUpdate values_;
    std::shared_ptr<ServedLap const> lap_;
    std::int64_t version_ = 0, samples_ = 0;
    std::vector<std::int64_t> read_;                           // by worker: the version it computes with
    std::map<std::int64_t, std::map<int, Buffer>> gradients_;  // of steps that are not complete, by worker
    std::vector<Waiting> waiting_;
    std::vector<std::uint16_t> order_;
};

}  // namespace hopscotch
