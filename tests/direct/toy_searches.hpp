// SPDX-License-Identifier: Apache-2.0
// Searches that are small enough to be seen through, for tests of directors.
#pragma once
#include <set>

#include "direct/toy_search.hpp"

namespace hopscotch {

// Asynchronous successive halving that promotes (Li et al. 2020), top rung first; rungs after r, r eta, r eta^2 ... epochs.
class ToyAsha : public ToySearch {
public:
    ToyAsha(std::int64_t trials, int eta, int max_epochs) : ToySearch(1, trials), eta_(eta) {
        for (std::int64_t r = 1; r < max_epochs; r *= eta) rungs_.push_back(static_cast<int>(r));
        rungs_.push_back(max_epochs);
        results_.resize(rungs_.size());
        promoted_.resize(rungs_.size());
    }
    std::size_t at_the_top() const { return results_.back().size(); }
    bool finished() const override {
        return started_ == trials_ &&
               std::ranges::all_of(open_, [](auto const& each) { return each.second.laps == each.second.until; }) &&
               !promotable();
    }

private:
    int first_until(TrialId) override { return rungs_[0]; }

    std::optional<std::pair<std::size_t, TrialId>> promotable() const {
        for (std::size_t k = rungs_.size() - 1; k-- > 0;) {
            auto left = results_[k].size() / static_cast<std::size_t>(eta_);
            for (auto at = results_[k].begin(); left > 0; ++at, --left)
                if (!promoted_[k].contains(at->second)) return std::pair{k, at->second};
        }
        return std::nullopt;
    }
    std::optional<Proposal> resume() override {
        auto const next = promotable();
        if (!next) return std::nullopt;
        promoted_[next->first].insert(next->second);
        return resumption(next->second, rungs_[next->first + 1]);
    }
    Verdict decide(Report const& report) override {
        auto const k = static_cast<std::size_t>(std::ranges::find(rungs_, report.epoch + 1) - rungs_.begin());
        results_[k].insert({*report.loss, report.trial});
        if (k + 1 == rungs_.size()) return verdict_of(Verdict::Kind::go_on);
        auto out = verdict_of(Verdict::Kind::pause);
        out.why = "rung " + std::to_string(k) + ", " + std::to_string(results_[k].size()) + " results";
        return out;
    }

    int eta_;
    std::vector<int> rungs_;
    std::vector<std::set<std::pair<double, TrialId>>> results_;  // by rung, best first
    std::vector<std::set<TrialId>> promoted_;
};

// Stops, pauses, goes on and resumes at random; what it does depends on the losses that it has heard, in their order.
class ToyDice : public ToySearch {
public:
    ToyDice(std::int64_t seed, std::int64_t trials, int max_epochs) : ToySearch(seed, trials), max_(max_epochs) {}
    bool finished() const override { return started_ == trials_ && paused_.empty() && ToySearch::finished(); }

private:
    int step() { return 1 + static_cast<int>(3 * throw_dice()); }
    double throw_dice() { return toy_random(seed_, ++throws_, static_cast<std::int64_t>(1e9 * heard_)); }
    int first_until(TrialId) override { return std::min(max_, step()); }

    std::optional<Proposal> resume() override {
        if (paused_.empty() || throw_dice() < 0.3) return std::nullopt;
        auto const id = paused_.back();
        paused_.pop_back();
        return resumption(id, std::min(max_, open_[id].laps + step()));
    }
    Verdict heard(Report const& report) override {
        heard_ = 0.7 * heard_ + *report.loss;
        return {};
    }
    Verdict decide(Report const& report) override {
        int const laps = report.epoch + 1;
        double const dice = throw_dice();
        if (dice < 0.2 || laps == max_) return verdict_of(dice < 0.1 ? Verdict::Kind::stop : Verdict::Kind::go_on, laps);
        if (dice > 0.7) {
            paused_.push_back(report.trial);
            return verdict_of(Verdict::Kind::pause);
        }
        return verdict_of(Verdict::Kind::go_on, std::min(max_, laps + step()));
    }

    int max_;
    std::int64_t throws_ = 0;
    double heard_ = 0;
    std::vector<TrialId> paused_;
};

// The median rule (Golovin et al. 2017): after each epoch, who is worse than half of those that have been there stops.
class ToyMedian : public ToySearch {
public:
    ToyMedian(std::int64_t trials, int max_epochs) : ToySearch(1, trials), max_(max_epochs) {
        heard_.resize(static_cast<std::size_t>(max_epochs));
    }

private:
    int first_until(TrialId) override { return 1; }
    Verdict decide(Report const& report) override {
        int const laps = report.epoch + 1;
        auto& rivals = heard_[static_cast<std::size_t>(report.epoch)];
        auto const better = std::ranges::count_if(rivals, [&](double loss) { return loss < *report.loss; });
        bool const bad = rivals.size() >= 5 && 2 * better > static_cast<std::int64_t>(rivals.size());
        rivals.push_back(*report.loss);
        if (bad) return verdict_of(Verdict::Kind::stop);
        return verdict_of(Verdict::Kind::go_on, std::min(max_, laps + 1));
    }

    int max_;
    std::vector<std::vector<double>> heard_;  // by epoch
};

}  // namespace hopscotch
