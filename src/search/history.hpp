// SPDX-License-Identifier: Apache-2.0
// What a search has proposed and heard of, by trial: samplers learn from it, rules decide by it. And, for samplers only, the
// trials of an earlier run.
#pragma once
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "search/past.hpp"

namespace hopscotch {

inline constexpr double k_worst = std::numeric_limits<double>::infinity();  // the loss of who failed or diverged

struct TrialHistory {
    enum class State { running, paused, ended, cut_off };  // cut_off: of the past, with its run
    Assignment assignment;
    std::vector<double> losses;  // of each reported lap, lower is better; the last one of a trial that failed is k_worst
    State state = State::running;
    int until_epoch = 0;  // the next decision comes after so many laps

    int epochs() const { return static_cast<int>(losses.size()); }
    bool failed() const { return !losses.empty() && losses.back() == k_worst; }
};

class History {
public:
    std::size_t size() const { return trials_.size(); }
    TrialHistory const& of(TrialId trial) const { return trials_.at(trial.index()); }
    TrialHistory& of(TrialId trial) { return trials_.at(trial.index()); }
    std::vector<TrialHistory> const& trials() const { return trials_; }

    void add(Assignment assignment, int until_epoch);
    void add_past(PastTrial past);  // before any other
    void add_loss(TrialId trial, double loss);
    void refuse(Assignment const& assignment) { seen_.insert(key_of(assignment)); }  // never to be proposed

    bool has_seen(Assignment const& assignment) const { return seen_.contains(key_of(assignment)); }

    // What there is to learn from: the past trials, then those of this run, by id.
    std::size_t results() const { return past_.size() + trials_.size(); }
    TrialHistory const& result(std::size_t index) const {
        return index < past_.size() ? past_[index] : trials_.at(index - past_.size());
    }

    // How many of the results have a loss after so many epochs (that of a failure counts); 0 beyond the longest.
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
