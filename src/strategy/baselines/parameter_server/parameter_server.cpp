// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/parameter_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "model/state/layout.hpp"
#include "strategy/baselines/parameter_server/part_server.hpp"
#include "strategy/baselines/parameter_server/served_lap_worker.hpp"
#include "strategy/baselines/parameter_server/server_messages.hpp"
#include "strategy/common/timed_phase.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

class ParameterServerWorker : public GroupTrainer {
public:
    explicit ParameterServerWorker(WorkerResources const& resources);

private:
    void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) override;
    void drop(TrialId trial) override;
    void handle(Incoming message) override;

    ServedLap served_lap(Lap const& lap, StepPlan plan) const;
    void begin_serving(ServeLap const& serve, ByteView state, ServedLap const& lap);
    void wait(SharedLap& mine, ServedLapWorker& worker, std::int64_t step);
    void take_parameters(SharedLap& mine, ServedLapWorker& worker, std::int64_t step);

    StrategyConfig const& config() const { return resources().experiment.strategy; }
    std::vector<ServedRange> parts(Lap const& lap) const {
        auto const& train = runner().config_of(lap).train;
        return parts_of(config(), train, runner().layout(lap), static_cast<int>(servers_.size()));
    }

    std::vector<Rank> servers_;
    std::set<TrialId> served_;  // trials whose parts this rank's server has
    std::optional<PartServer> server_;
};

// Between laps only the first worker's slots are up to date.
ParameterServerWorker::ParameterServerWorker(WorkerResources const& resources) : GroupTrainer(resources, Same::parameters) {
    auto const& world = courier().world();
    servers_ = server_ranks(config(), group_.ranks(), world.size() - 1);
    if (std::ranges::find(servers_, world.rank()) != servers_.end()) server_.emplace(courier(), group_.ranks());
}

ServedLap ParameterServerWorker::served_lap(Lap const& lap, StepPlan plan) const {
    ServedLap out{config(), runner().config_of(lap).train, std::move(plan)};
    out.train_rows = runner().manifest().rows(Split::train);
    return out;
}

// Every server makes its parts from the same initial state as all workers, without a message.
void ParameterServerWorker::begin_serving(ServeLap const& serve, ByteView state, ServedLap const& lap) {
    auto common = std::make_shared<ServedLap>(lap);
    common->steps = serve.steps;
    common->samples = serve.samples;
    common->reductions = serve.reductions;
    PartServer::Begin begin{serve.lap.trial, serve.lap.epoch, common, {}};
    auto const all = parts(serve.lap);
    bool const first = served_.insert(serve.lap.trial).second;
    for (std::size_t p = 0; first && p < all.size(); ++p) {
        auto const& [range, server] = all[p];
        if (servers_[static_cast<std::size_t>(server)] != courier().world().rank()) continue;
        PartUpdate values(lap.train, runner().layout(serve.lap), {range.first, range.size}, state);
        begin.fresh.emplace(static_cast<int>(p), ServedPart(std::move(values)));
    }
    server_->begin(std::move(begin));
}

// A trainer that only serves hears of laps from the first worker.
void ParameterServerWorker::handle(Incoming message) {
    if (message.kind == MessageKind::parameters) return;  // a sign of life after the end of the wait
    if (group_.self() >= 0 || message.kind != MessageKind::lap) return GroupTrainer::handle(std::move(message));
    auto const serve = decode<ServeLap>(message.body);
    Buffer state;
    auto journey = keeper().begin(serve.lap, group_.trainers().front()).journey;
    if (!served_.contains(serve.lap.trial))
        state = serve.lap.from.empty() ? runner().initial_state(serve.lap, pool()) : load_state(resources(), journey);
    begin_serving(serve, state.bytes(), served_lap(serve.lap, plan_of(serve.lap)));
}

void ParameterServerWorker::drop(TrialId trial) {
    GroupTrainer::drop(trial);
    served_.erase(trial);
    if (!is_root()) return;
    // Only the first worker knows that no worker is in a lap of the trial any more.
    bool const dedicated = config().server.placement == ServerPlacement::dedicated;
    for (auto const rank : servers_) {
        courier().send(rank, MessageKind::serve, encode(ServeOrder{ServeOrder::What::forget, trial}));
        if (dedicated) courier().send(rank, MessageKind::stop, encode(trial));
    }
}

void ParameterServerWorker::train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) {
    auto& record = journey.record;
    auto const& layout = mine.layout();
    auto const counters = counters_of(mine.state(), layout);
    auto const lap = served_lap(mine.lap(), plan);
    ServeLap const serve{mine.lap(), *counters.steps, *counters.samples,
                         counters.reductions == nullptr ? 0 : *counters.reductions};
    bool const dedicated = config().server.placement == ServerPlacement::dedicated;
    for (auto const rank : servers_)
        if (dedicated && is_root()) courier().send(rank, MessageKind::lap, encode(serve));
    if (server_) begin_serving(serve, mine.state(), lap);
    ServedLapWorker worker(courier(), mine, lap, {parts(mine.lap()), servers_, group_.self()});
    auto const own_steps = plan.own_steps(group_.self());
    for (std::int64_t step = 0; step < own_steps; ++step) {
        worker.push_step(step);
        group_.delay_if_injected();
        if (step + 1 == own_steps && is_root()) worker.await_ends();
        wait(mine, worker, step);
    }
    if (own_steps == 0) {
        worker.ask();
        if (is_root()) worker.await_ends();
        wait(mine, worker, 0);
    }
    *counters.steps += lap.last_version();
    for (std::int64_t step = 0; step < plan.steps(); ++step) *counters.samples += plan.total(step);
    record.sync.rounds = own_steps;
    record.sync.staleness = worker.staleness();
    if (is_root() && config().server.mode != ServerMode::sync) record.sync.server_log = worker.take_log();
}

void ParameterServerWorker::wait(SharedLap& mine, ServedLapWorker& worker, std::int64_t step) {
    double waited_s = 0;
    {
        TimedPhase const waiting(courier().activity(), Phase::parameters, waited_s);
        mine.fetch();
        take_parameters(mine, worker, step);
        mine.store();
    }
    group_.add_exposed_s(waited_s);
}

void ParameterServerWorker::take_parameters(SharedLap& mine, ServedLapWorker& worker, std::int64_t step) {
    auto heard = monotonic_s();
    while (worker.waits()) {
        auto message = courier().receive(0.1);
        bool const of_servers = message && (message->kind == MessageKind::parameters || message->kind == MessageKind::slots);
        if (of_servers) {
            worker.take(std::move(*message));
            heard = monotonic_s();
        } else if (message && message->kind == MessageKind::share) {
            group_.keep(*message);
        } else if (message) {
            set_aside(std::move(*message));
        }
        if (courier().activity().leave) throw JobEnded{};
        auto const silent = monotonic_s() - heard;
        auto const stall_s = resources().experiment.run.limits.stall_s;
        if (silent > stall_s && courier().peers().job_still_s() > stall_s)
            throw CommError(fmt::format("{}: no parameters came from rank {} for {:.0f} s; run.stall_s sets this limit",
                                        place_of(mine.lap(), step), worker.servers_awaited(), silent));
    }
}

}  // namespace

std::unique_ptr<Worker> make_parameter_server_worker(WorkerResources const& resources) {
    return std::make_unique<ParameterServerWorker>(resources);
}

}  // namespace hopscotch
