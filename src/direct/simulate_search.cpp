// SPDX-License-Identifier: Apache-2.0
#include "direct/simulate_search.hpp"

#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_rows = 1000;

// As any metric sees it.
LapRecord made_up(LapId const& lap, std::uint64_t seed, std::vector<std::string> const& own_metrics) {
    Rng rng(seed ^ (static_cast<std::uint64_t>(lap.trial.value) << 20));
    double const quality = rng.uniform() * (1 - std::exp2(-lap.epoch - 1));
    LapRecord out;
    out.trial = lap.trial;
    out.epoch = lap.epoch;
    out.valid.rows = k_rows;
    out.valid.correct = out.valid.top5 = quality * k_rows;
    out.valid.loss = (1 - quality) * k_rows;
    out.valid.f1 = out.valid.auc = out.valid.r2 = quality;
    out.valid.mae = out.valid.rmse = 1 - quality;
    for (auto const& name : own_metrics) out.valid.own.push_back({name, quality});
    UnitRecord unit;
    unit.rows = k_rows;
    unit.loss_sum = out.valid.loss;
    out.units.push_back(unit);
    return out;
}

class SearchSimulator {
public:
    SearchSimulator(Policy const& policy, Director& director, OwnerTable const& owners,
                    SearchSimulationOptions const& options)
        : director_(director),
          seed_(options.seed),
          own_metrics_(options.own_metrics),
          trainers_(owners.trainers),
          cluster_(policy, owners,
                   [this, shards = std::ssize(owners.owner)](LapId const& lap, int step) {
                       return step == shards ? 0 : director_.trials()[lap.trial.index()].unit_cost;
                   },
                   {.on_task = options.on_task}) {}

    std::optional<SearchSimulation> run(std::int64_t most_laps) {
        SearchSimulation out;
        for (take(); !director_.finished();) {
            cluster_.start_ready();
            auto const end = cluster_.next_end();
            if (!end || out.laps > most_laps) return std::nullopt;
            for (auto const& lap : cluster_.run_until(*end)) {
                ++out.laps;
                under_way_.erase(lap.trial);
                director_.record(made_up(lap, seed_, own_metrics_));
                take();
            }
        }
        out.makespan = cluster_.now();
        out.busy = cluster_.now() > 0 ? cluster_.busy() / (cluster_.now() * trainers_) : 0;
        return out;
    }

private:
    void take() {
        for (auto& lap : director_.release()) queues_[lap.trial].push_back(std::move(lap));
        director_.take_releases();
        std::erase_if(queues_,
                      [this](auto const& entry) { return has_ended(director_.trials()[entry.first.index()].status); });
        for (auto& [trial, queue] : queues_) {
            if (queue.empty() || !under_way_.insert(trial).second) continue;
            auto const& lap = queue.front();
            cluster_.add({lap.id(), lap.release, lap.remaining_cost, lap.unit_cost, lap.route});
            queue.pop_front();
        }
    }

    Director& director_;
    std::uint64_t seed_;
    std::vector<std::string> own_metrics_;
    int trainers_;
    VirtualCluster cluster_;
    std::map<TrialId, std::deque<Lap>> queues_;  // released and not begun
    std::set<TrialId> under_way_;
};

}  // namespace

std::optional<SearchSimulation> simulate_search(Policy const& policy, Director& director, OwnerTable const& owners,
                                                SearchSimulationOptions const& options) {
    return SearchSimulator(policy, director, owners, options).run(options.most_units / std::ssize(owners.owner));
}

}  // namespace hopscotch
