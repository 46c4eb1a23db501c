// SPDX-License-Identifier: Apache-2.0
// search.repeats and search.folds: each trial of an inner search is a group of copies, and each copy is a trial. Inner trial
// i stands for the trials i*R ... i*R+R-1. When all copies have trained a lap, the inner search hears the mean of their
// losses. Three copies (trials 0, 1, 2) of a configuration with a decision after lap 0:
//   report(0, lap 0) -> pause   report(2, lap 0) -> pause   report(1, lap 0): the inner search hears the mean: go_on
//   -> go_on for trial 1; next() -> resume 0, next() -> resume 2
// A copy that fails ends its group: the inner search hears of a failure at once, and the other copies end at their next
// decision point.
// search.race: a group has one copy at first. Once the inner search has ended, the groups that may be the best get one copy
// more, round by round (search/race.hpp); the inner search does not hear of these.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/search_config.hpp"
#include "search/search.hpp"

namespace hopscotch {

class RepeatedSearch : public Search {
public:
    // The last epoch of a trial with this configuration: no copy waits there. Null: the first decision point is the end.
    using LastEpoch = std::function<int(Assignment const&)>;
    RepeatedSearch(std::unique_ptr<Search> inner, SearchConfig const& search, LastEpoch last_epoch);

    std::optional<Proposal> next() override;
    Verdict report(Report const& report) override;
    bool finished() const override;
    std::vector<Ended> take_ended() override { return std::exchange(ended_, {}); }
    bool grow() override;
    std::string why_not_resumed() const override { return inner_->why_not_resumed(); }
    bool decides_nothing() const override { return copies_ == first_copies_ && inner_->decides_nothing(); }

private:
    struct Copy {
        enum class State { running, waiting, ended } state = State::running;  // waiting: paused at a decision point
        TrialId trial;
        int until = 0;
        std::vector<std::vector<double>> losses = {};  // by lap: of search.metric, then Report::metrics
    };
    struct Group {
        Assignment assignment;
        std::vector<Copy> copies = {};  // that have been proposed
        int until = 0;                  // the next decision point of the group
        int last = 0;                   // epochs, at most
        int told = 0;                   // laps that the inner search has heard of
        bool alive = true;              // for the inner search
        bool failed = false;            // one of its copies
        std::string why = {};           // of its end
    };
    struct Place {
        std::size_t group, copy;
    };

    std::size_t number_of_group(TrialId trial) const { return places_[trial.index()].group; }
    Group& group_of(TrialId trial) { return groups_[places_[trial.index()].group]; }
    Copy& copy_of(TrialId trial) { return group_of(trial).copies[places_[trial.index()].copy]; }

    bool has_copies_to_start() const;
    Proposal start_copy(std::size_t group, int until);
    Proposal resume_copy();
    void resume_waiting(std::size_t group);
    bool lap_is_whole(Group const& group) const;
    Verdict tell(std::size_t number);
    Verdict wait(TrialId trial);
    Verdict obey(TrialId trial, Verdict const& verdict);
    bool is_at_its_end(Group const& group, Copy const& copy) const;
    void fail(TrialId trial);
    void end_group(std::size_t number, std::string const& why);

    bool races(TrialId trial) const { return places_[trial.index()].copy >= static_cast<std::size_t>(first_copies_); }
    bool is_decided() const;  // the inner search has ended, and none of its trials goes on
    void open_round();        // of the race, if it is time
    void finish_racer();
    std::int64_t trained_epochs() const;

    std::unique_ptr<Search> inner_;
    int repeats_, folds_, copies_, first_copies_;
    std::optional<std::int64_t> budget_;  // of epochs
    LastEpoch last_epoch_;
    std::vector<Group> groups_;       // by inner trial
    std::vector<Place> places_;       // by trial
    std::deque<std::size_t> racers_;  // groups that get a copy in this round of the race
    int racing_ = 0;                  // copies of the race in training
    bool race_is_over_ = false;
    std::deque<TrialId> resumes_;
    std::vector<Ended> ended_;
    int undecided_ = 0;  // groups between decisions: a report may resume waiting copies
};

}  // namespace hopscotch
