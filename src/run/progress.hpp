// SPDX-License-Identifier: Apache-2.0
// The live view of a run: one redrawn line on a terminal, plain timed lines off it, nothing with --quiet.
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

std::string duration(double seconds);  // 12s, 3m04s, 2h30m

// One line of at most `columns` characters, without its end. Narrow windows lose the best, then the trials, the trainers,
// and the bar last. Pure.
std::string render(ProgressState const& state, int columns);

enum class ProgressMode { redraw, lines, quiet };
ProgressMode progress_mode(Terminal const& terminal);

// Decides when to print. write gets finished bytes (standard error's, normally); nothing else is called.
class Progress {
public:
    Progress(ProgressMode mode, int columns, std::function<void(std::string_view)> write);

    // now_s: any monotonic clock. Redraws at most 5 times a second; lines every 10 s and on passing 25, 50, 75 and 100 %.
    void update(ProgressState const& state, double now_s);
    void finish(ProgressState const& state);  // the last view, and a line end
    void leave();                             // without a last view: the next output begins on a new line

private:
    bool due(ProgressState const& state, double now_s);

    ProgressMode mode_;
    int columns_;
    std::function<void(std::string_view)> write_;
    std::optional<double> printed_at_s_;
    int quarters_ = 0;  // passed and printed
};

}  // namespace hopscotch
