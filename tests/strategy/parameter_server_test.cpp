// SPDX-License-Identifier: Apache-2.0
// parameter_server against K workers in one loop (bit for bit with sync, any number of servers and size of parts), its modes
// against what they promise, and its bytes against the formula. Threads of 1..4 trainers, and MPI.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>

#include "apart_model.hpp"
#include "comm/codec.hpp"
#include "group_oracle.hpp"
#include "strategy/baselines/parameter_server/part_server.hpp"
#include "strategy/baselines/parameter_server/parts.hpp"
#include "strategy/baselines/parameter_server/server_replay.hpp"
#include "strategy/check.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {
namespace parameter_server_test {

using namespace testing;

Json object(char const* text) { return parse_json_or_throw(text, "test"); }

int trainers_of(JobResult const& job) { return static_cast<int>(job.totals.peak_rss_bytes.size()) - 1; }

struct Sent {
    std::uint64_t gradient = 0, slots = 0;
};

// Of an epoch. A worker sends each gradient and takes parameters once a step of its own, but for parts that its own rank
// serves; slots go to the first worker.
Sent expected_bytes(Workers& workers, JobResult const& job, StrategyConfig const& config) {
    RankGroup group;
    for (auto const trainer : group_of(job.owners)) group.ranks.push_back(rank_of(trainer));
    auto const servers = server_ranks(config, group, trainers_of(job));
    auto const& layout = workers.model(0).state->layout();
    auto const parts = parts_of(config, workers.config().train, layout, static_cast<int>(servers.size()));
    Sent out;
    for (auto const& part : parts) {
        auto const rank = servers[static_cast<std::size_t>(part.server)];
        auto const bytes = part.range.size * sizeof(float);
        for (int k = 0; k < workers.size(); ++k)
            if (rank != group.ranks[static_cast<std::size_t>(k)])
                out.gradient += 2 * static_cast<std::uint64_t>(workers.plan().own_steps(k)) * bytes;
        if (rank != group.ranks.front()) out.slots += slot_ranges(layout).size() * bytes;
    }
    return out;
}

void expect_bytes(JobResult const& job, Experiment const& experiment) {
    Sent all;
    for (std::size_t t = 0; t < two_trials().size(); ++t) {
        Workers workers(experiment, TrialId(t), two_trials()[t], job.owners);
        auto const epoch = expected_bytes(workers, job, experiment.strategy);
        all.gradient += k_epochs * epoch.gradient;
        all.slots += k_epochs * epoch.slots;
    }
    EXPECT_EQ(gradient_bytes(job), all.gradient) << experiment.document.at("strategy").dump();
    EXPECT_EQ(job.totals.bytes[static_cast<std::size_t>(Traffic::state)], all.slots)
        << experiment.document.at("strategy").dump();
}

void expect_workers_bits(JobResult const& job, Experiment const& experiment) {
    auto const trials = two_trials();
    for (std::size_t t = 0; t < trials.size(); ++t) {
        Workers workers(experiment, TrialId(t), trials[t], job.owners);
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            workers.synchronous_epoch(epoch);
            auto const& lap = job.laps.at({TrialId(t), epoch});
            ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(workers.hash(0)))
                << "trial " << t << " epoch " << epoch << " K " << workers.size() << " "
                << experiment.document.at("strategy").dump();
            EXPECT_EQ(lap.sync.rounds, workers.plan().steps());
            EXPECT_EQ(lap.state.lr, workers.model(0).training->learning_rate());
        }
    }
    expect_bytes(job, experiment);
}

// E2': as allreduce `deterministic`, whatever the servers and parts; shards that do not divide, trainers with fewer steps.
// The learning rate is the servers' (cosine with warm-up in all of them), the plateau's reductions come from the workers'
// validation.
TEST(ParameterServer, SyncEqualsKWorkersInOneLoop) {
    auto const adam = object(R"({"name": "adam"})");
    auto const decayed = object(R"({"name": "sgd", "momentum": 0.9, "weight_decay": 0.1, "decay": "weights"})");
    std::vector<Settings> const cases{
        {{"strategy.part_mb", 1e-4}, {"train.optimizer.momentum", 0.9}},
        {{"strategy.part_mb", 1e-3}, {"train.optimizer", adam}, {"train.clip_value", 0.01}},
        {{"strategy.servers", 1}, {"strategy.part_mb", 1e-3}, {"train.optimizer", decayed}, {"train.accumulate", 2}},
        {{"strategy.servers", 1}, {"train.clip_norm", 0.5}, {"strategy.batch", "per_worker"}},
        {{"strategy.mode", "ssp"}, {"strategy.staleness", 0}},  // E8
    };
    for (auto const& settings : few_on_ranks(cases, 2))
        run_group("parameter_server", settings, [](JobResult const& job, Experiment const& experiment) {
            expect_workers_bits(job, experiment);
            for (auto const& [key, lap] : job.laps)
                EXPECT_EQ(lap.sync.server_log.empty(), experiment.strategy.server.mode == ServerMode::sync);
        });
}

