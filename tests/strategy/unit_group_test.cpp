// SPDX-License-Identifier: Apache-2.0
// strategy.group_size: groups of trainers that train mop's units together, bit for bit as G workers in one loop, on any
// number of trainers; and with one bundle as allreduce on the same shards. Threads, and MPI.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "group_oracle.hpp"
#include "wrapped_model.hpp"

namespace hopscotch {
namespace unit_group_test {

using namespace testing;

constexpr int k_shards = 6;

Json object(char const* text) { return parse_json_or_throw(text, "test"); }

Experiment experiment_of(std::string const& data, int group_size, Settings const& settings) {
    auto described = document(data, 12, "mop");
    described.set("strategy.group_size", group_size);
    for (auto const& [path, value] : settings) described.set(path, value);
    return read_document(described);
}

// G models, each with a state of its own: no strategy, no plan of steps, no messages.
class GroupAlone {
public:
    GroupAlone(Experiment const& experiment, TrialId trial, Assignment const& assignment)
        : experiment_(experiment), manifest_(read_manifest(experiment.data.path)), trial_(trial) {
        Problems problems("oracle");
        config_ = resolve(experiment, assignment, problems);
        problems.throw_if_any();
        for (int k = 0; k < size(); ++k) {
            auto& member = members_.emplace_back(std::make_unique<Member>());
            member->model = make_trial_model(config_, manifest_, member->workspace);
            auto const bytes = member->model.state->layout().bytes;
            member->memory.resize(bytes + 64);
            auto* const at = member->memory.data();
            member->state = MutableBytes(at + (64 - reinterpret_cast<std::uintptr_t>(at) % 64), bytes);
        }
        first().model.state->initialise(first().state, static_cast<std::uint64_t>(experiment.seed), trial);
    }

    // Hashes after the units of an epoch, in the order of route_of.
    std::vector<std::uint64_t> train(int epoch) {
        std::vector<std::uint64_t> out;
        int const bundles = static_cast<int>(manifest_.train.size()) / size();
        auto const route = route_of(trial_, bundles, experiment_.strategy);
        for (int step = 0; step < bundles; ++step) {
            int const way = route.direction == Direction::forward ? step : bundles - step;
            unit((route.first.value + way) % bundles, epoch);
            out.push_back(state_hash(first().state, first().model.state->layout()));
        }
        return out;
    }

private:
    struct Member {
        Workspace workspace{"cpu", 1};
        TrialModel model;
        std::vector<std::byte> memory;
        MutableBytes state;
        std::unique_ptr<ShardSource> source;
        std::int64_t rows = 0, all_rows = 0;
    };

    int size() const { return experiment_.strategy.group_size; }
    Member& first() { return *members_.front(); }

    std::int64_t batch_of(int k) const {
        auto const batch = config_.train.batch_size;
        bool const split = experiment_.strategy.batch == GroupBatch::split;
        return split ? batch / size() + (k < batch % size() ? 1 : 0) : batch;
    }

    void unit(int bundle, int epoch) {
        for (int k = 0; k < size(); ++k) {
            auto& member = *members_[static_cast<std::size_t>(k)];
            std::ranges::copy(first().state, member.state.begin());
            member.model.state->bind(member.state);
            ShardId const shard(bundle * size() + k);
            member.source = shard_in_memory(read_shard(experiment_.data.path, manifest_.train[shard.index()], manifest_));
            member.model.training->begin_pass(
                *member.source, {static_cast<std::uint64_t>(experiment_.seed), trial_, epoch, shard}, batch_of(k));
            member.all_rows = 0;
        }
        while (step()) {
        }
        for (auto& member : members_) member->model.training->end_pass();
        average_buffers();
    }

    bool step() {
        std::int64_t total = 0;
        for (auto& member : members_) {
            member->rows = member->model.training->next_gradient({}, {});
            if (member->rows == 0) std::ranges::fill(member->model.training->gradient(), 0.0F);
            member->all_rows += member->rows;
            total += member->rows;
        }
        if (total == 0) return false;
        std::vector<float> sum;
        for (auto& member : members_) {
            auto const share = static_cast<float>(static_cast<double>(member->rows) / static_cast<double>(total));
            auto const gradient = member->model.training->gradient();
            bool const begins = sum.empty();
            for (std::size_t i = 0; i < gradient.size(); ++i)
                begins ? sum.push_back(gradient[i] * share) : void(sum[i] += gradient[i] * share);
        }
        for (auto& member : members_) {
            std::ranges::copy(sum, member->model.training->gradient().begin());
            member->model.training->update(total);
        }
        return true;
    }

