// SPDX-License-Identifier: Apache-2.0
// What searches have in common that are small enough to be seen through: they check that the director keeps its word.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "search/search.hpp"

namespace hopscotch {

inline double toy_random(std::int64_t seed, std::int64_t a, std::int64_t b) {
    return Rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::search, {a, b})).uniform();
}

// What all have in common: trials with random costs; every lap must be reported, in order, and nothing of a trial that is
// closed.
class ToySearch : public Search {
public:
    ToySearch(std::int64_t seed, std::int64_t trials) : seed_(seed), trials_(trials) {}

    std::optional<Proposal> next() override {
        if (auto resumed = resume()) return resumed;
        if (started_ == trials_) return std::nullopt;
        TrialId const id(started_++);
        open_[id] = {0, first_until(id)};
        return Proposal{Proposal::Kind::start, id, assignment(id.value), open_[id].until};
    }

    Verdict report(Report const& report) override {
        EXPECT_TRUE(open_.contains(report.trial)) << "trial " << report.trial.value << " is closed";
        auto& of = open_[report.trial];
        EXPECT_EQ(report.epoch, of.laps++) << "trial " << report.trial.value;
        if (!report.loss) {
            open_.erase(report.trial);
            lost(report.trial);
            return {};
        }
        auto verdict = heard(report);
        if (of.laps != of.until) return verdict;
        verdict = decide(report);
        bool const ends =
            verdict.kind == Verdict::Kind::stop || (verdict.kind == Verdict::Kind::go_on && verdict.until_epoch <= of.laps);
        if (ends)
            open_.erase(report.trial);
        else if (verdict.kind != Verdict::Kind::pause)
            of.until = verdict.until_epoch;
        return verdict;
    }

    bool finished() const override { return started_ == trials_ && open_.empty(); }

    // Of a trial, or of what it becomes.
    std::function<double(std::int64_t)> cost = [this](std::int64_t about) { return 0.5 + 3 * toy_random(seed_, about, -1); };

protected:
    struct Open {
        int laps = 0, until = 0;
    };
    Assignment assignment(std::int64_t about) const { return {{"model.cost", cost(about)}}; }
    Proposal resumption(TrialId trial, int until) {
        open_[trial].until = until;
        return {Proposal::Kind::resume, trial, {}, until};
    }
    static Verdict verdict_of(Verdict::Kind kind, int until = 0) {
        Verdict out;
        out.kind = kind;
        out.until_epoch = until;
        return out;
    }

    virtual int first_until(TrialId trial) = 0;
    virtual std::optional<Proposal> resume() { return std::nullopt; }
    virtual Verdict heard(Report const&) { return {}; }
    virtual Verdict decide(Report const& report) = 0;  // at a decision point
    virtual void lost(TrialId) {}

    std::int64_t seed_, trials_, started_ = 0;
    std::map<TrialId, Open> open_;  // that the search has not done with
};

}  // namespace hopscotch
