// SPDX-License-Identifier: Apache-2.0
#include "search/bracket.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hopscotch {

int Bracket::start() {
    ++started_;
    ++waiting_for_;
    return rungs_.front().epochs;
}

void Bracket::close() {
    closed_ = true;
    halve_if_complete();
}

void Bracket::end() {
    closed_ = true;
    ready_.clear();
    waiting_for_ = 0;
}

Rule::Resumption Bracket::resume() {
    auto const trial = ready_.front();
    ready_.pop_front();
    return {trial, rungs_[rung_].epochs};
}

std::int64_t Bracket::survivors() const {
    if (rung_ + 1 == rungs_.size()) return 0;
    return rungs_[rung_ + 1].trials;
}

Bracket::Arrival Bracket::arrive(TrialId trial, Point const& point) {
    auto const place = results_.insert(trial, point);
    Arrival const out{place, results_.ahead_for_good(place)};
    --waiting_for_;
    halve_if_complete();
    return out;
}

Verdict Bracket::decide(TrialId trial, Point const& point) {
    auto const [trials, epochs] = rungs_[rung_];
    auto const go_on = survivors();
    auto const rung = rung_;
    auto const came = results_.size() + 1;
    auto const [place, ahead] = arrive(trial, point);
    Verdict out;
    if (go_on == 0) return out;
    // Those that are ahead for good stay ahead: a trial that is out now stays out.
    out.kind = static_cast<std::int64_t>(ahead) >= go_on ? Verdict::Kind::stop : Verdict::Kind::pause;
    out.why = fmt::format("{}rung {} ({} epoch{}): rank {} of {} so far, {} of {} go on", name_, rung, epochs,
                          epochs == 1 ? "" : "s", place + 1, came, go_on, trials);
    return out;
}

// A rung may be smaller than the table says: too few configurations, or too many failed.
void Bracket::halve_if_complete() {
    if (waiting_for_ > 0 || wants() || !ready_.empty() || results_.size() == 0) return;
    auto const came = static_cast<std::int64_t>(results_.size());
    auto const most = std::min(survivors(), std::max<std::int64_t>(came / eta_, 1));
    for (auto const& entry : results_.entries())
        if (!has_failed(entry.point) && std::ssize(ready_) < most) ready_.push_back(entry.trial);
    waiting_for_ = static_cast<std::int64_t>(ready_.size());
    results_.entries().clear();
    if (survivors() > 0) ++rung_;
}

}  // namespace hopscotch
