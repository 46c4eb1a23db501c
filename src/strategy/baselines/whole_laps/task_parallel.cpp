// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/task_parallel.hpp"

#include <deque>
#include <map>
#include <optional>

#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "schedule/task_queue.hpp"
#include "strategy/baselines/whole_laps/remote_source.hpp"
#include "strategy/baselines/whole_laps/row_service.hpp"
#include "strategy/baselines/whole_laps/whole_laps.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

class TaskDispatcher : public Dispatcher {
public:
    explicit TaskDispatcher(Resources resources)
        : Dispatcher(std::move(resources)), queue_(this->resources().owners.trainers) {
        for (auto const lost : this->resources().owners.lost) queue_.without(lost);
    }

    void execute(Lap const& lap) override {
        queue_.add_lap(lap.trial, lap.remaining_cost);
        waiting_[lap.trial].push_back(lap);
        send_laps(lap.trial);
        assign();
    }

    void lap_done(LapRecord const& record) override {
        if (record.outcome == Outcome::finished)
            queue_.lap_done(record.trial);
        else
            queue_.forget(record.trial);
        assign();
    }

    void forget(TrialId trial) override {
        Dispatcher::forget(trial);
        queue_.forget(trial);
        waiting_.erase(trial);
        assign();
    }

private:
    void assign() {
        while (auto const assigned = queue_.take()) send_laps(assigned->trial);
    }

    // To the trainer of this trial, if the trial has one.
    void send_laps(TrialId trial) {
        auto const trainer = queue_.trainer_of(trial);
        if (!trainer) return;
        for (auto const& lap : waiting_[trial]) send_lap(*trainer, lap);
        waiting_.erase(trial);
    }

    TaskQueue queue_;
    std::map<TrialId, std::deque<Lap>> waiting_;  // laps not yet sent
};

class TaskWorker : public WholeLaps {
public:
    explicit TaskWorker(WorkerResources const& resources)
        : WholeLaps(resources), client_(this->resources(), [this](Incoming message) { set_aside(std::move(message)); }) {
        auto const own = resources.owners.shards_of(runner().self());
        if (!own.empty()) service_.emplace(courier(), runner(), own);
    }

private:
    void handle(Incoming message) override {
        if (message.kind == MessageKind::rows) return client_.keep(std::move(message));
        WholeLaps::handle(std::move(message));
    }

    void add_totals(Goodbye& goodbye) const override { goodbye.staged_bytes = staged_bytes_; }

    void work() override {
        try {
            if (!data_ready_) reach_data();
            WholeLaps::work();
        } catch (JobEnded const&) {
            client_.settle();
            throw;
        }
        client_.settle();  // a trial that failed may have asked for rows that it did not take
    }

    void reach_data() {
        auto const& owners = resources().owners;
        busy_with(next_lap(), ShardId(-1), Phase::compute);
        staging_since_ = unix_s();
        if (resources().experiment.strategy.data == TaskData::replicated) {
            staged_bytes_ = stage_shards(client_, runner(), owners, courier().activity());
            staging_s_ = client_.take_waited_s();
        } else {
            for (int s = 0; s < runner().shards(); ++s)
                if (ShardId const shard(s); owners.of(shard) != runner().self())
                    runner().set_shard(shard, std::make_unique<RemoteSource>(client_, runner().manifest(), shard));
        }
        data_ready_ = true;
    }

    // The wait for rows does not count as work: it lengthens the time from unit to unit, and has its own number. The first
    // unit begins with the staging, so that the makespan includes the staging.
    void train_unit(Journey& journey, MutableBytes state) override {
        auto& record = journey.record;
        auto const before = record.units.size();
        train(journey, state, start_unit(), UnitHash::now);
        auto const waited_s = client_.take_waited_s();
        record.sync.exposed_s.resize(static_cast<std::size_t>(resources().owners.trainers));
        record.sync.exposed_s[runner().self().index()] += waited_s + std::exchange(staging_s_, 0);
        if (record.units.size() == before) return;
        record.units.back().seconds -= waited_s;
        record.units.back().wait_s = -1;
        if (staging_since_) record.units.back().start_unix_s = *std::exchange(staging_since_, std::nullopt);
    }

    RowClient client_;
    std::optional<RowService> service_;
    bool data_ready_ = false;
    std::uint64_t staged_bytes_ = 0;
    std::optional<double> staging_since_;
    double staging_s_ = 0;
};

}  // namespace

std::unique_ptr<Dispatcher> make_task_dispatcher(Resources resources) {
    return std::make_unique<TaskDispatcher>(std::move(resources));
}

std::unique_ptr<Worker> make_task_worker(WorkerResources const& resources) {
    return std::make_unique<TaskWorker>(resources);
}

}  // namespace hopscotch
