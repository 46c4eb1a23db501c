// SPDX-License-Identifier: Apache-2.0
// The trials of a simulated job, in numbers: their laps wait in queues, as at their homes, and train when they are told to.
// A trial's state is a number that depends on all that has happened to it, and its loss on the state. So two runs with equal
// losses have taken the same decisions and trained the same laps.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "direct/toy_experiment.hpp"

namespace hopscotch {

class SimulatedTrials {
public:
    using Bad = std::function<Outcome(LapId const&)>;

    // Randomness comes from the seed. bad: laps that do not finish.
    SimulatedTrials(Director& director, std::uint64_t seed, Bad bad = {})
        : director_(director), rng_(seed), bad_(std::move(bad)) {}

    std::function<double(LapId const&)> loss;                // instead of one that is drawn from the state
    std::function<std::vector<Order>(LapId const&)> orders;  // that come with a lap; empty: none

    // Everything that must not depend on timing.
    std::string outcome() {
        std::string out = decisions;
        for (auto const& [lap, text] : trained) out += text + "\n";
        for (auto const& view : director_.trials()) out += text_of(view) + "\n";
        return out;
    }

    std::string decisions;
    std::map<LapId, std::string> trained;

protected:
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
        record.state.hash = state;
        record.valid.loss = loss ? loss(id) : Rng(state).uniform();
        record.valid.correct = Rng(state + 1).uniform();
        UnitRecord unit;  // of the training loss
        unit.rows = 1;
        unit.loss_sum = Rng(state + 2).uniform();
        record.units.push_back(unit);
        if (bad_) record.outcome = bad_(id);
        if (record.outcome != Outcome::finished) record.reason = "as told";
        if (orders && !states_.contains(id)) record.orders = orders(id);  // not again when it is trained again
        states_[id] = state;
        kept_.insert(id);
        deliver(record);
    }

    void deliver(LapRecord const& record) {
        auto& queue = queues_[record.trial];
        trained[record.id()] = text_of(queue.front());
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
