// SPDX-License-Identifier: Apache-2.0
// allreduce and model_averaging through the whole path of GPUs, on trainers that take host memory for a GPU's: the ranks are
// threads, and NCCL is a fake that adds up across them. It must train as the path through the courier does.
#include <cmath>
#include <cstring>

#include "apart_model.hpp"
#include "comm/fake_nccl.hpp"
#include "core/log.hpp"
#include "fetch_best.hpp"
#include "group_oracle.hpp"
#include "strategy/common/trainer_gpu.hpp"
#include "strategy/together/buckets.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace nccl_strategies_test {

using namespace testing;

enum class Through { courier, nccl };

struct Trained {
    JobResult job;
    std::vector<std::byte> state;                  // of trial 0, after its epoch; empty if it has not finished
    std::vector<std::shared_ptr<FakeNccl>> calls;  // by trainer
    std::string error;                             // that ended the job
};

struct Case {
    Settings settings;
    int trainers = 2;
    ModelFactory factory = make_trial_model;  // of the last trainer
    std::function<void(int trainer, FakeNccl&)> spoil = [](int, FakeNccl&) {};
    ModelFactory others = make_trial_model;
};

Experiment experiment_on(TemporaryDirectory const& directory, Settings const& settings) {
    auto described = document(make_tiny_dataset(directory.path() / "data", 5, 31).string(), 12, "allreduce");
    described.set("train.epochs", 1);
    described.set("run.deterministic", false);
    for (auto const& [path, value] : settings) described.set(path, value);
    return read_document(described);
}

TrainerGpu fake_gpu(int trainer, std::shared_ptr<FakeNccl> const& calls) {
    return {{"cuda:0", "A fake", "GPU-" + std::to_string(trainer), 1'000'000, "CUDA 0.0"},
            [calls](std::string const&) { return calls; }};
}

Trained train(Through through, Case const& wanted) {
    Trained out;
    auto const fabric = std::make_shared<FakeFabric>(wanted.trainers);
    for (int k = 0; k < wanted.trainers; ++k) {
        out.calls.push_back(std::make_shared<FakeNccl>(fabric, FakeNccl::Compute::host));
        wanted.spoil(k, *out.calls.back());
    }
    run_thread_ranks(wanted.trainers + 1, [&](World& world) {
        if (world.rank() != Rank(0)) {
            auto const k = world.rank().value - 1;
            auto const& factory = k + 1 == wanted.trainers ? wanted.factory : wanted.others;
            auto const gpu =
                through == Through::nccl ? fake_gpu(k, out.calls.at(static_cast<std::size_t>(k))) : TrainerGpu{};
            return trainer_main(world, k_test_build, factory, gpu);
        }
        TemporaryDirectory const directory;
        auto const experiment = experiment_on(directory, wanted.settings);
        try {
            out.job = run_as_scheduler(world, experiment, 5, {{}}, {.before_end = [&](Pump& pump, JobResult const& job) {
                                           if (job.laps.at({TrialId(0), 0}).outcome != Outcome::finished) return;
                                           auto const best = fetch_best(pump, {TrialId(0), 0}, TrainerId(0));
                                           out.state.assign(best.bytes().begin(), best.bytes().end());
                                       }});
        } catch (CommError const& error) {
            out.error = error.what();
            try {
                world.abort(1);
            } catch (Error const&) {  // so it tells this thread, too
            }
        }
    });
    return out;
}

// Parameters and slots are floats; what lies behind them is compared as it is.
double largest_difference(std::vector<std::byte> const& a, std::vector<std::byte> const& b) {
    EXPECT_EQ(a.size(), b.size());
    EXPECT_FALSE(a.empty());
    double largest = 0;
    for (std::size_t i = 0; i + sizeof(float) <= std::min(a.size(), b.size()); i += sizeof(float)) {
        float x = 0, y = 0;
        std::memcpy(&x, &a[i], sizeof x);
        std::memcpy(&y, &b[i], sizeof y);
        if (std::isfinite(x) && std::isfinite(y)) largest = std::max(largest, std::abs(double{x} - double{y}));
    }
    return largest;
}

