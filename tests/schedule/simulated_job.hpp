// SPDX-License-Identifier: Apache-2.0
// The real half of a run, in numbers: trainers that take the laps of a director, one after another for each trial, for as
// long as they like. A trial's state is a number that depends on all that has happened to it, and its loss on the state; so
// two runs with equal losses have taken the same decisions and trained the same laps.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "core/rng.hpp"
#include "schedule/toy_experiment.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

class SimulatedJob {
public:
    using Bad = std::function<Outcome(LapId const&)>;

    // Timing is drawn from the seed. bad: laps that do not finish.
    SimulatedJob(Director& director, std::uint64_t seed, Bad bad = {})
        : director_(director), rng_(seed), bad_(std::move(bad)) {}

    std::function<double(LapId const&)> loss;                // instead of one that is drawn from the state
    std::function<std::vector<Order>(LapId const&)> orders;  // that come with a lap; empty: none

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
            states_[{record.trial, record.epoch}] = record.state_hash;
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
        VirtualCluster cluster(make_owners(shards, trainers, shards), cost);
        std::set<TrialId> busy;
        for (take(); !director_.finished() && laps > 0;) {
            for (auto const& [trial, queue] : queues_)
                if (!queue.empty() && busy.insert(trial).second) {
                    auto const& lap = queue.front();
                    cluster.add({{trial, lap.epoch}, lap.release, lap.remaining_cost});
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

    // Everything that must not depend on timing.
    std::string outcome() {
        std::string out = decisions;
        for (auto const& [lap, text] : trained) out += text + "\n";
        for (auto const& view : director_.trials()) out += text_of(view) + "\n";
        return out;
    }

    std::string decisions;
    std::map<LapId, std::string> trained;
    double makespan = 0, utilisation = 0;

private:
    void take() {
        for (auto const& view : director_.trials()) {
            if (has_ended(view.status)) queues_[view.id].clear();  // what was released comes to nothing
            if (!has_ended(view.status)) gone_.erase(view.id);     // an order has it go on
        }
        for (auto& lap : director_.release()) {
            auto& queue = queues_[lap.trial];
            std::erase_if(queue,
                          [&](Lap const& before) { return before.epoch >= lap.epoch; });  // an order has taken that back
            if (!gone_.contains(lap.trial)) queue.push_back(std::move(lap));
        }
        for (auto const& decision : director_.take_decisions()) decisions += text_of(decision) + "\n";
        for (auto const& state : director_.take_releases()) {
            EXPECT_TRUE(kept_.contains(state) || states_.contains(state)) << "released twice, or never trained";
            kept_.erase(state);
        }
    }

    void train(TrialId trial) {
        auto const lap = queues_[trial].front();
        LapId const id{trial, lap.epoch};
        LapRecord record;
        record.trial = trial;
        record.epoch = lap.epoch;
        record.valid.rows = 1;
        std::uint64_t before = static_cast<std::uint64_t>(trial.value);
        if (lap.clone_of) {
            // (Of what an order has stopped and taken up again before it began, the state is made again.)
            EXPECT_TRUE(orders || kept_.contains(*lap.clone_of)) << "a clone of a state that has been released";
            before = states_.at(*lap.clone_of);
        } else if (lap.epoch > 0) {
            before = states_.at({trial, lap.epoch - 1});
        }
        auto const values = std::hash<std::string>{}(to_json(lap.assignment).dump());
        auto const state = stream_key(before, Purpose::synthetic, {lap.epoch, static_cast<std::int64_t>(values)});
        record.state_hash = state;
        record.valid.loss = loss ? loss(id) : Rng(state).uniform();
        if (bad_) record.outcome = bad_(id);
        if (record.outcome != Outcome::finished) record.reason = "as told";
        if (orders && !states_.contains(id)) record.orders = orders(id);  // not again when it is trained again
        states_[id] = state;
        kept_.insert(id);
        deliver(record);
    }

    void deliver(LapRecord const& record) {
        auto& queue = queues_[record.trial];
        trained[{record.trial, record.epoch}] = text_of(queue.front());
        queue.pop_front();
        journal_.push_back(record);
        if (record.outcome != Outcome::finished) {
            gone_.insert(record.trial);
            queue.clear();
        }
        director_.record(record);
        take();
    }

    Director& director_;
    Rng rng_;
    Bad bad_;
    std::map<TrialId, std::deque<Lap>> queues_;  // as at their homes
    std::set<TrialId> gone_;
    std::map<LapId, std::uint64_t> states_;  // at the end of laps
    std::set<LapId> kept_;                   // those of them that clones can have
    std::vector<LapRecord> journal_;
};

}  // namespace hopscotch
