// SPDX-License-Identifier: Apache-2.0
// A small search that clones trials, for tests of directors.
#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "direct/toy_search.hpp"

namespace hopscotch {

// Population based training (Jaderberg et al. 2017), asynchronous: the worst quarter is replaced by clones of the best.
class ToyPbt : public ToySearch {
public:
    ToyPbt(std::int64_t seed, std::int64_t population, int interval, int epochs)
        : ToySearch(seed, population), interval_(interval), epochs_(epochs) {}
    bool clones() const override { return true; }

private:
    int first_until(TrialId) override { return std::min(interval_, epochs_); }
    Verdict heard(Report const& report) override {
        last_[report.trial] = {*report.loss, report.epoch};
        return {};
    }
    void lost(TrialId trial) override { last_.erase(trial); }

    Verdict decide(Report const& report) override {
        int const laps = report.epoch + 1;
        if (laps >= epochs_) return verdict_of(Verdict::Kind::go_on, laps);
        int const until = std::min(epochs_, laps + interval_);
        std::vector<std::pair<double, TrialId>> ranks;
        for (auto const& [trial, result] : last_) ranks.emplace_back(result.first, trial);
        std::ranges::sort(ranks);
        auto const quarter = ranks.size() / 4;
        bool const bad = std::any_of(ranks.end() - static_cast<std::ptrdiff_t>(quarter), ranks.end(),
                                     [&](auto const& each) { return each.second == report.trial; });
        if (!bad) return verdict_of(Verdict::Kind::go_on, until);
        auto const pick =
            static_cast<std::size_t>(toy_random(seed_, report.trial.value, laps) * static_cast<double>(quarter));
        auto out = verdict_of(Verdict::Kind::clone, until);
        out.source = ranks[pick].second;
        out.source_epoch = last_[out.source].second;
        out.assignment = assignment(1000 * laps + report.trial.value);
        return out;
    }

    int interval_, epochs_;
    std::map<TrialId, std::pair<double, int>> last_;  // loss, epoch
};

}  // namespace hopscotch
