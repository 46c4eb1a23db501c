// SPDX-License-Identifier: Apache-2.0
// A director that obeys the contract of search.hpp and checks that the search does, too: it keeps in_flight trials alive and
// finishes their laps one at a time, in a random order.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/rng.hpp"
#include "made_up_metrics.hpp"
#include "search/search.hpp"
#include "search_experiment.hpp"

namespace hopscotch {

class FakeDirector {
public:
    enum class State { running, paused, finished, stopped, failed };
    struct Trial {
        Assignment assignment;
        State state = State::running;
        int epochs = 0, until = 0;
        std::vector<double> losses;
        std::vector<int> decisions;  // epochs at which it was paused, stopped or finished
        std::string why;
    };
    using Loss = std::function<std::optional<double>(TrialId, Trial const&, int epochs)>;

    // loss: after this many epochs; none: the trial fails there. metrics: number of those among search.objectives.
    FakeDirector(Search& search, std::size_t in_flight, Loss loss, std::uint64_t seed, std::size_t metrics = 0)
        : search_(search), in_flight_(in_flight), metrics_(metrics), loss_(std::move(loss)), rng_(seed) {}

    // To the end, or at most this many laps. False: the contract was broken, see the failure.
    bool run(std::size_t most_laps = 1'000'000) {
        for (std::size_t laps = 0; laps < most_laps && !broken_; ++laps) {
            fill();
            if (alive_.empty()) {
                if (!search_.finished()) fail("nothing is alive, nothing starts, and the search has not finished");
                return !broken_;
            }
            if (search_.finished()) was_finished_ = true;
            advance(alive_[rng_.below(static_cast<std::uint32_t>(alive_.size()))]);
            stop_ended();
        }
        if (!broken_) fail("the search does not end");
        return false;
    }

    std::vector<Trial> const& trials() const { return trials_; }
    std::vector<std::string> const& log() const { return log_; }  // new 0, 0 -> 3
    std::size_t count(State state) const {
        return static_cast<std::size_t>(std::ranges::count(trials_, state, &Trial::state));
    }
    std::size_t count_at(int epochs) const {  // trials with at least this many
        return static_cast<std::size_t>(
            std::ranges::count_if(trials_, [&](auto const& each) { return each.epochs >= epochs; }));
    }
    std::size_t clones() const { return clones_; }

protected:
    void fail(std::string const& what) {
        broken_ = true;
        ADD_FAILURE() << what;
    }
    void check(bool good, std::string const& what) {
        if (!good && !broken_) fail(what);
    }

    void fill() {
        while (alive_.size() < in_flight_) {
            auto const proposal = search_.next();
            if (!proposal) return;
            check(!was_finished_, "it proposes after it has finished");
            auto const index = proposal->trial.index();
            if (proposal->kind == Proposal::Kind::start) {
                check(index == trials_.size(), "ids are not in the order of the proposals");
                if (broken_) return;
                trials_.push_back({proposal->assignment, State::running, 0, 0, {}, {}, ""});
                log_.push_back("new " + std::to_string(index));
            } else {
                check(index < trials_.size() && trials_[index].state == State::paused,
                      "it resumes " + std::to_string(index) + ", which is not paused");
                if (broken_) return;
                trials_[index].state = State::running;
                log_.push_back(std::to_string(index) + " -> " + std::to_string(proposal->until_epoch));
            }
            check(proposal->until_epoch > trials_[index].epochs, "it asks for epochs that have been trained");
            trials_[index].until = proposal->until_epoch;
            alive_.push_back(proposal->trial);
        }
    }

    void advance(TrialId id) {
        auto& trial = trials_[id.index()];
        auto const loss = loss_(id, trial, trial.epochs + 1);
        auto const verdict = search_.report({id, trial.epochs++, loss, made_up_metrics(id, loss, metrics_)});
        if (!loss) return end(id, State::failed);
        trial.losses.push_back(*loss);
        if (trial.epochs < trial.until)
            return check(verdict.kind == Verdict::Kind::go_on, "it decides between decision points");
        trial.why = verdict.why;
        obey(id, verdict);
    }

    void obey(TrialId id, Verdict const& verdict) {
        auto& trial = trials_[id.index()];
        using enum Verdict::Kind;
        if (verdict.kind == clone) {
            auto const& source = trials_.at(verdict.source.index());
            check(search_.clones(), "it clones and has not said so");
            check(source.epochs == verdict.source_epoch + 1, "the state it wants is not the last one that was reported");
            check(source.state == State::running && verdict.source != id, "it clones who has ended, or itself");
            trial.assignment = verdict.assignment;
            ++clones_;
        }
        if (verdict.kind == stop) return end(id, State::stopped);
        if (verdict.kind == pause) return end(id, State::paused);
        if (verdict.until_epoch <= trial.epochs) return end(id, State::finished);
        trial.until = verdict.until_epoch;
    }

    void stop_ended() {
        for (auto const& [id, why] : search_.take_ended()) {
            auto& trial = trials_.at(id.index());
            check(trial.state == State::paused, "it ends " + std::to_string(id.value) + ", which is not paused");
            trial.state = State::stopped;
            trial.why = why;
        }
    }

    void end(TrialId id, State state) {
        trials_[id.index()].state = state;
        trials_[id.index()].decisions.push_back(trials_[id.index()].epochs);
        std::erase(alive_, id);
    }

    Search& search_;
    std::size_t in_flight_, metrics_;
    Loss loss_;
    Rng rng_;
    std::vector<Trial> trials_;
    std::vector<TrialId> alive_;
    std::vector<std::string> log_;
    std::size_t clones_ = 0;
    bool broken_ = false, was_finished_ = false;
};

}  // namespace hopscotch
