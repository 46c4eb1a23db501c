// SPDX-License-Identifier: Apache-2.0
// The median stopping rule of Vizier (Golovin et al., KDD 2017): after epoch t a trial ends if the best of its losses is
// worse than the median of the other trials' mean losses up to t. All trials that have come as far count, finished or not;
// failed trials do not.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/config.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

double median(std::vector<double> const& sorted) {
    auto const half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

class Median : public Rule {
public:
    explicit Median(Experiment const& experiment)
        : first_(first_decision(experiment)),
          last_(most_epochs(experiment)),
          fewest_(static_cast<std::size_t>(experiment.search.rule.min_trials)),
          means_(static_cast<std::size_t>(last_ + 1)) {}

    bool wants() const override { return true; }
    int start(TrialId, int) override {
        runs_.emplace_back();
        return first_;
    }
    void fail(TrialId, History const&) override {}

    Verdict decide(TrialId trial, History const& history) override {
        auto const& losses = history.of(trial).losses;
        auto& run = runs_[trial.index()];
        for (; run.epochs < losses.size(); ++run.epochs) {
            run.sum += losses[run.epochs];
            run.best = std::min(run.best, losses[run.epochs]);
        }
        auto const epochs = static_cast<int>(losses.size());
        auto& others = means_[losses.size()];
        Verdict out;
        out.until_epoch = std::min(epochs + 1, last_);
        if (epochs < last_ && others.size() >= fewest_ && run.best > median(others)) {
            out.kind = Verdict::Kind::stop;
            out.why = fmt::format("epoch {}: best {:.6g} is worse than the median {:.6g} of {} others", epochs, run.best,
                                  median(others), others.size());
        }
        auto const mean = run.sum / epochs;
        others.insert(std::upper_bound(others.begin(), others.end(), mean), mean);
        return out;
    }

private:
    struct Run {
        std::size_t epochs = 0;
        double sum = 0, best = k_worst;
    };

    int first_, last_;
    std::size_t fewest_;
    std::vector<std::vector<double>> means_;  // by epochs, ascending: of each trial that has come so far
    std::vector<Run> runs_;                   // by trial
};

}  // namespace

std::unique_ptr<Rule> make_median(Experiment const& experiment) { return std::make_unique<Median>(experiment); }

}  // namespace hopscotch
