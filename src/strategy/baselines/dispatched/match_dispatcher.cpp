// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/dispatched/match_dispatcher.hpp"

#include <map>
#include <optional>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap.hpp"
#include "schedule/matchmaker.hpp"
#include "schedule/policy.hpp"
#include "schedule/unit_times.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/mop/mop_messages.hpp"

namespace hopscotch {
namespace {

class MatchDispatcher : public Dispatcher {
public:
    MatchDispatcher(Resources resources, Policy const& policy)
        : Dispatcher(std::move(resources)),
          seed_(static_cast<std::uint64_t>(this->resources().experiment.seed)),
          table_(policy.make(this->resources().owners, seed_)) {}

    void execute(Lap const& lap) override {
        auto& trial = trials_[lap.trial];
        bool const same = trial.laps++ > 0 && !lap.clone_of;
        if (!same) trial.kind.batch_size = resolve(resources().experiment, lap.assignment, "").train.batch_size;
        trial.kind.flops = lap.unit_cost;
        send_lap(home_of(lap, resources()), lap);
    }

    void hear(Incoming const& message) override {
        if (message.kind != MessageKind::turn) return;
        auto turn = decode<Turn>(message.body);
        auto const found = trials_.find(turn.lap.id.trial);
        if (found == trials_.end()) return;  // the trial has ended since
        switch (turn.what) {
            case Turn::What::waits: waits(found->second, std::move(turn.lap)); break;
            case Turn::What::ended: ended(found->second, turn); break;
            case Turn::What::over: over(found->second, turn.lap.id); break;
        }
        match();
    }

    // The trials for which a trainer waited may be late.
    void tick() override {
        if (table_->ask_the_patient()) match();
    }

    void forget(TrialId trial) override {
        Dispatcher::forget(trial);
        auto const found = trials_.find(trial);
        if (found == trials_.end()) return;
        leave_table(found->second, trial);
        trials_.erase(found);
        match();
    }

private:
    // Messages of different trainers overtake each other: a lap's last `ended` may come after its home's `over`, and even
    // after the `waits` of the trial's next lap.
    struct Trial {
        int laps = 0;                  // that are not over
        std::optional<LapId> present;  // the last one that waited
        UnitKind kind;
        TrainerId home, holder;
        double left = 0;  // FLOPs
        bool validates = false;
    };

    void waits(Trial& trial, WaitingLap lap) {
        leave_table(trial, lap.id.trial);
        trial.present = lap.id;
        trial.home = trial.holder = lap.at;
        trial.left = lap.remaining;
        lap.unit = times_.seconds(trial.kind);
        lap.remaining = in_seconds(trial);
        table_->add(lap);
    }

    void ended(Trial& trial, Turn const& turn) {
        auto const id = turn.lap.id.trial;
        if (trial.present != turn.lap.id || !table_->has(id)) return;
        bool const first = !times_.knows_any();
        times_.learn(trial.kind, trial.holder, turn.rows, turn.seconds);
        trial.left -= trial.kind.flops;
        if (table_->unit_ended(id)) {
            trial.validates = true;
            table_->validates(trial.home);
        } else if (!first) {
            table_->set_cost(id, in_seconds(trial), times_.seconds(trial.kind));
        }
        if (first) cost_all();
    }

    // Until the first unit has ended, costs are FLOPs.
    void cost_all() {
        for (auto const& [id, trial] : trials_)
            if (table_->has(id)) table_->set_cost(id, in_seconds(trial), times_.seconds(trial.kind));
    }

    // Units that are left, at the seconds of one.
    double in_seconds(Trial const& trial) const {
        return trial.kind.flops > 0 ? trial.left / trial.kind.flops * times_.seconds(trial.kind) : 0;
    }

    void over(Trial& trial, LapId const& lap) {
        if (trial.present == lap) leave_table(trial, lap.trial);
        if (--trial.laps == 0) trials_.erase(lap.trial);
    }

    void leave_table(Trial& trial, TrialId id) {
        table_->remove(id);
        if (std::exchange(trial.validates, false)) table_->has_validated(trial.home);
    }

    void match() {
        table_->expect(std::ssize(trials_) - static_cast<std::int64_t>(table_->laps()));
        for (auto const& match : table_->take(monotonic_s())) {
            auto& trial = trials_.at(match.trial);
            resources().courier.send(rank_of(trial.holder), MessageKind::visit,
                                     encode(Visit{table_->lap_of(match.trial), match.shard}));
            trial.holder = match.trainer;
        }
    }

    std::uint64_t seed_;
    std::unique_ptr<Matchmaker> table_;
    std::map<TrialId, Trial> trials_;  // with laps that are not over
    UnitTimes times_;
};

}  // namespace

std::unique_ptr<Dispatcher> make_mop_dispatcher(Resources resources) {
    auto const& policy = policy_named(resources.experiment.strategy.policy);
    if (!policy.dispatched()) return make_home_dispatcher(std::move(resources));
    return std::make_unique<MatchDispatcher>(std::move(resources), policy);
}

}  // namespace hopscotch
