// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

class Simulator {
public:
    Simulator(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
              SimulatedTask const& on_task)
        : trials_(trials),
          owners_(owners),
          shards_(static_cast<int>(owners.owner.size())),
          in_flight_(in_flight),
          on_task_(on_task),
          progress_(trials.size()),
          queues_(static_cast<std::size_t>(owners.trainers)),
          busy_(static_cast<std::size_t>(owners.trainers), 0) {
        for (std::size_t i = 0; i < trials.size(); ++i) waiting_.push_back(i);
        std::sort(waiting_.begin(), waiting_.end(), [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
    }

    Simulation run() {
        admit();
        dispatch();
        while (!events_.empty()) {
            now_ = std::get<0>(events_.top());
            // Everything that ends now ends before anything starts: what is queued must not depend on the order of ties.
            while (!events_.empty() && std::get<0>(events_.top()) == now_) {
                auto const [time, trainer, index] = events_.top();
                events_.pop();
                busy_[trainer] = 0;
                step(index);
            }
            admit();
            dispatch();
        }
        out_.makespan = now_;
        return std::move(out_);
    }

private:
    struct Progress {
        int epoch = 0;
        int step = 0;  // 0..S-1: units; S: validation
    };
    // What runs first: validation, then the longest remaining, then the lowest id.
    using Key = std::tuple<int, double, std::int32_t, std::size_t>;

    double lap_cost(std::size_t i) const { return shards_ * trials_[i].unit + trials_[i].validation; }
    std::pair<double, std::int32_t> order(std::size_t i) const {
        return {-trials_[i].epochs * lap_cost(i), trials_[i].trial.value};
    }

    void admit() {
        while (alive_ < in_flight_ && next_ < waiting_.size()) {
            auto const index = waiting_[next_++];
            out_.admitted.push_back(trials_[index].trial);
            if (trials_[index].epochs == 0) continue;
            ++alive_;
            enqueue(index);
        }
    }

    void enqueue(std::size_t index) {
        auto const& trial = trials_[index];
        auto const& at = progress_[index];
        bool const validates = at.step == shards_;
        auto const trainer = owners_.of(planned_shard(trial.trial, validates ? 0 : at.step, shards_));
        // The rule of real trainers: a lap knows what remained of its trial when it was released.
        double const remaining = (trial.epochs - at.epoch) * lap_cost(index);
        queues_[trainer.index()].emplace(validates ? 0 : 1, -remaining, trial.trial.value, index);
    }

    void step(std::size_t index) {
        auto& at = progress_[index];
        int const last = trials_[index].validation > 0 ? shards_ : shards_ - 1;
        if (at.step < last) {
            ++at.step;
        } else {
            at.step = 0;
            if (++at.epoch == trials_[index].epochs) {
                --alive_;
                return;
            }
        }
        enqueue(index);
    }

    void dispatch() {
        for (std::size_t t = 0; t < queues_.size(); ++t) {
            if (busy_[t] != 0 || queues_[t].empty()) continue;
            auto const index = std::get<3>(*queues_[t].begin());
            queues_[t].erase(queues_[t].begin());
            auto const& at = progress_[index];
            double const cost = at.step == shards_ ? trials_[index].validation : trials_[index].unit;
            if (on_task_) on_task_({trials_[index].trial, at.epoch, at.step, TrainerId(t), now_, now_ + cost});
            busy_[t] = 1;
            out_.busy += cost;
            events_.emplace(now_ + cost, t, index);
        }
    }

    using Event = std::tuple<double, std::size_t, std::size_t>;  // time, trainer, index
    std::vector<TrialCost> const& trials_;
    OwnerTable const& owners_;
    int shards_;
    std::int64_t in_flight_;
    SimulatedTask const& on_task_;
    std::vector<Progress> progress_;
    std::vector<std::set<Key>> queues_;
    std::vector<char> busy_;
    std::vector<std::size_t> waiting_;
    std::size_t next_ = 0;
    std::int64_t alive_ = 0;
    double now_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    Simulation out_;
};

}  // namespace

Simulation simulate_planned(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
                            SimulatedTask const& on_task) {
    require(in_flight >= 1, "at least one trial must be in flight");
    return Simulator(trials, owners, in_flight, on_task).run();
}

Simulation simulate_planned(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight) {
    return simulate_planned(trials, owners, in_flight, {});
}

}  // namespace hopscotch
