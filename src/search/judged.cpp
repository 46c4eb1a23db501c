// SPDX-License-Identifier: Apache-2.0
#include "search/judged.hpp"

#include <optional>

#include "experiment/config.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"

namespace hopscotch {
namespace {

// The result by which a trial is judged. None: it has none of that kind.
std::optional<Point> point_for(TrialHistory const& trial, int epochs) {
    if (epochs > 0 && trial.epochs() >= epochs) return trial.point_after(static_cast<std::size_t>(epochs));
    if (trial.failed()) return k_worst_point;
    if (epochs == 0 && trial.state == TrialHistory::State::ended && !trial.losses.empty()) return trial.last_point();
    return std::nullopt;
}

// The rule has preferred other trials so far: this one has not reached the epoch at which trials are compared. Without a
// rule every trial keeps up: a trial that stops early has its result.
bool is_left_behind(TrialHistory const& trial, Fidelity fidelity) {
    using enum TrialHistory::State;
    return fidelity == Fidelity::deepest && (trial.state == paused || trial.state == ended);
}

// The largest number of epochs that enough trials have; 0: none.
int deepest_level(History const& history, std::size_t startup) {
    for (int epochs = history.longest(); epochs > 0; --epochs)
        if (history.reached(epochs) >= startup) return epochs;
    return 0;
}

}  // namespace

Judging judging_of(Experiment const& experiment, std::size_t startup) {
    bool const ruled = procedure_traits(experiment.search.procedure).has_rule;
    return {ruled ? Fidelity::deepest : Fidelity::last, startup, objective_count(experiment.search)};
}

Judged judge(History const& history, Judging const& judging) {
    int const epochs = judging.fidelity == Fidelity::deepest ? deepest_level(history, judging.startup) : 0;
    Judged out;
    if (judging.fidelity == Fidelity::deepest && epochs == 0) return out;
    for (std::size_t i = 0; i < history.results(); ++i) {
        auto const& trial = history.result(i);
        auto const point = point_for(trial, epochs);
        bool const behind = !point && is_left_behind(trial, judging.fidelity);
        out.left_behind += behind ? 1U : 0U;
        if (behind || (!point && trial.state == TrialHistory::State::running)) out.others.push_back(i);
        if (!point) continue;
        out.results.push_back(i);
        out.points.push_back(*point);
    }
    return out;
}

}  // namespace hopscotch
