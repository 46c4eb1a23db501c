// SPDX-License-Identifier: Apache-2.0
#include "analysis/results/run_times.hpp"

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

// The last event of the journal's laps, on the clock of the run.
double last_end_s(Journal const& journal, RunClock const& clock) {
    double out = 0;
    for (auto const& lap : journal.laps) {
        out = std::max(out, clock.at(totals_of(lap).end_unix_s));
        if (lap.valid.seconds > 0) out = std::max(out, clock.at(lap.valid.start_unix_s + lap.valid.seconds));
    }
    return out;
}

std::int64_t activities_of(Journal const& journal) {
    std::int64_t out = 0;
    for (auto const& lap : journal.laps) out += totals_of(lap).count + 1;
    return out;
}

}  // namespace

TimesReader::TimesReader(RunResults const& data, RunClock const& clock)
    : clock_(clock),
      end_s_(last_end_s(data.run.journal, clock)),
      one_by_one_(activities_of(data.run.journal) <= k_most_activities) {
    out_.trainers.resize(static_cast<std::size_t>(data.run.facts.trainers()));
    out_.begin_s = end_s_;
    out_.end_s = end_s_;
}

TrainerTimes& TimesReader::times_of(int trainer) {
    auto const index = static_cast<std::size_t>(std::max(0, trainer));
    if (index >= out_.trainers.size()) out_.trainers.resize(index + 1);  // an earlier job had more
    return out_.trainers[index];
}

void TimesReader::add(LapRecord const& lap, OfTrial trial) {
    auto const seconds_from = [&](double start_unix_s, double seconds) {
        double const start = clock_.at(start_unix_s);
        return std::pair(start, start + std::clamp(std::isfinite(seconds) ? seconds : 0, 0.0, 1e12));
    };
    for (auto const& unit : lap.units) {
        auto const [start, end] = seconds_from(unit.start_unix_s, unit.seconds);
        add({TimePiece::Kind::train, unit.trainer.value, lap.trial.value, lap.epoch, unit.shard.value, start, end}, trial);
        if (!(unit.wait_s > 0) || !std::isfinite(unit.wait_s)) continue;
        add({TimePiece::Kind::wait, unit.trainer.value, lap.trial.value, lap.epoch, unit.shard.value,
             std::max(0.0, start - unit.wait_s), start},
            OfTrial::another);
    }
    if (lap.valid.seconds > 0) {
        auto const [start, end] = seconds_from(lap.valid.start_unix_s, lap.valid.seconds);
        for (auto const trainer : validators_of(lap))
            add({TimePiece::Kind::validate, trainer.value, lap.trial.value, lap.epoch, 0, start, end}, trial);
    }
    for (std::size_t t = 0; t < std::min(lap.sync.exposed_s.size(), out_.trainers.size()); ++t)
        out_.trainers[t].exposed_s += lap.sync.exposed_s[t];
}

void TimesReader::add(TimePiece const& activity, OfTrial trial) {
    auto& times = times_of(activity.trainer);
    double const seconds = activity.end_s - activity.start_s;
    switch (activity.kind) {
        case TimePiece::Kind::train: times.train_s += seconds; break;
        case TimePiece::Kind::validate: times.validate_s += seconds; break;
        case TimePiece::Kind::wait: times.switch_s += seconds; return add_piece(activity);
    }
    times.first_s = times.first_s < 0 ? activity.start_s : std::min(times.first_s, activity.start_s);
    times.last_s = std::max(times.last_s, activity.end_s);
    out_.begin_s = std::min(out_.begin_s, activity.start_s);
    if (trial == OfTrial::best && out_.best_path.size() < static_cast<std::size_t>(k_most_activities))
        out_.best_path.push_back(activity);
    add_piece(activity);
}

void TimesReader::add_piece(TimePiece const& activity) {
    if (one_by_one_)
        out_.activities.push_back(activity);
    else
        add_to_cells(activity);
}

// Cells begin at 0, the start of the run.
void TimesReader::add_to_cells(TimePiece const& activity) {
    auto const row = static_cast<std::size_t>(activity.trainer);
    if (row >= k_most_gantt_trainers || end_s_ <= 0) return;
    if (row >= out_.cells.size()) out_.cells.resize(row + 1, std::vector<TimeCell>(k_gantt_cells));
    double const per_cell = end_s_ / static_cast<double>(k_gantt_cells);
    auto const cell_at = [&](double s) { return std::clamp(s / per_cell, 0.0, static_cast<double>(k_gantt_cells)); };
    double const start = cell_at(activity.start_s), end = cell_at(activity.end_s);
    for (auto cell = static_cast<std::size_t>(start); cell < k_gantt_cells && static_cast<double>(cell) < end; ++cell) {
        double const from = std::max(start, static_cast<double>(cell));
        auto const share = static_cast<float>(std::min(end, static_cast<double>(cell + 1)) - from);
        auto& of_cell = out_.cells[row][cell];
        float TimeCell::* const part = activity.kind == TimePiece::Kind::train      ? &TimeCell::train
                                       : activity.kind == TimePiece::Kind::validate ? &TimeCell::validate
                                                                                    : &TimeCell::wait;
        of_cell.*part += share;
    }
}

RunTimes TimesReader::take() {
    std::ranges::sort(out_.best_path, {}, &TimePiece::start_s);
    return std::move(out_);
}

}  // namespace hopscotch
