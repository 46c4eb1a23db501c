// SPDX-License-Identifier: Apache-2.0
// Asynchronous successive halving (Li et al., MLSys 2020). promote: Algorithm 2 of the paper; a trial pauses at its rung and
// is resumed once it is among the best 1/eta of the trials that reached the rung. stop: a trial that is not among them on
// its arrival ends (the rule of Optuna and Determined; the first to arrive always pass).
#include <fmt/format.h>

#include <algorithm>

#include "experiment/config.hpp"
#include "experiment/objectives.hpp"
#include "search/ranking.hpp"
#include "search/rule.hpp"
#include "search/rungs.hpp"

namespace hopscotch {
namespace {

class Asha : public Rule {
public:
    Asha(Halving const& halving, std::optional<std::int64_t> most, std::size_t objectives)
        : eta_(static_cast<std::size_t>(halving.eta)),
          most_(most),
          epochs_(asha_rungs(halving)),
          rungs_(epochs_.size(), Ranking(objectives)) {}

    bool wants() const override { return true; }
    int start(TrialId, int) override {
        rung_of_.push_back(0);
        return epochs_.front();
    }
    void fail(TrialId trial, History const& history) override { insert(trial, history); }

protected:
    // The trial's place in its rung, from 0.
    std::size_t insert(TrialId trial, History const& history) {
        return rungs_[rung_of_[trial.index()]].insert(trial, history.of(trial).last_point());
    }
    bool is_at_the_top(TrialId trial) const { return rung_of_[trial.index()] + 1 == rungs_.size(); }
    std::string place_text(std::size_t rung, std::size_t place, std::size_t passing) const {
        return fmt::format("rung {} ({} epoch{}): rank {} of {}, {} go{} on", rung, epochs_[rung],
                           epochs_[rung] == 1 ? "" : "s", place + 1, rungs_[rung].size(), passing, passing == 1 ? "es" : "");
    }

    std::size_t eta_;
    std::optional<std::int64_t> most_;
    std::vector<int> epochs_;
    std::vector<Ranking> rungs_;
    std::vector<std::size_t> rung_of_;  // by trial: the one it is at or on its way to
};

class Promoting : public Asha {
public:
    using Asha::Asha;

    int start(TrialId trial, int wanted) override {
        ++pending_;
        return Asha::start(trial, wanted);
    }
    void close() override { closed_ = true; }
    // The results stay in their rungs, and new trials compete with them.
    void grow(std::int64_t most) override {
        most_ = most;
        closed_ = false;
        for (auto& rung : rungs_)
            for (auto& entry : rung.entries()) entry.rests = false;
    }
    void fail(TrialId trial, History const& history) override {
        --pending_;
        Asha::fail(trial, history);
    }

    bool pauses() const override { return true; }
    bool can_resume() const override { return next().has_value(); }
    std::optional<Resumption> resume() override {
        auto const best = next();
        if (!best) return std::nullopt;
        auto& entry = rungs_[best->rung].entries()[best->place];
        entry.rests = false;
        rung_of_[entry.trial.index()] = best->rung + 1;
        ++pending_;
        return Resumption{entry.trial, epochs_[best->rung + 1]};
    }

    Verdict decide(TrialId trial, History const& history) override {
        auto const rung = rung_of_[trial.index()];
        auto const place = insert(trial, history);
        --pending_;
        if (is_at_the_top(trial)) return {};
        bool const hopeless = is_hopeless(rungs_[rung].ahead_for_good(place));
        rungs_[rung].entries()[place].rests = !hopeless;
        Verdict out;
        out.kind = hopeless ? Verdict::Kind::stop : Verdict::Kind::pause;
        out.why = place_text(rung, place, rungs_[rung].size() / eta_);
        return out;
    }

private:
    struct Seat {
        std::size_t rung = 0, place = 0;
    };

    std::optional<Seat> next() const {
        for (std::size_t rung = rungs_.size() - 1; rung-- > 0;)
            if (auto const found = best_of(rung, rungs_[rung].size() / eta_)) return found;
        // At the end, with too few trials for all rungs, the best one is still promoted all the way.
        if (!closed_ || pending_ > 0 || rungs_.back().size() > 0) return std::nullopt;
        for (std::size_t rung = rungs_.size() - 1; rung-- > 0;)
            if (auto const found = best_of(rung, rungs_[rung].size())) return found;
        return std::nullopt;
    }

    // The best paused trial among the first `places` of a rung.
    std::optional<Seat> best_of(std::size_t rung, std::size_t places) const {
        auto const& entries = rungs_[rung];
        for (std::size_t i = 0; i < places && !has_failed(entries[i].point); ++i)
            if (entries[i].rests) return Seat{rung, i};
        return std::nullopt;
    }

    // No rung holds more trials than there are.
    bool is_hopeless(std::size_t ahead) const {
        return most_ && ahead >= std::max<std::size_t>(static_cast<std::size_t>(*most_) / eta_, 1);
    }

    std::int64_t pending_ = 0;  // started or taken up again, without a report yet
    bool closed_ = false;
};

class Stopping : public Asha {
public:
    using Asha::Asha;

    // Trials with the same results as the last one that passes also pass.
    Verdict decide(TrialId trial, History const& history) override {
        auto& rung = rung_of_[trial.index()];
        auto const place = insert(trial, history);
        if (is_at_the_top(trial)) return {};
        auto const passing = std::max<std::size_t>(rungs_[rung].size() / eta_, 1);
        Verdict out;
        out.why = place_text(rung, place, passing);
        auto const& results = rungs_[rung];
        if (place < passing || results[place].point == results[passing - 1].point)
            out.until_epoch = epochs_[++rung];
        else
            out.kind = Verdict::Kind::stop;
        return out;
    }
};

}  // namespace

std::unique_ptr<Rule> make_asha(Experiment const& experiment, std::optional<std::int64_t> most) {
    Halving const halving{experiment.search.rule.eta, first_decision(experiment), most_epochs(experiment)};
    auto const objectives = objective_count(experiment.search);
    if (experiment.search.rule.variant == AshaVariant::stop) return std::make_unique<Stopping>(halving, most, objectives);
    return std::make_unique<Promoting>(halving, most, objectives);
}

}  // namespace hopscotch
