// SPDX-License-Identifier: Apache-2.0
// What grid and random share: trials that are proposed one after another and run to their last epoch, whatever they report.
#pragma once
#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "search/search.hpp"

namespace hopscotch {

class UndecidedSearch : public Search {
public:
    explicit UndecidedSearch(Experiment const& experiment) : experiment_(experiment) {}

    Verdict report(Report const&) override { return {}; }
    bool decides_nothing() const override { return true; }

protected:
    // Numbers the next trial. Throws ConfigError if the reader refuses the configuration.
    Proposal start(Assignment assignment) {
        Problems problems("trial " + std::to_string(started_));
        auto const config = resolve(experiment_, assignment, problems);
        problems.throw_if_any();
        return {Proposal::Kind::start, TrialId(started_++), std::move(assignment), config.train.epochs};
    }
    std::int64_t started() const { return started_; }

private:
    Experiment experiment_;
    std::int64_t started_ = 0;
};

}  // namespace hopscotch
