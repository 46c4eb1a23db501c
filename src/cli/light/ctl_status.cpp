// SPDX-License-Identifier: Apache-2.0
#include "cli/light/ctl_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/quantity_text.hpp"
#include "experiment/metric.hpp"
#include "experiment/reader.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/tally.hpp"
#include "rundir/trial_states.hpp"
#include "view/leaderboard.hpp"
#include "view/run_view.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_last_decisions = 8;

std::map<std::string, int> trials_by_status(Journal const& journal) {
    std::map<std::string, int> out;
    for (auto const& [trial, state] : trial_states(journal)) ++out[state.status];
    return out;
}

void print_best(Experiment const& experiment, Journal const& journal) {
    Tally tally(experiment.search.metric, experiment.search.mode, 1);
    auto const losses = losses_of(experiment, journal.assignments);
    for (auto const& lap : journal.laps) tally.add(lap, losses.at(lap.trial));
    auto const best = tally.best_trial();
    if (!best) return fmt::print("best      none has a {} yet\n", experiment.search.metric);
    auto const& metrics = *tally.of(*best).best;
    fmt::print("best      trial {}: {} {:.4g} after epoch {}  {}\n", best->value, experiment.search.metric,
               metric_value(metrics, experiment.search.metric), metrics.epoch, short_config(journal.assignments.at(*best)));
}

std::string state_of(Journal const& journal, std::optional<RunView> const& view) {
    if (journal.end.status == "interrupted") return "interrupted; hopscotch resume continues the run";
    if (!journal.end.status.empty()) return journal.end.status;
    // The journal has a line for each lap only, the view is written every second.
    auto const silent_s = std::max(0.0, unix_s() - std::max(journal.jobs.last_unix_s, view ? view->unix_s : 0));
    if (silent_s > k_quiet_s) return silence_text(silent_s);
    return fmt::format("training; last sign of life {} ago", duration(silent_s));
}

void print_progress(RunView const& view) {
    bool const trains = view.status == "training";
    fmt::print("progress  {}\n", printable(trains ? progress_text(view.progress) : percent_text(view.progress)));
    if (trains) fmt::print("trainers  {:.0f} % busy\n", 100 * view.busy());
}

void print_decisions(Journal const& journal) {
    auto const first = journal.decisions.size() - std::min(journal.decisions.size(), k_last_decisions);
    for (std::size_t i = first; i < journal.decisions.size(); ++i) {
        auto const& each = journal.decisions[i];
        fmt::print("{}{} trial {}{}{}\n", i == first ? "decided   " : "          ", name_of(each.kind), each.trial.value,
                   each.epoch < 0 ? "" : fmt::format(" after epoch {}", each.epoch),
                   each.why.empty() ? "" : ": " + each.why);
    }
}

// If the view cannot be read, the status is shown without it.
std::optional<RunView> view_in(fs::path const& run_dir) {
    try {
        return read_run_view(run_dir);
    } catch (Error const& error) {
        fmt::print(stderr, "{}\n", printable(error.what()));
        return std::nullopt;
    }
}

}  // namespace

std::string silence_text(double silent_s) {
    return fmt::format("no sign of life for {}: the job was killed, or its host is out of reach; --resume continues the run",
                       duration(silent_s));
}

int print_status(fs::path const& run_dir) {
    auto const run = read_run(run_dir);
    auto const& journal = run.journal;
    auto view = view_in(run_dir);
    if (view && !journal.end.status.empty())
        view->end(journal.end.status);  // the job writes its last view behind the journal
    fmt::print("{}: {}\nstatus    {}\n", printable(run.experiment.name), run_dir.string(), state_of(journal, view));
    if (view) print_progress(*view);
    fmt::print("jobs      {}\n", journal.jobs.count);
    std::string trials;
    for (auto const& [name, count] : trials_by_status(journal))
        trials += fmt::format("{}{} {}", trials.empty() ? "" : ", ", count, name);
    fmt::print("trials    {}\nepochs    {}\n", trials.empty() ? "none has begun" : trials, journal.laps.size());
    print_best(run.experiment, journal);
    for (auto const& order : journal.orders)
        fmt::print("ordered   {}{} ({})\n", name_of(order.kind),
                   order.trial.value < 0 ? "" : fmt::format(" trial {}", order.trial.value), order.why);
    print_decisions(journal);
    return 0;
}

}  // namespace hopscotch
