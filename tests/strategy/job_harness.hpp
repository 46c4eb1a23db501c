// SPDX-License-Identifier: Apache-2.0
// Runs laps through a real strategy on whatever world there is: rank 0 sends them, the others are real trainers.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "both_worlds.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/build_info.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/lap_sink.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/common/worker.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/trainer_main.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch::testing {

inline BuildInfo const k_test_build{"test", "test", "test"};
inline constexpr int k_epochs = 2;

// Trained by LibTorch, as on GPUs.
inline Json document(std::string const& data, int batch_size, std::string const& strategy) {
    return Json::object({
        {"name", "equivalence"},
        {"seed", 7},
        {"data", Json::object({{"path", data}})},
        {"model", Json::object({{"name", "mlp"}, {"hidden", std::vector<int>{9}}})},
        {"train", Json::object({{"engine", "torch"},
                                {"epochs", k_epochs},
                                {"batch_size", batch_size},
                                {"optimizer", Json::object({{"name", "sgd"}, {"lr", 0.05}})},
                                {"schedule", Json::object({{"name", "cosine"}, {"warmup_epochs", 0.5}})}})},
        {"search", Json::object({{"procedure", "grid"}})},
        {"space", Json::object({{"train.optimizer.lr", std::vector<double>{0.05}}})},
        {"strategy", Json::object({{"name", strategy}})},
        {"run", Json::object({{"dir", "unused"}, {"device", "cpu"}})},
    });
}

inline Experiment read_document(Json const& document) {
    Problems problems("test");
    auto experiment = read_experiment(document.dump(), {}, problems);
    problems.throw_if_any();
    return experiment;
}

struct JobResult {
    std::map<LapId, LapRecord> laps;
    JobTotals totals;
    OwnerTable owners;
};

class Collector : public LapSink {
public:
    Collector(JobResult& result, int epochs, Dispatcher& to) : result_(result), epochs_(epochs), dispatcher_(to) {}
    void lap_done(LapRecord record) override {
        if (tell) tell(record);
        result_.laps[{record.trial, record.epoch}] = record;
        if (record.outcome != Outcome::finished || record.epoch + 1 == epochs_) ended.insert(record.trial);
        dispatcher_.lap_done(record);
    }
    std::set<TrialId> ended;
    std::function<void(LapRecord const&)> tell = {};

private:
    JobResult& result_;
    int epochs_;
    Dispatcher& dispatcher_;
};

// Where the strategy lets trials choose. Homes out of order, and every second trial goes backward.
inline Route route_of(TrialId trial, int shards, StrategyConfig const& strategy) {
    if (!has_setting(strategy.name, "visits")) return {};
    return {ShardId((3 * trial.value + 1) % shards), trial.value % 2 == 0 ? Direction::forward : Direction::backward};
}

inline double lap_cost(TrialId trial) { return 1.0 / (1 + trial.value); }

// With replicas and by speed where the strategy can: the speeds are those that run.inject gives the trainers.
inline OwnerTable owners_for(Experiment const& experiment, int shards, int trainers, std::int64_t trials) {
    if (!has_setting(experiment.strategy.name, "owners")) return make_owners(shards, trainers, trials);
    if (int const size = experiment.strategy.group_size; size > 1)
        return with_members(make_owners(shards / size, trainers, trials), size, trainers * size);
    OwnersRequest request{shards, trials, {}, experiment.strategy.owners};
    for (int t = 0; t < trainers; ++t) request.speed.push_back(1 / experiment.run.inject.slowness_of(t + 1, 0));
    return plan_owners(request);
}

// What rank 0 does at moments of a job.
struct JobHooks {
    std::function<void(Courier&)> all_sent = {};                   // every lap has been sent; it may still be on its way
    std::function<void(Pump&, JobResult const&)> before_end = {};  // every trial has ended; the trainers are there
    std::function<void(LapRecord const&)> lap_done = {};
};

// Until all that this rank has sent to the trainers is in their inboxes. A trainer's courier takes messages in order. It
// acknowledges a push, which goes to a service that no trainer of mop has, so no one ever reads the push.
inline void await_inboxes(Courier& courier) {
    for (int rank = 1; rank < courier.world().size(); ++rank)
        courier.push(Rank(rank), {}, courier.pool().acquire(64), MessageKind::gradient);
    while (!courier.pushes_delivered()) std::this_thread::yield();
}

// Rank 0: every lap of every trial, released at once; returns when every trial has ended.
inline JobResult run_as_scheduler(World& world, Experiment const& experiment, int shards,
                                  std::vector<Assignment> const& trials, JobHooks const& hooks = {}) {
    JobResult result;
    auto const& entry = strategy_named(experiment.strategy.name);
    result.owners = owners_for(experiment, shards, trainers_with_data(experiment.strategy, world.size() - 1),
                               static_cast<std::int64_t>(trials.size()));
    Courier courier(world, {});
    auto const hellos = value_or_refuse(call_roll(
        courier, {experiment.document.dump(), experiment.strategy.name, result.owners, 0}, k_test_build, RunConfig{}));
    std::vector<std::string> hosts;
    for (auto const& [rank, hello] : hellos) hosts.push_back(hello.host);
    Pump pump(courier, hosts, 60, entry.make_dispatcher({courier, experiment, result.owners}));
    auto& dispatcher = pump.dispatcher();
    for (std::size_t t = 0; t < trials.size(); ++t)
        for (int epoch = 0; epoch < experiment.train.epochs; ++epoch) {
            double const cost = lap_cost(TrialId(t));
            Lap lap{TrialId(t), epoch, 1, 0, (experiment.train.epochs - epoch) * cost, trials[t]};
            lap.route = route_of(lap.trial, shards / experiment.strategy.group_size, experiment.strategy);
            lap.unit_cost = cost / shards;
            dispatcher.execute(lap);
        }
    if (hooks.all_sent) hooks.all_sent(courier);
    Collector collector(result, experiment.train.epochs, dispatcher);
    collector.tell = hooks.lap_done;
    while (collector.ended.size() < trials.size()) refuse(pump.take(collector, 1));
    if (hooks.before_end) hooks.before_end(pump, result);
    result.totals = end_job(courier, 0, 30);
    say_farewell(courier);
    return result;
}

}  // namespace hopscotch::testing