std::vector<Settings> cases() {
    auto const object = [](char const* text) { return parse_json_or_throw(text, "test"); };
    return {
        {},
        {{"strategy.bucket_mb", 1e-5}, {"train.optimizer.momentum", 0.9}},
        {{"strategy.batch", "per_worker"}, {"train.optimizer", object(R"({"name": "adam"})")}, {"train.clip_norm", 0.5}},
        {{"train.accumulate", 3}, {"train.ema", 0.9}},
        {{"model", object(R"({"name": "lenet"})")}, {"strategy.first_bucket_mb", 0.01}, {"strategy.bucket_mb", 0.02}},
    };
}

TEST(NcclAllreduce, TrainsAsTheCourierDoes) {
    for (auto const& settings : cases())
        for (int const trainers : trainer_counts(2)) {
            Case const wanted{settings, trainers};
            auto const plain = train(Through::courier, wanted);
            auto const nccl = train(Through::nccl, wanted);
            ASSERT_EQ(nccl.error, "");
            auto const &a = plain.job.laps.at({TrialId(0), 0}), &b = nccl.job.laps.at({TrialId(0), 0});
            ASSERT_EQ(b.outcome, Outcome::finished) << b.reason;
            EXPECT_EQ(a.sync.rounds, b.sync.rounds);
            EXPECT_LT(largest_difference(plain.state, nccl.state), 2e-5) << trainers;
            EXPECT_NEAR(a.valid.loss, b.valid.loss, 1e-4);
            if (trainers == 2) {
                EXPECT_EQ(to_hex(a.state.hash), to_hex(b.state.hash)) << "two terms have one order";
            }
            EXPECT_GT(gradient_bytes(plain.job), 0U);
            EXPECT_EQ(gradient_bytes(nccl.job), 0U) << "nothing of a gradient went through the courier";
            for (auto const& calls : nccl.calls) {
                EXPECT_EQ(calls->begins, 1) << "one bring-up";
                EXPECT_GE(calls->sums, b.sync.rounds);
                EXPECT_EQ(calls->destroys, 1) << "it ends in good order";
                EXPECT_EQ(calls->aborts, 0);
            }
            for (auto const& calls : plain.calls) EXPECT_EQ(calls->begins, 0);
        }
}

Settings averaging(char const* strategy, Settings more = {}) {
    more.insert(more.begin(), {"strategy", parse_json_or_throw(strategy, "test")});
    more.emplace_back("run.deterministic", false);
    return more;
}

// What is averaged, zeroed and stepped with is the state that the GPU trains on, in a round that is not the last one too.
TEST(NcclModelAveraging, TrainsAsTheCourierDoes) {
    auto const adam = parse_json_or_throw(R"({"name": "adam"})", "test");
    std::vector<Settings> const all{
        averaging(R"({"name": "model_averaging"})"),
        averaging(R"({"name": "model_averaging", "every": 2, "momentum": "averaged"})",
                  {{"train.optimizer", adam}, {"train.ema", 0.9}}),
        averaging(R"({"name": "model_averaging", "every": 1, "momentum": "reset", "bucket_mb": 1e-5})",
                  {{"train.optimizer.momentum", 0.9}}),
        averaging(R"({"name": "model_averaging", "every": 2, "outer": {"lr": 0.7, "momentum": 0.9, "nesterov": true}})"),
    };
    for (auto const& settings : all)
        for (int const trainers : trainer_counts(2)) {
            Case const wanted{settings, trainers, make_apart, [](int, FakeNccl&) {}, make_apart};
            auto const plain = train(Through::courier, {settings, trainers}), nccl = train(Through::nccl, wanted);
            ASSERT_EQ(nccl.error, "");
            auto const &a = plain.job.laps.at({TrialId(0), 0}), &b = nccl.job.laps.at({TrialId(0), 0});
            ASSERT_EQ(b.outcome, Outcome::finished) << b.reason;
            EXPECT_EQ(a.sync.rounds, b.sync.rounds);
            EXPECT_LT(largest_difference(plain.state, nccl.state), 2e-5) << trainers;
            if (trainers == 2) {
                EXPECT_EQ(to_hex(a.state.hash), to_hex(b.state.hash)) << "two terms have one order";
            }
            EXPECT_EQ(to_hex(a.state.hash), to_hex(train(Through::courier, wanted).job.laps.at({TrialId(0), 0}).state.hash))
                << "fetched and stored";
            EXPECT_GT(gradient_bytes(plain.job), 0U);
            EXPECT_EQ(gradient_bytes(nccl.job), 0U) << "no mean went through the courier";
            for (auto const& calls : nccl.calls) {
                EXPECT_GE(calls->sums, b.sync.rounds);
                EXPECT_EQ(calls->destroys, 1) << "it ends in good order";
            }
        }
}