    // Floats by rows; integers are the first member's.
    void average_buffers() {
        double all = 0;
        for (auto const& member : members_) all += static_cast<double>(member->all_rows);
        for (auto const& tensor : first().model.state->layout().tensors) {
            if (tensor.block != Block::buffer || tensor.element != Element::float32) continue;
            for (std::size_t i = 0; i < tensor.bytes / sizeof(float); ++i) {
                float sum = 0;
                for (std::size_t k = 0; k < members_.size(); ++k) {
                    float value = 0;
                    std::memcpy(&value, members_[k]->state.data() + tensor.offset + i * sizeof value, sizeof value);
                    value *= static_cast<float>(static_cast<double>(members_[k]->all_rows) / all);
                    sum = k == 0 ? value : sum + value;
                }
                std::memcpy(first().state.data() + tensor.offset + i * sizeof sum, &sum, sizeof sum);
            }
        }
    }

    Experiment const& experiment_;
    Manifest manifest_;
    TrialId trial_;
    TrialConfig config_;
    std::vector<std::unique_ptr<Member>> members_;
};

void expect_as_alone(JobResult const& job, Experiment const& experiment) {
    auto const trials = two_trials();
    auto const size = static_cast<std::size_t>(experiment.strategy.group_size);
    for (std::size_t t = 0; t < trials.size(); ++t) {
        GroupAlone alone(experiment, TrialId(t), trials[t]);
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const hashes = alone.train(epoch);
            auto const& lap = job.laps.at({TrialId(t), epoch});
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            ASSERT_EQ(lap.units.size(), static_cast<std::size_t>(k_shards));
            for (std::size_t u = 0; u < lap.units.size(); ++u) {
                auto const& unit = lap.units[u];
                EXPECT_EQ(to_hex(unit.state_hash), to_hex(hashes[u / size])) << "trial " << t << " epoch " << epoch;
                EXPECT_EQ(unit.trainer, job.owners.of(unit.shard));
                EXPECT_EQ(unit.rows, unit.shard == ShardId(0) ? 32 : 31);
            }
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(hashes.back()));
            EXPECT_EQ(lap.valid.rows, k_shards * 11);
            ASSERT_EQ(lap.valid.trainers.size(), size);
            EXPECT_EQ(lap.valid.trainers.front(), lap.home);
        }
    }
}

void run_groups(World& world, int group_size, Settings const& settings) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", k_shards, 31).string();
    auto const experiment = experiment_of(data, group_size, settings);
    SCOPED_TRACE(std::to_string(group_size) + " of " + std::to_string(world.size() - 1) + " trainers");
    expect_as_alone(run_as_scheduler(world, experiment, k_shards, two_trials()), experiment);
    barrier(world);
}

// One group, several, and a trainer that is in none.
TEST(UnitGroup, EqualsWorkersInOneLoopOnAnyNumberOfTrainers) {
    std::vector<Settings> const cases{
        {{"train.optimizer.momentum", 0.9}},
        {{"model", object(R"({"name": "lenet", "dropout": 0.3})")}, {"train.optimizer", object(R"({"name": "adam"})")}},
        {{"strategy.batch", "per_worker"}, {"train.accumulate", 2}, {"train.ema", 0.9}},
        {{"model", object(R"({"name": "resnet20", "width": 2})")}, {"train.clip_norm", 0.5}},
    };
    for (auto const& settings : few_on_ranks(cases, 2))
        for (int const group_size : {2, 3})
            for (int const trainers : long_suite() ? std::vector{2, 3, 5, 6} : std::vector{3, 6}) {
                if (!mpi_world() && group_size > trainers) continue;
                on_every_rank(trainers + 1, [&](World& world) {
                    if (group_size < world.size()) run_groups(world, group_size, settings);
                });
                if (mpi_world()) break;  // the number of trainers is mpirun's
            }
}

JobResult result_of(World& world, std::string const& data, Json const& strategy) {
    auto described = document(data, 12, "mop");
    described["strategy"] = strategy;
    described.set("model", object(R"({"name": "lenet", "dropout": 0.3})"));
    return run_as_scheduler(world, read_document(described), 2, {{{"train.optimizer.lr", 0.05}}});
}

