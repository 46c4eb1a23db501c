// SPDX-License-Identifier: Apache-2.0
// One bracket of successive halving as a state machine. A rung is decided when all its trials have reported or failed. A
// failed trial ranks last, never goes on, and no trial waits for it.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "search/ranking.hpp"
#include "search/rule.hpp"
#include "search/rungs.hpp"

namespace hopscotch {

// The rungs of best_after. most: number of trials; none: not known. search.budget.epochs pays for all of them.
std::vector<Rung> best_after_rungs(Experiment const& experiment, std::optional<std::int64_t> most);

class Bracket {
public:
    // name: for the log of decisions: "" or "bracket 2, ".
    Bracket(std::vector<Rung> rungs, int eta, std::string name, std::size_t objectives)
        : rungs_(std::move(rungs)), eta_(eta), name_(std::move(name)), results_(objectives) {}

    bool wants() const { return !closed_ && started_ < rungs_.front().trials; }
    int start();   // one more trial; returns its first decision point
    void close();  // no more trials start: halve those that have

    void end();  // no trial of this bracket goes on

    bool can_resume() const { return !ready_.empty(); }
    Rule::Resumption resume();

    // point: after the last epoch of the rung.
    Verdict decide(TrialId trial, Point const& point);
    void fail(TrialId trial, Point const& point) { arrive(trial, point); }
    bool finished() const { return !wants() && ready_.empty() && waiting_for_ == 0; }

private:
    struct Arrival {
        std::size_t place = 0, ahead_for_good = 0;  // so far, from 0; see Ranking
    };
    Arrival arrive(TrialId trial, Point const& point);
    void halve_if_complete();
    std::int64_t survivors() const;  // of the present rung, at most

    std::vector<Rung> rungs_;
    int eta_;
    std::string name_;
    bool closed_ = false;
    std::int64_t started_ = 0;
    std::size_t rung_ = 0;
    std::int64_t waiting_for_ = 0;  // results of the present rung
    Ranking results_;               // of the present rung
    std::deque<TrialId> ready_;     // survivors that are still paused
};

}  // namespace hopscotch