TEST(NcclModelAveraging, IsNotUsedByAMaster) {
    auto const trained = train(Through::nccl, {averaging(R"({"name": "model_averaging", "via": "master"})"), 2});
    EXPECT_EQ(trained.calls[0]->begins, 0);
    EXPECT_GT(gradient_bytes(trained.job), 0U);
}

TEST(NcclAllreduce, OneBucketIsOneSumAStep) {
    auto const trained = train(Through::nccl, {{}, 2});
    EXPECT_EQ(trained.calls[0]->sums, trained.job.laps.at({TrialId(0), 0}).sync.rounds);
}

TEST(NcclAllreduce, IsNotUsedWhereBitsMustBeTheSame) {
    for (Settings const& settings :
         {Settings{{"run.deterministic", true}}, Settings{{"strategy.algorithm", "deterministic"}},
          Settings{{"strategy.collectives", "mpi"}}, Settings{{"strategy.batch_norm", "sync"}}}) {
        auto const trained = train(Through::nccl, {settings, 2});
        EXPECT_EQ(trained.calls[0]->begins, 0) << settings.front().first;
        EXPECT_GT(gradient_bytes(trained.job), 0U);
    }
}

TEST(NcclAllreduce, OneTrainerMayBeToldTo) {
    EXPECT_EQ(train(Through::nccl, {{}, 1}).calls[0]->begins, 0);
    auto const told = train(Through::nccl, {{{"strategy.collectives", "nccl"}}, 1});
    EXPECT_GT(told.calls[0]->sums, 0);
    EXPECT_EQ(to_hex(told.job.laps.at({TrialId(0), 0}).state.hash),
              to_hex(train(Through::courier, {{}, 1}).job.laps.at({TrialId(0), 0}).state.hash));
}

struct Watched {
    int throws_at = -1;  // step
    std::atomic<int> zeroed = 0;
};

// What is launched behind a mean that no one has waited for could keep the host waiting, without a deadline.
class Watching final : public testing::WrappedPass {
public:
    Watching(std::unique_ptr<TrainingPass> pass, FakeNccl const& calls) : WrappedPass(std::move(pass)), calls_(calls) {}
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        EXPECT_EQ(calls_.unseen_marks(), 0);
        return WrappedPass::next_gradient(ready, on_batch);
    }

private:
    FakeNccl const& calls_;
};

TEST(NcclModelAveraging, NoStepIsLaunchedBehindAMean) {
    FakeNccl const* calls = nullptr;
    Case wanted{averaging(R"({"name": "model_averaging", "every": 1})"), 2};
    wanted.spoil = [&calls](int, FakeNccl& last) { calls = &last; };
    wanted.factory = [&calls](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        model.training = std::make_unique<Watching>(std::move(model.training), *calls);
        return model;
    };
    auto const trained = train(Through::nccl, wanted);
    EXPECT_EQ(trained.job.laps.at({TrialId(0), 0}).outcome, Outcome::finished);
    EXPECT_GT(trained.calls[1]->sums, 2);
}

// May throw in a step; the gradient stays where the real model has it.
class Faulty final : public testing::WrappedPass {
public:
    Faulty(std::unique_ptr<TrainingPass> pass, Watched& watched) : WrappedPass(std::move(pass)), watched_(watched) {}
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        if (++steps_ == watched_.throws_at) throw std::runtime_error("no memory left");
        return WrappedPass::next_gradient(ready, on_batch);
    }
    void zero_gradient() override {
        ++watched_.zeroed;
        WrappedPass::zero_gradient();
    }