TEST(ParameterServer, DedicatedServersOwnNoShards) {
    Settings const two{{"strategy.placement", "dedicated"}, {"strategy.servers", 2}, {"train.optimizer.momentum", 0.9}};
    Settings const one{
        {"strategy.placement", "dedicated"}, {"model", object(R"({"name": "lenet"})")}, {"strategy.part_mb", 0.02}};
    auto const check = [](JobResult const& job, Experiment const& experiment) {
        auto const servers = servers_of(experiment.strategy, 1);
        EXPECT_EQ(group_of(job.owners).back().value, trainers_of(job) - servers - 1);
        expect_workers_bits(job, experiment);
    };
    if (!mpi_world() || mpi_world()->size() > 3) run_group("parameter_server", two, check, 3);
    run_group("parameter_server", one, check, 2);
}

// E11: one asynchronous worker is serial training, and no gradient is stale; more are, and every gradient is counted.
TEST(ParameterServer, AsyncWithOneWorkerIsSerial) {
    Settings const settings{
        {"strategy.mode", "async"}, {"train.optimizer", object(R"({"name": "adam"})")}, {"strategy.part_mb", 1e-3}};
    run_group("parameter_server", settings, [](JobResult const& job, Experiment const& experiment) {
        expect_bytes(job, experiment);
        Workers workers(experiment, TrialId(0), two_trials()[0], job.owners);
        std::int64_t gradients = 0;
        for (int k = 0; k < workers.size(); ++k) gradients += workers.plan().own_steps(k);
        for (auto const& [key, lap] : job.laps)
            EXPECT_EQ(std::accumulate(lap.sync.staleness.begin(), lap.sync.staleness.end(), std::int64_t{0}), gradients);
        if (workers.size() > 1) return;
        Alone alone(experiment);
        auto const serial = alone.train(TrialId(0), two_trials()[0]);
        for (int epoch = 0; epoch < k_epochs; ++epoch) {
            auto const& lap = job.laps.at({TrialId(0), epoch});
            EXPECT_EQ(to_hex(lap.state.hash), to_hex(serial.hashes[static_cast<std::size_t>(5 * epoch + 4)]));
            EXPECT_EQ(lap.sync.staleness, (std::vector<std::int64_t>{gradients}));
        }
    });
}

// E10: a serial replay of the log has the bits of the run, whatever the timing was.
TEST(ParameterServer, TheLogReplaysTheRun) {
    std::vector<Settings> const cases{
        {{"strategy.mode", "async"}, {"train.optimizer.momentum", 0.5}, {"strategy.part_mb", 1e-3}},
        {{"strategy.mode", "ssp"}, {"strategy.staleness", 2}, {"train.optimizer", object(R"({"name": "adam"})")}},
        {{"strategy.mode", "backup"}, {"strategy.servers", 1}, {"train.optimizer.momentum", 0.5}},
        {{"strategy.mode", "async"},
         {"model", object(R"({"name": "mlp", "hidden": [9], "batch_norm": true})")},
         {"train.accumulate", 2}},
        {{"strategy.mode", "async"}, {"train.engine", "lean"}, {"strategy.part_mb", 1e-3}, {"train.accumulate", 2}},
    };
    for (auto const& settings : few_on_ranks(cases, 2))
        run_group("parameter_server", settings, [](JobResult const& job, Experiment const& experiment) {
            bool const lean = experiment.train.arithmetic.engine == Engine::lean;
            for (std::size_t t = 0; t < two_trials().size(); ++t) {
                ServerReplay replay(experiment, job.owners), apart(experiment, job.owners, make_apart);
                for (int epoch = 0; epoch < k_epochs; ++epoch) {
                    auto const& lap = job.laps.at({TrialId(t), epoch});
                    ASSERT_EQ(lap.outcome, Outcome::finished) << lap.reason;
                    Lap again;
                    again.trial = TrialId(t);
                    again.epoch = epoch;
                    again.assignment = two_trials()[t];
                    if (!lean) {
                        EXPECT_EQ(to_hex(apart.train(again, lap.sync.server_log, lap)), to_hex(lap.state.hash))
                            << "on a GPU";
                    }
                    EXPECT_EQ(to_hex(replay.train(again, lap.sync.server_log, lap)), to_hex(lap.state.hash))
                        << experiment.document.at("strategy").dump() << " trial " << t << " epoch " << epoch << " of "
                        << trainers_of(job) << " trainers";
                }
            }
        });
}

