// SPDX-License-Identifier: Apache-2.0
#include "schedule/simulate.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/error.hpp"

namespace hopscotch {
namespace {

// Trials that run to their last epoch whatever happens, the longest admitted first.
class Simulator {
public:
    Simulator(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
              SimulatedTask const& on_task)
        : shards_(static_cast<int>(owners.owner.size())),
          in_flight_(in_flight),
          cluster_(policy, owners, [this](LapId const& lap, int step) { return cost(lap.trial, step); }, on_task) {
        for (auto const& trial : trials) {
            trials_[trial.trial] = trial;
            waiting_.push_back(trial);
        }
        std::ranges::sort(waiting_, {},
                          [&](auto const& each) { return std::pair(-each.epochs * lap_cost(each), each.trial); });
    }

    Simulation run() {
        for (;;) {
            admit();
            cluster_.start_ready();
            auto const end = cluster_.next_end();
            if (!end) break;
            for (auto const& over : cluster_.run_until(*end))
                if (over.epoch + 1 == trials_[over.trial].epochs)
                    --alive_;
                else
                    add({over.trial, over.epoch + 1});
        }
        out_.makespan = cluster_.now();
        out_.busy = cluster_.busy();
        return std::move(out_);
    }

private:
    double lap_cost(TrialCost const& trial) const { return shards_ * trial.unit + trial.validation; }
    double cost(TrialId trial, int step) {
        auto const& of = trials_[trial];
        return step == shards_ ? of.validation : of.unit;
    }

    // The rule of real trainers: a lap knows what remained of its trial when it was released.
    void add(LapId lap) {
        auto const& trial = trials_[lap.trial];
        cluster_.add({lap, 0, (trial.epochs - lap.epoch) * lap_cost(trial)});
    }

    void admit() {
        while (alive_ < in_flight_ && next_ < waiting_.size()) {
            auto const& trial = waiting_[next_++];
            out_.admitted.push_back(trial.trial);
            if (trial.epochs == 0) continue;
            ++alive_;
            add({trial.trial, 0});
        }
    }

    int shards_;
    std::int64_t in_flight_;
    std::unordered_map<TrialId, TrialCost> trials_;
    std::vector<TrialCost> waiting_;
    std::size_t next_ = 0;
    std::int64_t alive_ = 0;
    VirtualCluster cluster_;
    Simulation out_;
};

}  // namespace

Simulation simulate(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                    std::int64_t in_flight, SimulatedTask const& on_task) {
    require(in_flight >= 1, "at least one trial must be in flight");
    return Simulator(policy, trials, owners, in_flight, on_task).run();
}

Simulation simulate(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                    std::int64_t in_flight) {
    return simulate(policy, trials, owners, in_flight, {});
}

}  // namespace hopscotch
