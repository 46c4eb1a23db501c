// SPDX-License-Identifier: Apache-2.0
// The progress of a run, as one line: in the live view of a terminal (run_view.hpp), and off a terminal every half minute.
//   [=========>          ]  46%  ETA 12s  busy 4/4  trials 7/16  best val_accuracy 0.9722 (trial 3)
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.hpp"

namespace hopscotch {

struct Terminal;

struct BestSoFar {
    TrialId trial;
    double value = 0;
};

struct ProgressState {
    double elapsed_s = 0;        // of this job, since its first lap was released
    double done = 0, total = 0;  // work, in any unit that takes time evenly: units, or better FLOPs
    double done_before = 0;      // by earlier jobs
    int busy = 0, trainers = 0;
    std::int64_t trials_done = 0, trials = 0;
    std::string metric;
    std::optional<BestSoFar> best;
};

std::string percent_text(ProgressState const& state);   // "46 %", rounded down
std::string progress_text(ProgressState const& state);  // "46 %, ETA 36s, 7 of 16 trials have ended"

// One line of at most `columns` characters, without its end. Narrow windows lose the best, then the trials, the trainers,
// and the bar last. Pure.
std::string render(ProgressState const& state, int columns);

enum class ProgressMode { redraw, lines, quiet };
ProgressMode progress_mode(Terminal const& terminal);

// Off a terminal: decides when to print a line. write gets finished bytes (standard error's, normally).
class ProgressLines {
public:
    ProgressLines(int columns, std::function<void(std::string_view)> write);

    // now_s: any monotonic clock. A line every 30 s, and on passing 25, 50, 75 and 100 %.
    void update(ProgressState const& state, double now_s);
    void finish(ProgressState const& state);  // the last line, unless it has been printed

private:
    bool due(ProgressState const& state, double now_s);

    int columns_;
    std::function<void(std::string_view)> write_;
    std::optional<double> printed_at_s_;
    int quarters_ = 0;  // passed and printed
};

}  // namespace hopscotch
