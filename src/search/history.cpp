// SPDX-License-Identifier: Apache-2.0
#include "search/history.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/error.hpp"

namespace hopscotch {

// 1 and 1.0 are the same value.
std::string History::key_of(Assignment const& assignment) {
    std::string out;
    for (auto const& [path, value] : assignment)
        fmt::format_to(std::back_inserter(out), "{}={};", path,
                       value.is_number() ? fmt::format("{}", value.number()) : value.dump());
    return out;
}

void History::add(Assignment assignment, int until_epoch) {
    seen_.insert(key_of(assignment));
    auto& trial = trials_.emplace_back();
    trial.assignment = std::move(assignment);
    trial.until_epoch = until_epoch;
}

void History::add_past(PastTrial past, std::vector<Point> points) {
    bool const ended = past.progress == PastTrial::Progress::ended;
    if (ended) seen_.insert(key_of(past.assignment));
    auto& trial = past_.emplace_back();
    trial.assignment = std::move(past.assignment);
    trial.points = std::move(points);
    trial.state = ended ? TrialHistory::State::ended : TrialHistory::State::cut_off;
    for (double loss : past.losses) add_loss(trial, loss);
}

void History::add_loss(TrialId trial, double loss) { add_loss(of(trial), loss); }

void History::add_loss(TrialHistory& trial, double loss) {
    auto& losses = trial.losses;
    losses.push_back(loss);
    if (losses.size() > reached_.size()) reached_.push_back(0);
    ++reached_[losses.size() - 1];
}

void History::end_paused() {
    for (auto& trial : trials_)
        if (trial.state == TrialHistory::State::paused) trial.state = TrialHistory::State::ended;
}

std::size_t History::reached(int epochs) const {
    require(epochs >= 1, "there is no loss before the first epoch");
    return static_cast<std::size_t>(epochs) <= reached_.size() ? reached_[static_cast<std::size_t>(epochs) - 1] : 0;
}

}  // namespace hopscotch
