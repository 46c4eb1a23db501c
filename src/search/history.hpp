// SPDX-License-Identifier: Apache-2.0
// The proposed trials of a search and their losses. Samplers learn from them, and rules decide by them. For samplers only:
// also the trials of an earlier run.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "search/front.hpp"
#include "search/past.hpp"

namespace hopscotch {

struct TrialHistory {
    enum class State { running, paused, ended, cut_off };  // cut_off: of an earlier run that ended before the trial
    Assignment assignment;
    std::vector<double> losses;      // of each reported lap, lower is better; the last one of a trial that failed is k_worst
    std::vector<Point> points = {};  // likewise, if the search has several objectives
    State state = State::running;
    int until_epoch = 0;  // laps up to the next decision

    int epochs() const { return static_cast<int>(losses.size()); }
    bool failed() const { return !losses.empty() && losses.back() == k_worst; }
    Point point_after(std::size_t epochs) const {  // at least one
        return points.empty() ? Point{{losses.at(epochs - 1)}} : points.at(epochs - 1);
    }
    Point last_point() const { return point_after(losses.size()); }
};

class History {
public:
    std::size_t size() const { return trials_.size(); }
    TrialHistory const& of(TrialId trial) const { return trials_.at(trial.index()); }
    TrialHistory& of(TrialId trial) { return trials_.at(trial.index()); }
    std::vector<TrialHistory> const& trials() const { return trials_; }

    void add(Assignment assignment, int until_epoch);
    // Before any other trial. points: of its laps, if the search has several objectives.
    void add_past(PastTrial past, std::vector<Point> points = {});
    void add_loss(TrialId trial, double loss);
    void add_point(TrialId trial, Point const& point) { of(trial).points.push_back(point); }  // after its loss
    void end_paused();
    void refuse(Assignment const& assignment) { seen_.insert(key_of(assignment)); }  // never to be proposed

    bool has_seen(Assignment const& assignment) const { return seen_.contains(key_of(assignment)); }

    // Trials to learn from: those of the earlier run, then those of this run by id.
    std::size_t results() const { return past_.size() + trials_.size(); }
    TrialHistory const& result(std::size_t index) const {
        return index < past_.size() ? past_[index] : trials_.at(index - past_.size());
    }

    // Number of results with a loss after this many epochs (the loss of a failure counts); 0 beyond the longest.
    std::size_t reached(int epochs) const;
    int longest() const { return static_cast<int>(reached_.size()); }

private:
    static std::string key_of(Assignment const& assignment);
    void add_loss(TrialHistory& trial, double loss);

    std::vector<TrialHistory> past_, trials_;
    std::unordered_set<std::string> seen_;
    std::vector<std::size_t> reached_;
};

}  // namespace hopscotch