// A job in which rank 2 computes its first gradient when every other worker has computed `ahead` gradients.
class Gate {
public:
    explicit Gate(int ahead) : ahead_(ahead) {}

    void before_gradient(World const& world, int computed) {
        std::unique_lock lock(mutex_);
        if (computed == 0 && world.rank() == Rank(2)) {
            EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return arrived_ == world.size() - 2; }))
                << arrived_ << " workers of " << world.size() - 2 << " came so far ahead";
            open_ = true;
        } else if (computed == ahead_ && world.rank() != Rank(2)) {
            EXPECT_TRUE(open_) << "rank " << world.rank().value << " is further ahead";
        }
    }
    void after_gradient(World const& world, int computed) {
        std::lock_guard const lock(mutex_);
        if (computed != ahead_ || world.rank() == Rank(2)) return;
        ++arrived_;
        changed_.notify_all();
    }

private:
    int ahead_, arrived_ = 0;
    bool open_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
};

class GatedPass final : public WrappedPass {
public:
    GatedPass(std::unique_ptr<TrainingPass> pass, World const& world, std::shared_ptr<int> computed, Gate& gate)
        : WrappedPass(std::move(pass)), world_(world), computed_(std::move(computed)), gate_(gate) {}
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        gate_.before_gradient(world_, *computed_);
        auto const rows = WrappedPass::next_gradient(ready, on_batch);
        if (rows > 0) gate_.after_gradient(world_, ++*computed_);
        return rows;
    }

private:
    World const& world_;
    std::shared_ptr<int> computed_;  // by this rank, in the whole job
    Gate& gate_;
};

// E9: workers go on until they are `staleness` steps ahead of the slowest, and no further.
TEST(ParameterServer, SspReachesItsBoundAndStaysWithin) {
    Settings settings{
        {"strategy.mode", "ssp"}, {"strategy.staleness", 2}, {"strategy.batch", "per_worker"}, {"train.batch_size", 4}};
    // Processes do not share the gate: there a slow rank makes the others likely to reach the bound.
    if (mpi_world()) settings.emplace_back("run.inject", std::vector<std::string>{"slow:rank=2,factor=12"});
    std::optional<Gate> gate(2 + 1);
    run_group(
        "parameter_server", settings,
        [&](JobResult const& job, Experiment const& experiment) {
            std::size_t most = 0;
            for (auto const& [key, lap] : job.laps) most = std::max(most, lap.sync.staleness.size());
            EXPECT_LE(most, 3U);
            if (!mpi_world()) {
                EXPECT_EQ(most, 3U) << "the bound is reached";
            }
            expect_bytes(job, experiment);
            gate.emplace(2 + 1);  // for the next number of trainers
        },
        2,
        [&](World const& world) {
            if (mpi_world()) return ModelFactory(make_trial_model);
            return ModelFactory([&, computed = std::make_shared<int>(0)](auto&... made_of) {
                auto model = make_trial_model(made_of...);
                auto pass = std::make_unique<GatedPass>(std::move(model.training), world, computed, *gate);
                return TrialModel(std::move(model.state), std::move(pass), std::move(model.evaluation));
            });
        });
}

