// SPDX-License-Identifier: Apache-2.0
#include "job/live_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/log.hpp"
#include "direct/trial_view.hpp"
#include "rundir/tally.hpp"
#include "view/leaderboard.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

constexpr double k_view_s = 0.5;  // heartbeats come as often
constexpr double k_view_file_s = 1;

void write_to_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::vector<Leader> leaders_of(std::vector<TrialView> const& trials, Tally const& tally) {
    std::vector<std::pair<double, TrialView const*>> ranked;
    for (auto const& trial : trials)
        if (auto const& best = tally.of(trial.id).best) ranked.emplace_back(metric_value(*best, tally.metric()), &trial);
    auto const most = std::min(ranked.size(), k_leaders);
    std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(most), [&](auto const& a, auto const& b) {
        return a.first == b.first ? a.second->id < b.second->id : better(a.first, b.first, tally.mode());
    });
    std::vector<Leader> out;
    for (auto const& [value, trial] : std::span(ranked).first(most)) {
        auto const& of_trial = tally.of(trial->id);
        out.push_back(
            {trial->id, value, of_trial.best->epoch, short_config(trial->assignment), thinned_curve(of_trial.curve)});
    }
    return out;
}

}  // namespace

LiveView::LiveView(Job job, Tally const& tally, Peers const& peers)
    : job_(std::move(job)),
      tally_(tally),
      peers_(peers),
      trainers_(job_.trainers),
      lines_(terminal_of(2).columns, write_to_stderr),
      bytes_before_(tally.hop_bytes()) {
    if (job_.mode != ProgressMode::redraw) return;
    screen_.emplace(write_to_stderr);
    log_above_a_view();
}

void LiveView::update(ProgressState const& state, double now_s) {
    if (job_.mode == ProgressMode::lines) lines_.update(state, now_s);
}

void LiveView::look(ProgressState const& state, std::vector<TrialView> const& trials, double now_s) {
    next_look_s_ = now_s + (screen_ ? k_view_s : k_view_file_s);
    auto view = view_of(state, trials, now_s);
    if (screen_) {
        auto const window = terminal_of(2);
        screen_->draw(view_lines(view, {window.columns - 1, window.rows - 2}, glyphs_of_locale()));
    }
    if (now_s < next_publication_s_) return;
    next_publication_s_ = now_s + k_view_file_s;
    job_.publish(std::move(view));
}

RunView LiveView::view_of(ProgressState const& state, std::vector<TrialView> const& trials, double now_s) {
    RunView out;
    out.name = job_.name;
    out.label = job_.label;
    out.unix_s = unix_s();
    out.progress = state;
    out.trainers = trainers_.look(peers_, now_s);
    for (auto const& trial : trials) {
        out.in_flight += trial.status == TrialStatus::running ? 1 : 0;
        out.failed += trial.status == TrialStatus::failed || trial.status == TrialStatus::diverged ? 1 : 0;
        out.epochs += trial.epochs_done - trial.first_epoch;
    }
    out.waiting = std::max<std::int64_t>(0, state.trials - state.trials_done - out.in_flight);
    if (state.elapsed_s > 0)
        out.state_bytes_per_s = static_cast<double>(tally_.hop_bytes() - bytes_before_) / state.elapsed_s;
    out.leaders = leaders_of(trials, tally_);
    out.warnings = last_warnings(k_view_warnings);
    return out;
}

void LiveView::leave() {
    if (screen_) screen_->erase();
}

void LiveView::finish(ProgressState const& state) {
    if (job_.mode == ProgressMode::lines) lines_.finish(state);
    if (!screen_) return;
    screen_->erase();
    write_to_stderr(render(state, terminal_of(2).columns - 1) + "\n");
}

}  // namespace hopscotch
