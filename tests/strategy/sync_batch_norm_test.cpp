// SPDX-License-Identifier: Apache-2.0
// strategy.batch_norm "sync": K trainers with parts of a batch give what one process gives that trains on the whole batch,
// running statistics included. Threads of 1..4 trainers, and MPI; five shards, so that trainers run out of rows before
// others.
#include <cmath>
#include <stdexcept>

#include "fetch_best.hpp"
#include "whole_batches.hpp"
#include "wrapped_model.hpp"

namespace hopscotch {
namespace sync_batch_norm_test {

using namespace testing;

using Floats = std::vector<float>;

Floats floats_of(ByteView state, StateLayout const& layout, Block block) {
    Floats out;
    for (auto const& tensor : layout.tensors) {
        if (tensor.block != block || tensor.element != Element::float32) continue;
        auto const* const at = reinterpret_cast<float const*>(state.data() + tensor.offset);
        out.insert(out.end(), at, at + tensor.bytes / sizeof(float));
    }
    return out;
}

double largest_difference(Floats const& a, Floats const& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
    return largest;
}

Experiment experiment_on(TemporaryDirectory const& directory, Settings const& settings) {
    auto described = document(make_tiny_dataset(directory.path() / "data", 5, 31).string(), 12, "allreduce");
    described.set("train.epochs", 1);
    described.set("strategy.algorithm", "deterministic");
    for (auto const& [path, value] : settings) described.set(path, value);
    return read_document(described);
}

struct Trained {
    JobResult job;
    std::vector<std::byte> state;  // of trial 0, epoch 0
};

// check: on rank 0, what 1..4 trainers, or those of the mpirun, have made of one trial in one epoch.
void run_one(Settings const& settings, std::function<void(Trained const&, Experiment const&)> const& check,
             std::function<ModelFactory(Rank, int)> const& factory = {}) {
    auto const on_rank = [&](World& world) {
        if (world.rank() != Rank(0)) {
            trainer_main(world, k_test_build, factory ? factory(world.rank(), world.size()) : make_trial_model);
            return barrier(world);
        }
        TemporaryDirectory const directory;
        auto const experiment = experiment_on(directory, settings);
        Trained trained;
        trained.job = run_as_scheduler(world, experiment, 5, {{}}, {.before_end = [&](Pump& pump, JobResult const& job) {
                                           if (job.laps.at({TrialId(0), 0}).outcome != Outcome::finished) return;
                                           auto const best = fetch_best(pump, {TrialId(0), 0}, TrainerId(0));
                                           trained.state.assign(best.bytes().begin(), best.bytes().end());
                                       }});
        check(trained, experiment);
        barrier(world);
    };
    if (mpi_world()) return on_rank(*mpi_world());
    for (int const trainers : trainer_counts()) run_thread_ranks(trainers + 1, on_rank);
}

// The difference to one process with whole batches: of parameters and of running statistics.
struct Difference {
    double parameters = 0, statistics = 0;
};
Difference to_whole_batches(Trained const& trained, Experiment const& experiment) {
    Workers const parts(experiment, TrialId(0), {}, trained.job.owners);
    Workers whole(experiment, TrialId(0), {}, make_owners(5, 1, 1));
    WholeBatches source(experiment, trained.job.owners, parts.plan());
    auto& model = whole.model(0);
    model.training->begin_pass(source, {7, TrialId(0), 0, ShardId(0)}, experiment.train.batch_size);
    for (std::int64_t step = 0; step < parts.plan().steps(); ++step) {
        EXPECT_GT(model.training->next_gradient({}, {}), 0);
        model.training->update(parts.plan().total(step));
    }
    auto const difference = [&](Block block) {
        return largest_difference(floats_of(trained.state, model.state->layout(), block),
                                  floats_of(whole.state(0), model.state->layout(), block));
    };
    return {difference(Block::parameter), difference(Block::buffer)};
}

Settings mlp(char const* statistics, char const* engine = "torch") {
    return {{"train.engine", engine},
            {"model", parse_json_or_throw(R"({"name": "mlp", "hidden": [9, 7], "batch_norm": true})", "test")},
            {"train.optimizer.momentum", 0.5},
            {"strategy.batch_norm", statistics}};
}

class ByEngine : public ::testing::TestWithParam<char const*> {};
INSTANTIATE_TEST_SUITE_P(SyncBatchNorm, ByEngine, ::testing::Values("torch", "lean"));

TEST_P(ByEngine, PartsOfABatchAreTheBatch) {
    run_one(mlp("sync", GetParam()), [](Trained const& trained, Experiment const& experiment) {
        ASSERT_EQ(trained.job.laps.at({TrialId(0), 0}).outcome, Outcome::finished)
            << trained.job.laps.at({TrialId(0), 0}).reason;
        auto const difference = to_whole_batches(trained, experiment);
        EXPECT_LT(difference.parameters, 1e-5) << trained.job.owners.trainers;
        EXPECT_LT(difference.statistics, 1e-5) << trained.job.owners.trainers;
        if (trained.job.owners.trainers == 1) {
            EXPECT_EQ(difference.parameters, 0);
        }
    });
}

TEST(SyncBatchNorm, ImagesToo) {
    auto settings = mlp("sync");
    settings[1].second = parse_json_or_throw(R"({"name": "cnn", "channels": [6, 6]})", "test");
    run_one(settings, [](Trained const& trained, Experiment const& experiment) {
        ASSERT_EQ(trained.job.laps.at({TrialId(0), 0}).outcome, Outcome::finished)
            << trained.job.laps.at({TrialId(0), 0}).reason;
        auto const difference = to_whole_batches(trained, experiment);
        EXPECT_LT(difference.parameters, 1e-5) << trained.job.owners.trainers;
        EXPECT_LT(difference.statistics, 1e-5) << trained.job.owners.trainers;
    });
}

TEST(SyncBatchNorm, LocalStatisticsAreOthers) {
    run_one(mlp("local"), [](Trained const& trained, Experiment const& experiment) {
        if (trained.job.owners.trainers == 1) return;
        auto const difference = to_whole_batches(trained, experiment);
        EXPECT_GT(difference.parameters, 1e-3);
        EXPECT_GT(difference.statistics, 1e-3);
    });
}

// Its own variance would be 0 / 0: said, not trained.
TEST(SyncBatchNorm, OneRowATrainerIsTooFewForLocalStatistics) {
    auto settings = mlp("local");
    settings.emplace_back("train.batch_size", 4);
    run_one(settings, [](Trained const& trained, Experiment const&) {
        auto const& record = trained.job.laps.at({TrialId(0), 0});
        if (trained.job.owners.trainers < 3) return;  // two rows each, or four
        EXPECT_EQ(record.outcome, Outcome::failed);
        EXPECT_NE(record.reason.find("batch norm needs more than one value per channel"), std::string::npos)
            << record.reason;
    });
}

// An update of several batches, of which trainers have different numbers; activations in bf16.
TEST(SyncBatchNorm, NobodyWaitsForTrainersWithFewerBatches) {
    auto settings = mlp("sync");
    settings.emplace_back("train.accumulate", 3);
    settings.emplace_back("train.precision", "bf16");
    run_one(settings, [](Trained const& trained, Experiment const&) {
        auto const& lap = trained.job.laps.at({TrialId(0), 0});
        EXPECT_EQ(lap.outcome, Outcome::finished) << lap.reason;
    });
}

// A real model that throws in the n-th sum of its batch statistics.
class Faulty final : public testing::WrappedPass {
public:
    Faulty(std::unique_ptr<TrainingPass> pass, int at) : WrappedPass(std::move(pass)), at_(at) {}
    void sum_with(SumOverGroup sum) override {
        if (!sum) return WrappedPass::sum_with({});
        WrappedPass::sum_with([this, sum](std::span<double> values) {
            if (--at_ == 0) throw std::runtime_error("no memory left");
            sum(values);
        });
    }

private:
    int at_;
};

// In the first forward pass, in the first backward pass, in the second step: the last trainer's trouble ends the trial, and
// the others neither wait for it nor take their sums for its.
TEST_P(ByEngine, WhoFailsInTheMiddleOfAPassHoldsNobodyUp) {
    for (int const at : few_on_ranks<int>({5, 13, 1, 8}, 1))
        run_one(
            mlp("sync", GetParam()),
            [](Trained const& trained, Experiment const&) {
                auto const& lap = trained.job.laps.at({TrialId(0), 0});
                if (trained.job.owners.trainers == 1) return;  // sums nothing
                EXPECT_EQ(lap.outcome, Outcome::failed);
                EXPECT_NE(lap.reason.find("no memory left"), std::string::npos) << lap.reason;
            },
            [at](Rank rank, int ranks) -> ModelFactory {
                if (rank.value + 1 < ranks) return make_trial_model;
                return [at](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
                    auto model = make_trial_model(config, manifest, workspace);
                    model.training = std::make_unique<Faulty>(std::move(model.training), at);
                    return model;
                };
            });
}

}  // namespace sync_batch_norm_test
}  // namespace hopscotch