// What breaks a server is rank 0's to know; its rank's own thread may be waiting for it.
TEST(ParameterServer, WhatItThrowsReachesRankZero) {
    if (mpi_world()) return;  // threads are enough: the message is the same
    run_thread_ranks(2, [](World& world) {
        Courier courier(world, {});
        if (world.rank() == Rank(1)) {
            PartServer const server(courier, {{Rank(1)}, 0});
            EXPECT_TRUE(courier.receive(30)) << "stays until rank 0 has heard";
        } else {
            courier.send(Rank(1), MessageKind::gradient, encode(std::string("damaged")));
            auto const message = courier.receive(10);
            courier.send(Rank(1), MessageKind::test, {});
            ASSERT_TRUE(message && message->kind == MessageKind::fatal);
            auto const text = decode<Fatal>(message->body).text;
            EXPECT_NE(text.find("rank 1 ("), text.npos) << text;
            EXPECT_NE(text.find("): parameter server: "), text.npos) << text;
        }
        courier.close();
    });
}

// The rule itself, one part and gradients in an order of our choice: 32 parameters of sgd with lr 1, and gradients of 1.
class Rule {
public:
    Rule(ServerMode mode, std::vector<std::vector<std::int64_t>> rows, int staleness = 0) : part_(zeros()) {
        StrategyConfig config;
        config.server.mode = mode;
        config.server.staleness = staleness;
        TrainConfig train;
        train.optimizer.lr = 1;
        part_.begin(std::make_shared<ServedLap const>(ServedLap{config, train, StepPlan(std::move(rows)), 100}));
    }

    // Who gets parameters, as "worker:version"; then the staleness of the gradient that came.
    std::string take(int worker, std::int64_t step, float value) {
        auto gradient = pool_->acquire(32 * sizeof(float));
        std::fill_n(reinterpret_cast<float*>(gradient.bytes().data()), 32, value);
        std::string out;
        for (auto const& answer : part_.take(worker, step, std::move(gradient)))
            out += (out.empty() ? "" : " ") + std::to_string(answer.worker) + ":" + std::to_string(answer.version) + "/" +
                   std::to_string(answer.staleness);
        return out;
    }
    float parameter() const { return part_.values().parameters().front(); }
    bool complete() const { return part_.complete(); }

private:
    static PartUpdate zeros() {
        StateLayout layout;
        layout.tensors.push_back({"weight", Block::parameter, Element::float32, {32}, 0, 32 * sizeof(float)});
        layout.bytes = 32 * sizeof(float);
        TrainConfig train;
        std::vector<std::byte> const state(layout.bytes);
        return PartUpdate(train, layout, {0, 32}, state);
    }
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
    ServedPart part_;
};

TEST(ServedPart, SyncAnswersWhenAllHaveCome) {
    Rule rule(ServerMode::sync, {{2, 2}, {2}});
    EXPECT_EQ(rule.take(1, 0, 0.5F), "");
    EXPECT_EQ(rule.take(0, 0, 0.5F), "0:1/0") << "1 has no more rows and waits for the end";
    EXPECT_EQ(rule.take(0, 1, 3), "1:2/0 0:2/0");
    EXPECT_EQ(rule.parameter(), -4);
}

TEST(ServedPart, SspLetsRunAheadByItsBoundAndNoFurther) {
    Rule rule(ServerMode::ssp, {{1, 1, 1, 1}, {1, 1, 1, 1}}, 2);
    EXPECT_EQ(rule.take(0, 0, 1), "0:0/0");
    EXPECT_EQ(rule.take(0, 1, 1), "0:0/1");
    EXPECT_EQ(rule.take(0, 2, 1), "") << "three ahead of a worker that has sent nothing";
    EXPECT_EQ(rule.take(1, 0, 1), "0:1/2 1:1/0");
    EXPECT_EQ(rule.parameter(), -2) << "step 0 of both; later ones wait for their turn";
    EXPECT_EQ(rule.take(1, 1, 1), "1:2/0");
}

TEST(ServedPart, BackupDropsTheLastGradientsAndScalesTheOthers) {
    Rule rule(ServerMode::backup, {{2, 2}, {2, 2}, {4, 4}});
    EXPECT_EQ(rule.take(0, 0, 1), "");
    EXPECT_EQ(rule.take(1, 0, 1), "0:1/0 1:1/0");
    EXPECT_EQ(rule.parameter(), -4) << "4 of 8 rows have come";
    EXPECT_EQ(rule.take(2, 0, 100), "2:1/0") << "too late for its step";
    EXPECT_EQ(rule.parameter(), -4);
    EXPECT_EQ(rule.take(2, 1, 1), "");
    EXPECT_EQ(rule.take(0, 1, 1), "2:2/0 0:2/0");
    EXPECT_TRUE(rule.complete());
    EXPECT_FLOAT_EQ(rule.parameter(), -4 - 2 * 8.0F / 6.0F);
}

