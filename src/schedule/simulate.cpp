// SPDX-License-Identifier: Apache-2.0
#include "schedule/simulate.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "schedule/matchmaker.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_followed_units = 100'000;

// Trials that always run to their last epoch, the longest admitted first.
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

    // The rule of real trainers, which do not know the cost of validation.
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

double work_of(std::span<TrialCost const> trials, int shards) {
    double out = 0;
    for (auto const& trial : trials) out += trial.epochs * (shards * trial.unit + trial.validation);
    return out;
}

std::vector<TrialCost> first_laps(std::vector<TrialCost> trials, int shards, std::int64_t most_units) {
    auto const units_of = [&](int laps) {
        std::int64_t units = 0;
        for (auto const& trial : trials) units += std::int64_t{shards} * std::min(trial.epochs, laps);
        return units;
    };
    int few = 1, many = 1;
    for (auto const& trial : trials) many = std::max(many, trial.epochs);
    while (few < many) {
        int const middle = few + (many - few + 1) / 2;
        if (units_of(middle) <= most_units)
            few = middle;
        else
            many = middle - 1;
    }
    for (auto& trial : trials) trial.epochs = std::min(trial.epochs, few);
    return trials;
}

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

double simulated_hops_per_lap(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                              std::int64_t in_flight) {
    std::unordered_map<int, TrainerId> at;
    std::int64_t hops = 0, laps = 0;
    auto const follow = [&](SimulatedUnit const& task) {
        auto const [trainer, is_first] = at.try_emplace(task.trial.value, task.trainer);
        if (!is_first && trainer->second != task.trainer) ++hops;
        trainer->second = task.trainer;
        if (task.step == 0) ++laps;
    };
    double const hop = k_usual_hop * mean_unit_cost(trials);
    simulate(policy, first_laps(trials, static_cast<int>(owners.owner.size()), k_most_followed_units), owners,
             {.in_flight = in_flight, .hop = hop, .jitter = k_usual_jitter}, follow);
    return laps == 0 ? 0 : static_cast<double>(hops) / static_cast<double>(laps);
}

}  // namespace hopscotch