private:
    Watched& watched_;
    int steps_ = 0;
};

ModelFactory watched_by(Watched& watched) {
    return [&watched](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
        auto model = make_trial_model(config, manifest, workspace);
        model.training = std::make_unique<Faulty>(std::move(model.training), watched);
        return model;
    };
}

// Five shards on four trainers: the last one is through after half of the steps.
TEST(NcclAllreduce, WhoHasNoRowsLeftAddsZeros) {
    Watched watched;
    auto const trained = train(Through::nccl, {{}, 4, watched_by(watched)});
    EXPECT_EQ(trained.job.laps.at({TrialId(0), 0}).outcome, Outcome::finished);
    EXPECT_GT(watched.zeroed, 0);
    EXPECT_LT(watched.zeroed, trained.calls[3]->sums);
}

TEST(NcclAllreduce, ZeroIsZeroWhereverTheGradientLies) {
    TemporaryDirectory const directory;
    auto const experiment = experiment_on(directory, {});
    Workers workers(experiment, TrialId(0), {}, make_owners(5, 2, 1));
    workers.begin_epoch(0);
    ASSERT_GT(workers.next_gradient(0), 0);
    auto const values = workers.model(0).training->device_gradient();
    ASSERT_TRUE(values);
    std::span const gradient(values->data, values->size);
    EXPECT_EQ(gradient.size() * sizeof(float), workers.model(0).state->layout().end_of(Block::parameter));
    EXPECT_TRUE(std::ranges::any_of(gradient, [](float x) { return x != 0; }));
    workers.model(0).training->zero_gradient();
    EXPECT_TRUE(std::ranges::all_of(gradient, [](float x) { return x == 0; }));
}

TEST(NcclStrategies, ATrialThatFailsOnOneTrainerHoldsNobodyUp) {
    for (Settings const& settings :
         {Settings{}, averaging(R"({"name": "model_averaging", "every": 1, "momentum": "averaged"})")}) {
        Watched watched{3};
        Case const wanted{settings, 3, watched_by(watched)};
        auto const trained = train(Through::nccl, wanted);
        ASSERT_EQ(trained.error, "");
        auto const& lap = trained.job.laps.at({TrialId(0), 0});
        EXPECT_EQ(lap.outcome, Outcome::failed);
        EXPECT_NE(lap.reason.find("no memory left"), std::string::npos) << lap.reason;
        EXPECT_GT(trained.calls[0]->sums, 3);
        EXPECT_EQ(trained.calls[0]->sums, trained.calls[2]->sums) << "it goes on adding, zeros or what it has";
        EXPECT_EQ(trained.calls[0]->destroys, 1);
    }
}

// What NCCL reports on one GPU ends the job, with its words and the step; the others leave as soon as rank 0 says so.
struct Broken {
    bool early;
    Settings settings;
    char const* what;
};

TEST(NcclStrategies, AnErrorOfNcclEndsTheJobAndNamesTheStep) {
    std::vector<Broken> const all{{true, {}, "bring-up"},
                                  {false, {}, "gradient of trial 0, epoch 0, step 4"},
                                  {false, averaging(R"({"name": "model_averaging", "every": 1})"),
                                   "mean of parameters of trial 0, epoch 0, step "}};
    for (auto const& [early, settings, what] : all) {
        Case wanted{settings, 3};
        wanted.settings.emplace_back("run.stall_s", 60);
        wanted.spoil = [early = early](int trainer, FakeNccl& calls) {
            if (trainer != 1) return;
            calls.refuses = early;
            calls.fails_at_sum = early ? -1 : 4;
        };
        auto const trained = train(Through::nccl, wanted);
        for (auto const* part : {"rank 2", "unhandled system error", what})
            EXPECT_NE(trained.error.find(part), std::string::npos) << trained.error;
        EXPECT_EQ(trained.calls[1]->aborts, 1);
    }
}

}  // namespace nccl_strategies_test
}  // namespace hopscotch
