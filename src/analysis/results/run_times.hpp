// SPDX-License-Identifier: Apache-2.0
// When each trainer worked: the units of all laps, one lap after another, so that memory does not grow with the run.
#pragma once
#include "analysis/results/run_clock.hpp"
#include "analysis/results/run_results.hpp"

namespace hopscotch {

inline constexpr std::int64_t k_most_activities = 4000;  // drawn one by one; of more, each part of the time is drawn
inline constexpr std::size_t k_most_gantt_trainers = 64, k_gantt_cells = 760;

class TimesReader {
public:
    TimesReader(RunResults const& data, RunClock const& clock);

    // A lap with its units. is_best: of the trial whose model is the best.
    enum class OfTrial { best, another };
    void add(LapRecord const& lap, OfTrial trial);
    RunTimes take();

private:
    void add(TimePiece const& activity, OfTrial trial);
    void add_piece(TimePiece const& activity);
    void add_to_cells(TimePiece const& activity);
    TrainerTimes& times_of(int trainer);

    RunClock const& clock_;
    double end_s_ = 0;
    bool one_by_one_;
    RunTimes out_;
};

}  // namespace hopscotch
