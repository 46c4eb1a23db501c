// SPDX-License-Identifier: Apache-2.0
#include "direct/numbered_search.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "search/search.hpp"

namespace hopscotch {

TrialId NumberedSearch::number_of(TrialId searched) const {
    require(searched.value >= 0 && searched.index() < numbers_.size(),
            fmt::format("the search names its trial {} (it has started {} trials)", searched.value, numbers_.size()));
    return numbers_[searched.index()];
}

std::optional<Proposal> NumberedSearch::next() {
    while (auto proposal = search_->next()) {
        if (proposal->kind == Proposal::Kind::start) {
            require(proposal->trial.index() == numbers_.size(),
                    fmt::format("the search starts its trial {} (it has started {} trials)", proposal->trial.value,
                                numbers_.size()));
            numbers_.emplace_back(timeline_.trials().size());
            searched_[numbers_.back()] = proposal->trial;
        }
        auto const trial = number_of(proposal->trial);
        auto const withdrawn = withdrawn_.find(trial);
        if (withdrawn == withdrawn_.end()) {
            proposal->trial = trial;
            return proposal;
        }
        search_->report({proposal->trial, withdrawn->second, std::nullopt});
    }
    return std::nullopt;
}

Verdict NumberedSearch::report(Report const& report) {
    auto verdict = search_->report({searched_.at(report.trial), report.epoch, report.loss, report.metrics});
    if (verdict.kind == Verdict::Kind::clone) verdict.source = number_of(verdict.source);
    return verdict;
}

std::vector<Search::Ended> NumberedSearch::take_ended() {
    std::vector<Ended> out;
    for (auto& ended : search_->take_ended()) {
        ended.trial = number_of(ended.trial);
        if (!withdrawn_.contains(ended.trial)) out.push_back(std::move(ended));
    }
    return out;
}

}  // namespace hopscotch
