// SPDX-License-Identifier: Apache-2.0
// A search whose trials have the run's numbers. PURE. The search numbers its own trials from 0. The run also counts clones
// that users ordered, so its numbers can be larger. Numbers are translated here and nowhere else.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "direct/timeline.hpp"
#include "search/search.hpp"

namespace hopscotch {

class NumberedSearch : public Search {
public:
    // timeline: a trial that the search starts gets the timeline's next number.
    NumberedSearch(std::unique_ptr<Search> search, Timeline const& timeline)
        : search_(std::move(search)), timeline_(timeline) {}

    // An order took the trial over after this many reported laps. If the search has paused the trial, the search hears of a
    // failure when it resumes the trial.
    void withdraw(TrialId trial, int reported) { withdrawn_.try_emplace(trial, reported); }

    std::optional<Proposal> next() override;
    Verdict report(Report const& report) override;
    std::vector<Ended> take_ended() override;
    bool grow() override { return search_->grow(); }
    bool finished() const override { return search_->finished(); }
    std::string why_not_resumed() const override { return search_->why_not_resumed(); }
    bool decides_nothing() const override { return search_->decides_nothing(); }
    bool clones() const override { return search_->clones(); }

private:
    TrialId number_of(TrialId searched) const;

    std::unique_ptr<Search> search_;
    Timeline const& timeline_;
    std::vector<TrialId> numbers_;         // by the search's number
    std::map<TrialId, TrialId> searched_;  // the search's number, by the run's
    std::map<TrialId, int> withdrawn_;     // reported laps
};

}  // namespace hopscotch