TEST(ServedPart, AsyncUpdatesWithEveryGradientAndCountsItsAge) {
    Rule rule(ServerMode::async, {{1, 1}, {1, 1}});
    EXPECT_EQ(rule.take(0, 0, 1), "0:1/0");
    EXPECT_EQ(rule.take(0, 1, 1), "") << "its last: it waits for the last version";
    EXPECT_EQ(rule.take(1, 0, 1), "1:3/2") << "two updates since it read";
    EXPECT_EQ(rule.take(1, 1, 1), "0:4/0 1:4/0");
    EXPECT_EQ(rule.parameter(), -4);
}

TEST(Parts, AreCutAtCacheLinesAndSpreadByBytes) {
    StateLayout layout;
    layout.tensors.push_back({"weight", Block::parameter, Element::float32, {1000}, 0, 4000});
    layout.bytes = 4032;
    auto const parts = cut_parts(layout, 1024, 3);
    std::size_t at = 0;
    std::vector<std::size_t> load(3);
    for (auto const& part : parts) {
        EXPECT_EQ(part.range.first, at);
        EXPECT_EQ(part.range.first % 16, 0U);
        EXPECT_LE(part.range.size * sizeof(float), 1024U);
        load[static_cast<std::size_t>(part.server)] += part.range.size;
        at += part.range.size;
    }
    EXPECT_EQ(at, 1000U);
    EXPECT_EQ(parts.size(), 6U) << "a multiple of the servers";
    EXPECT_LE(std::ranges::max(load) - std::ranges::min(load), 32U);
}

TEST(Parts, AreNeverSoManyThatTheirMessagesRunOutOfTags) {
    StateLayout layout;
    std::size_t const n = 10'000'019;
    layout.tensors.push_back(
        {"weight", Block::parameter, Element::float32, {static_cast<std::int64_t>(n)}, 0, n * sizeof(float)});
    layout.bytes = n * sizeof(float);
    EXPECT_LE(cut_parts(layout, 1, 3).size(), 4200U);
}

std::string complaints(Settings const& settings, int trainers) {
    auto described = document("unused", 12, "parameter_server");
    for (auto const& [path, value] : settings) described.set(path, value);
    auto const experiment = read_document(described);
    Problems problems("");
    check_strategy(experiment, {experiment.model, experiment.train, experiment.data}, trainers, 5, problems);
    std::string out;
    for (auto const& entry : problems.entries()) out += entry.path + ": " + entry.problem + "\n";
    return out;
}

TEST(CheckStrategy, SaysWhatServersCannotDo) {
    auto const expect = [](Settings const& settings, int trainers, std::string const& wanted) {
        auto const found = complaints(settings, trainers);
        EXPECT_TRUE(wanted.empty() ? found.empty() : found.starts_with(wanted)) << found << "wanted: " << wanted;
    };
    expect({}, 4, "");
    expect({{"train.batch_size", 3}}, 4, "/train/batch_size: a batch of 3 cannot be split among 4 trainers");
    expect({{"train.batch_size", 3}, {"strategy.batch", "per_worker"}}, 4, "");
    expect({{"train.ema", 0.9}}, 4, "/train/ema: train.ema is not available with parameter_server");
    expect({{"train.clip_norm", 1.0}}, 4,
           "/train/clip_norm: train.clip_norm needs the whole gradient in one place (4 servers");
    expect({{"train.clip_norm", 1.0}, {"strategy.servers", 1}}, 4, "");
    expect({{"strategy.servers", 6}}, 8, "/strategy/servers: 6 servers do not fit on 5 trainers with shards");
    expect({{"strategy.servers", 6}, {"strategy.placement", "dedicated"}}, 8, "");
    expect({{"strategy.servers", 2}, {"strategy.placement", "dedicated"}}, 2,
           "/strategy/servers: 2 dedicated servers leave none of 2");
    expect({{"strategy.placement", "dedicated"}}, 1, "/strategy/placement: 1 dedicated server leaves none of 1 trainer ");
    expect({{"strategy.mode", "backup"}, {"strategy.aggregate", 5}}, 4,
           "/strategy/aggregate: a step cannot have 5 gradients of 4");
}

}  // namespace parameter_server_test
}  // namespace hopscotch