// Two trainers, two shards, one bundle: the same sums, in the same order, of the same rows.
TEST(UnitGroup, WithOneBundleHasTheBitsOfAllreduce) {
    if (mpi_world()) return;  // needs exactly two trainers; the case before compares on mpirun's
    std::vector<JobResult> jobs;
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", 2, 31).string();
    for (auto const* strategy : {R"({"name": "allreduce"})", R"({"name": "mop", "group_size": 2})"})
        run_thread_ranks(3, [&](World& world) {
            if (world.rank() != Rank(0)) return trainer_main(world, k_test_build);
            jobs.push_back(result_of(world, data, object(strategy)));
        });
    for (int epoch = 0; epoch < k_epochs; ++epoch) {
        auto const &all = jobs[0].laps.at({TrialId(0), epoch}), &group = jobs[1].laps.at({TrialId(0), epoch});
        ASSERT_EQ(group.outcome, Outcome::finished) << group.reason;
        EXPECT_EQ(to_hex(group.state.hash), to_hex(all.state.hash)) << epoch;
        EXPECT_EQ(to_hex(group.state.end_hash), to_hex(all.state.end_hash)) << epoch;
        EXPECT_EQ(group.sync.rounds, all.sync.rounds);
        EXPECT_EQ(group.valid.loss, all.valid.loss);
        EXPECT_EQ(group.valid.trainers, (std::vector{TrainerId(0), TrainerId(1)}));
        EXPECT_EQ(group.valid.trainers, all.valid.trainers);
        ASSERT_EQ(group.units.size(), all.units.size());
        for (std::size_t u = 0; u < all.units.size(); ++u) EXPECT_EQ(group.units[u].loss_sum, all.units[u].loss_sum);
    }
    EXPECT_EQ(jobs[1].totals.bytes[static_cast<std::size_t>(Traffic::state)], 0U) << "one group: all steps are stays";
}

// Throws on the first batch of shard 3, in epoch 1: shard 3 is the second member's.
class FaultyPass final : public WrappedPass {
public:
    using WrappedPass::WrappedPass;
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        if (address.epoch == 1 && address.shard == ShardId(3)) throw std::runtime_error("no memory left");
        WrappedPass::begin_pass(shard, address, batch_size);
    }
};

ModelFactory faulty(bool whole_model) {
    return [whole_model](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        if (config.train.optimizer.lr != 0.02) return model;
        if (whole_model) throw std::runtime_error("no such layer");
        model.training = std::make_unique<FaultyPass>(std::move(model.training));
        return model;
    };
}

// The other members go on with the steps of the unit, and no one hangs. factory: of the second member only.
void expect_failure(bool whole_model, std::string const& reason) {
    run_thread_ranks(5, [&](World& world) {
        bool const faulty_here = whole_model ? world.rank() == Rank(2) : true;
        if (world.rank() != Rank(0))
            return trainer_main(world, k_test_build, faulty_here ? faulty(whole_model) : make_trial_model);
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", 4, 31).string();
        auto const experiment = experiment_of(data, 2, {});
        auto const job = run_as_scheduler(world, experiment, 4, two_trials());
        auto const& lap = job.laps.at({TrialId(1), whole_model ? 0 : 1});
        EXPECT_EQ(lap.outcome, Outcome::failed);
        EXPECT_NE(lap.reason.find(reason), lap.reason.npos) << lap.reason;
        EXPECT_EQ(job.laps.at({TrialId(0), 1}).outcome, Outcome::finished);
    });
}

TEST(UnitGroup, AMembersFailureEndsThatTrialAlone) {
    if (mpi_world()) return;  // needs exactly four trainers
    expect_failure(false, "unit on shard 3 of epoch 1 on trainer 3");
    expect_failure(true, "no such layer");
}

class FaultyEvaluator final : public Evaluator {
public:
    void evaluate(ShardSource&, BatchRange const&, Evaluation&) override { throw std::runtime_error("no such column"); }
    std::int64_t evaluation_batches(std::int64_t rows) const override { return rows; }
    std::vector<float> predict(ShardSource&, BatchRange const&) override { return {}; }
};

TEST(UnitGroup, AMembersFailureInValidationEndsThatTrialAlone) {
    if (mpi_world()) return;  // needs exactly four trainers
    auto const factory = [](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        if (config.train.optimizer.lr == 0.02) model.evaluation = std::make_unique<FaultyEvaluator>();
        return model;
    };
    run_thread_ranks(5, [&](World& world) {
        if (world.rank() != Rank(0))
            return trainer_main(world, k_test_build, world.rank() == Rank(2) ? factory : make_trial_model);
        TemporaryDirectory const directory;
        auto const data = make_tiny_dataset(directory.path() / "data", 4, 31).string();
        auto const job = run_as_scheduler(world, experiment_of(data, 4, {}), 4, two_trials());
        auto const& lap = job.laps.at({TrialId(1), 0});
        EXPECT_EQ(lap.outcome, Outcome::failed);
        EXPECT_NE(lap.reason.find("validation of epoch 0 on trainer 1"), lap.reason.npos) << lap.reason;
        EXPECT_NE(lap.reason.find("no such column"), lap.reason.npos) << lap.reason;
        EXPECT_EQ(job.laps.at({TrialId(0), 1}).outcome, Outcome::finished);
    });
}

}  // namespace unit_group_test
}  // namespace hopscotch
