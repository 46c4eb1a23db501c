// SPDX-License-Identifier: Apache-2.0
// What strategies that train a trial on all trainers together are compared with: K workers in one loop. Each has a model and
// a state of its own; a caller says what becomes of their gradients or states between the steps.
#pragma once
#include <optional>

#include "alone.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch::testing {

class Workers {
public:
    Workers(Experiment const& experiment, TrialId trial, Assignment const& assignment, OwnerTable const& owners)
        : experiment_(experiment), manifest_(read_manifest(experiment.data.path)), trial_(trial) {
        Problems problems("oracle");
        config_ = resolve(experiment, assignment, problems);
        problems.throw_if_any();
        auto const trainers = group_of(owners);
        for (auto const trainer : trainers) {
            auto worker = std::make_unique<Worker>();
            worker->model = make_trial_model(config_, manifest_, worker->workspace);
            worker->memory.resize(worker->model.state->layout().bytes + 64);
            auto* const at = worker->memory.data();
            worker->state =
                MutableBytes(at + (64 - reinterpret_cast<std::uintptr_t>(at) % 64), worker->model.state->layout().bytes);
            worker->model.state->initialise(worker->state, static_cast<std::uint64_t>(experiment.seed), trial);
            worker->model.state->bind(worker->state);
            for (auto const shard : own_visits(owners, trainer, trial)) {
                worker->shards.push_back(shard);
                worker->sources.push_back(
                    shard_in_memory(read_shard(experiment.data.path, manifest_.train[shard.index()], manifest_)));
            }
            workers_.push_back(std::move(worker));
        }
        bool const split = experiment.strategy.batch == GroupBatch::split;
        for (int k = 0; k < size(); ++k)
            batch_sizes_.push_back(split ? local_batch(config_.train.batch_size, k, size()) : config_.train.batch_size);
        plan_.emplace(make_step_plan({manifest_, owners, config_, trial, batch_sizes_}));
    }

    int size() const { return static_cast<int>(workers_.size()); }
    StepPlan const& plan() const { return *plan_; }
    TrialModel& model(int k) { return workers_[static_cast<std::size_t>(k)]->model; }
    MutableBytes state(int k) { return workers_[static_cast<std::size_t>(k)]->state; }
    TrialConfig const& config() const { return config_; }

    void begin_epoch(int epoch) {
        epoch_ = epoch;
        for (auto& worker : workers_) {
            worker->next = 0;
            worker->open = false;
        }
    }

    // The next gradient of worker k, as its model computes it on its own state; 0 rows and zeros when it has none left.
    std::int64_t next_gradient(int k) {
        auto& worker = *workers_[static_cast<std::size_t>(k)];
        while (true) {
            if (worker.open)
                if (auto const rows = worker.model.training->next_gradient({}, {})) return rows;
            if (worker.next == worker.shards.size()) break;
            if (worker.open) worker.model.training->end_pass();
            auto const shard = worker.shards[worker.next];
            worker.model.training->begin_pass(*worker.sources[worker.next++],
                                              {static_cast<std::uint64_t>(experiment_.seed), trial_, epoch_, shard},
                                              batch_sizes_[static_cast<std::size_t>(k)]);
            worker.open = true;
        }
        std::ranges::fill(worker.model.training->gradient(), 0.0F);
        return 0;
    }

    // A synchronous epoch: sum in rank order of share x gradient, and the same update everywhere.
    void synchronous_epoch(int epoch) {
        begin_epoch(epoch);
        for (std::int64_t step = 0; step < plan().steps(); ++step) {
            std::vector<float> sum;
            for (int k = 0; k < size(); ++k) {
                next_gradient(k);
                auto const share = static_cast<float>(plan().share(k, step));
                auto const gradient = model(k).training->gradient();
                for (std::size_t i = 0; i < gradient.size(); ++i) {
                    auto const term = share == 1 ? gradient[i] : gradient[i] * share;
                    if (k == 0)
                        sum.push_back(term);
                    else
                        sum[i] += term;
                }
            }
            for (int k = 0; k < size(); ++k) {
                std::ranges::copy(sum, model(k).training->gradient().begin());
                model(k).training->update(plan().total(step));
            }
        }
    }

    std::uint64_t hash(int k) { return state_hash(state(k), model(k).state->layout()); }

private:
    struct Worker {
        Workspace workspace{"cpu", 1};
        TrialModel model;
        std::vector<std::byte> memory;
        MutableBytes state;
        std::vector<ShardId> shards;
        std::vector<std::unique_ptr<ShardSource>> sources;
        std::size_t next = 0;
        bool open = false;
    };
    Experiment const& experiment_;
    Manifest manifest_;
    TrialId trial_;
    TrialConfig config_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::int64_t> batch_sizes_;
    std::optional<StepPlan> plan_;
    int epoch_ = 0;
};

using Settings = std::vector<std::pair<std::string, Json>>;  // dotted path, value

inline std::vector<Assignment> two_trials() { return {{{"train.optimizer.lr", 0.05}}, {{"train.optimizer.lr", 0.02}}}; }

// Two trials by this strategy on 1 and 4 trainers (1..4 in the long suite) that are threads, or on those of the mpirun; five
// shards of 31 rows (the first has 32), local batches of a global one of 12. check: on rank 0. factory: of a rank.
inline void run_group(std::string const& strategy, Settings const& settings,
                      std::function<void(JobResult const&, Experiment const&)> const& check, int fewest_trainers = 1,
                      std::function<ModelFactory(World const&)> const& factory = {}) {
    auto const on_rank = [&](World& world) {
        if (world.rank() != Rank(0)) {
            trainer_main(world, k_test_build, factory ? factory(world) : make_trial_model);
            return barrier(world);
        }
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", 5, 31).string(), 12, strategy);
        for (auto const& [path, value] : settings) described.set(path, value);
        auto const experiment = read_document(described);
        check(run_as_scheduler(world, experiment, 5, two_trials()), experiment);
        barrier(world);
    };
    if (mpi_world()) return on_rank(*mpi_world());
    for (int const trainers : trainer_counts(fewest_trainers)) run_thread_ranks(trainers + 1, on_rank);
}

inline std::uint64_t gradient_bytes(JobResult const& job) {
    return job.totals.bytes[static_cast<std::size_t>(Traffic::gradient)];
}

}  // namespace hopscotch::testing
