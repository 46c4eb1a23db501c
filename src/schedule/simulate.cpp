// SPDX-License-Identifier: Apache-2.0
#include "schedule/simulate.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "schedule/matchmaker.hpp"

namespace hopscotch {
namespace {

// Trials that run to their last epoch whatever happens, the longest admitted first.
class Simulator {
public:
    Simulator(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
              SimulationOptions const& options, SimulatedTask const& on_task)
        : shards_(static_cast<int>(owners.owner.size())),
          options_(options),
          cluster_(policy, owners, [this](LapId const& lap, int step) { return cost(lap, step); },
                   {options.rule, options.hop, on_task, options.speed, options.seed}) {
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
        if (cluster_.matches() != nullptr) out_.looks = cluster_.matches()->looks();
        return std::move(out_);
    }

private:
    double lap_cost(TrialCost const& trial) const { return shards_ * trial.unit + trial.validation; }

    double cost(LapId const& lap, int step) {
        auto const& of = trials_[lap.trial];
        double const cost = step == shards_ ? of.validation : of.unit;
        if (options_.jitter == 0) return cost;
        Rng rng(stream_key(options_.seed, Purpose::synthetic, {lap.trial.value, lap.epoch, step}));
        return cost * std::max(0.0, 1 + options_.jitter * rng.normal());
    }

    // The rule of real trainers, which do not know what validation costs.
    void add(LapId lap) {
        auto const& trial = trials_[lap.trial];
        double const left = (trial.epochs - lap.epoch) * shards_ * trial.unit;
        cluster_.add({lap, 0, left, trial.unit, trial.route});
    }

    void admit() {
        while (alive_ < options_.in_flight && next_ < waiting_.size()) {
            auto const& trial = waiting_[next_++];
            out_.admitted.push_back(trial.trial);
            if (trial.epochs == 0) continue;
            ++alive_;
            add({trial.trial, 0});
        }
    }

    int shards_;
    SimulationOptions options_;
    std::unordered_map<TrialId, TrialCost> trials_;
    std::vector<TrialCost> waiting_;
    std::size_t next_ = 0;
    std::int64_t alive_ = 0;
    VirtualCluster cluster_;
    Simulation out_;
};

}  // namespace

double mean_unit_cost(std::span<TrialCost const> trials) {
    double sum = 0;
    for (auto const& trial : trials) sum += trial.unit;
    return sum / static_cast<double>(trials.size());
}

Simulation simulate(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                    SimulationOptions const& options, SimulatedTask const& on_task) {
    require(options.in_flight >= 1, "at least one trial must be in flight");
    return Simulator(policy, trials, owners, options, on_task).run();
}

}  // namespace hopscotch
