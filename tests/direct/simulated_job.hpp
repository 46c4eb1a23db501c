// SPDX-License-Identifier: Apache-2.0
// The real half of a run, in numbers: trainers that take the laps of a director, one after another for each trial, for as
// long as they like.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "direct/simulated_trials.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

class SimulatedJob : public SimulatedTrials {
public:
    using SimulatedTrials::SimulatedTrials;

    // A job that goes on with the files of another that was killed: it feeds the known records again, in any order that the
    // director's releases allow.
    void go_on_from(SimulatedJob const& killed) {
        states_ = killed.states_;
        kept_ = killed.kept_;
        take();
        std::vector<LapRecord> left = killed.journal_;
        while (!left.empty()) {
            std::vector<std::size_t> possible;
            for (std::size_t i = 0; i < left.size(); ++i) {
                LapId const lap{left[i].trial, left[i].epoch};
                auto const& queue = queues_[lap.trial];
                if (!queue.empty() && queue.front().epoch == lap.epoch) possible.push_back(i);
            }
            ASSERT_FALSE(possible.empty()) << "known laps are not released again";
            auto const i = possible[rng_.below(static_cast<std::uint32_t>(possible.size()))];
            auto const record = left[i];
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
            deliver(record);
        }
    }

    // The records of another job, in its order.
    void feed(SimulatedJob const& job) {
        take();
        for (auto const& record : job.journal_) {
            ASSERT_FALSE(queues_[record.trial].empty()) << record.trial.value << ":" << record.epoch;
            states_[record.id()] = record.state.hash;
            deliver(record);
        }
    }

    // Until the director has finished, or this many laps have ended. Laps end in any order; false: the director hangs.
    bool run_in_any_order(std::size_t laps = SIZE_MAX) {
        for (take(); !director_.finished() && laps > 0; --laps) {
            std::vector<TrialId> ready;
            for (auto const& [trial, queue] : queues_)
                if (!queue.empty()) ready.push_back(trial);
            if (ready.empty()) return false;
            train(ready[rng_.below(static_cast<std::uint32_t>(ready.size()))]);
        }
        return true;
    }

    // The same on trainers: units take `cost` of the lap, times what is drawn.
    bool run_on(int shards, int trainers, VirtualCluster::Cost const& cost, std::size_t laps = SIZE_MAX) {
        VirtualCluster cluster(policy_named("planned"), make_owners(shards, trainers, shards), cost);
        std::set<TrialId> busy;
        for (take(); !director_.finished() && laps > 0;) {
            for (auto const& [trial, queue] : queues_)
                if (!queue.empty() && busy.insert(trial).second) {
                    auto const& lap = queue.front();
                    cluster.add({lap.id(), lap.release, lap.remaining_cost, lap.unit_cost, lap.route});
                }
            cluster.start_ready();
            auto const end = cluster.next_end();
            if (!end) return false;
            for (auto const& lap : cluster.run_until(*end)) {
                busy.erase(lap.trial);
                auto const& queue = queues_[lap.trial];
                if (queue.empty() || queue.front().epoch != lap.epoch) continue;  // it came to nothing
                train(lap.trial);
                if (--laps == 0) break;
            }
        }
        makespan = cluster.now();
        utilisation = cluster.busy() / (cluster.now() * trainers);
        return true;
    }

    double makespan = 0, utilisation = 0;
};

}  // namespace hopscotch
