// SPDX-License-Identifier: Apache-2.0
// What one process would see that trains on whole batches, where K trainers each train a part.
#pragma once
#include "data/batches/batches.hpp"
#include "group_oracle.hpp"

namespace hopscotch::testing {

// Hands out the rows that all trainers together bring to each step of an epoch, one step a batch; make it the source of a
// pass with the configured batch size.
class WholeBatches : public ShardSource {
public:
    WholeBatches(Experiment const& experiment, OwnerTable const& owners, StepPlan const& plan)
        : steps_(plan.steps()), batch_size_(experiment.train.batch_size), rows_(static_cast<std::size_t>(plan.steps())) {
        auto const manifest = read_manifest(experiment.data.path);
        auto const trainers = group_of(owners);
        for (std::size_t k = 0; k < trainers.size(); ++k) {
            std::size_t step = 0;
            auto const local = local_batch(batch_size_, static_cast<int>(k), static_cast<int>(trainers.size()));
            for (auto const shard : own_visits(owners, trainers[k], TrialId(0))) {
                auto const read = read_shard(experiment.data.path, manifest.train[shard.index()], manifest);
                auto const first = static_cast<std::uint32_t>(all_.labels.size());
                all_.features.own().insert(all_.features.own().end(), read.features.begin(), read.features.end());
                all_.labels.insert(all_.labels.end(), read.labels.begin(), read.labels.end());
                auto const order =
                    shuffled_rows(read.rows, {static_cast<std::uint64_t>(experiment.seed), TrialId(0), 0, shard});
                for (auto const& batch : batches(read.rows, local, LastBatch::keep)) {
                    for (auto i = batch.first; i < batch.first + batch.size; ++i)
                        rows_[step].push_back(first + order[static_cast<std::size_t>(i)]);
                    ++step;
                }
            }
        }
        all_.rows = static_cast<std::int64_t>(all_.labels.size());
    }
    std::int64_t rows() const override {
        return steps_ * batch_size_;
    }  // so that a pass has as many batches as there are steps
    void begin(std::span<std::uint32_t const>, std::span<BatchRange const>) override { next_ = 0; }
    PickedRows next() override {
        auto const& picked = rows_[next_++];
        return {all_, picked, picked};
    }

private:
    std::int64_t steps_, batch_size_;
    Shard all_;
    std::vector<std::vector<std::uint32_t>> rows_;
    std::size_t next_ = 0;
};

}  // namespace hopscotch::testing
