// SPDX-License-Identifier: Apache-2.0
#include "strategy/whole_laps/task_parallel.hpp"

#include <deque>
#include <map>
#include <optional>

#include "core/clock.hpp"
#include "schedule/task_queue.hpp"
#include "strategy/whole_laps/remote_source.hpp"
#include "strategy/whole_laps/row_service.hpp"
#include "strategy/whole_laps/whole_laps.hpp"

namespace hopscotch {
namespace {

class TaskParallel : public WholeLaps {
public:
    explicit TaskParallel(Resources resources)
        : WholeLaps(std::move(resources)),
          queue_(resources_.owners.trainers),
          client_(resources_, [this](Incoming message) { set_aside(std::move(message)); }) {
        for (auto const lost : resources_.owners.lost) queue_.without(lost);
        if (resources_.runner == nullptr) return;
        auto const own = resources_.owners.shards_of(resources_.runner->self());
        if (!own.empty()) service_.emplace(resources_.courier, *resources_.runner, own);
    }

    // Rank 0.
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
        WholeLaps::forget(trial);
        queue_.forget(trial);
        waiting_.erase(trial);
        assign();
    }

private:
    void assign() {
        while (auto const assigned = queue_.take()) send_laps(assigned->trial);
    }

    // To the trainer that trains this trial, if one does.
    void send_laps(TrialId trial) {
        auto const trainer = queue_.trainer_of(trial);
        if (!trainer) return;
        for (auto const& lap : waiting_[trial]) resources_.courier.send(rank_of(*trainer), MessageKind::lap, encode(lap));
        waiting_.erase(trial);
    }

    // Trainers.
    TrainerId home_of(Lap const&) const override { return resources_.runner->self(); }

    void handle(Incoming message) override {
        if (message.kind == MessageKind::rows) return client_.keep(std::move(message));
        WholeLaps::handle(std::move(message));
    }

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
        auto& runner = *resources_.runner;
        busy_with(next_lap(), ShardId(-1), Phase::compute);
        staging_since_ = unix_s();
        if (resources_.experiment.strategy.data == TaskData::replicated) {
            staged_bytes_ = stage_shards(client_, runner, resources_.owners, resources_.courier.activity());
            staging_s_ = client_.take_waited_s();
        } else {
            for (int s = 0; s < runner.shards(); ++s)
                if (ShardId const shard(s); resources_.owners.of(shard) != runner.self())
                    runner.set_shard(shard, std::make_unique<RemoteSource>(client_, runner.manifest(), shard));
        }
        data_ready_ = true;
    }

    // Waiting for rows is no work: it lengthens the time from unit to unit, and is told apart. The first unit begins with
    // the staging, so that the makespan includes it.
    void train_unit(Journey& journey, MutableBytes state) override {
        auto& record = journey.record;
        auto const before = record.units.size();
        train(journey, state);
        auto const waited_s = client_.take_waited_s();
        record.exposed_s.resize(static_cast<std::size_t>(resources_.owners.trainers));
        record.exposed_s[resources_.runner->self().index()] += waited_s + std::exchange(staging_s_, 0);
        if (record.units.size() == before) return;
        record.units.back().seconds -= waited_s;
        record.units.back().wait_s = -1;
        if (staging_since_) record.units.back().start_unix_s = *std::exchange(staging_since_, std::nullopt);
    }

    TaskQueue queue_;                             // rank 0
    std::map<TrialId, std::deque<Lap>> waiting_;  // rank 0: laps not yet sent
    RowClient client_;
    std::optional<RowService> service_;
    bool data_ready_ = false;
    std::optional<double> staging_since_;
    double staging_s_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_task_parallel(Resources resources) {
    return std::make_unique<TaskParallel>(std::move(resources));
}

}  // namespace hopscotch
