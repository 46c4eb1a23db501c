// SPDX-License-Identifier: Apache-2.0
// Shows a job while it trains: a view on a terminal, lines off a terminal, and live.json for other terminals.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "job/trainer_watch.hpp"
#include "view/progress.hpp"
#include "view/run_view.hpp"
#include "view/screen.hpp"

namespace hopscotch {

class Peers;
class Tally;
struct TrialView;

class LiveView {
public:
    using Publish = std::function<void(RunView)>;  // gets the content of live.json
    struct Job {
        std::string name, label;  // of RunView
        int trainers = 0;
        ProgressMode mode = ProgressMode::quiet;  // on standard error
        Publish publish;
    };
    LiveView(Job job, Tally const& tally, Peers const& peers);

    // Call them often. look() is due twice a second: the facts about trials and trainers cost more than the progress.
    void update(ProgressState const& state, double now_s);
    bool look_is_due(double now_s) const { return now_s >= next_look_s_; }
    void look(ProgressState const& state, std::vector<TrialView> const& trials, double now_s);

    void leave();                             // the next output begins on a line of its own
    void finish(ProgressState const& state);  // likewise, below a last line

private:
    RunView view_of(ProgressState const& state, std::vector<TrialView> const& trials, double now_s);

    Job job_;
    Tally const& tally_;
    Peers const& peers_;
    TrainerWatch trainers_;
    ProgressLines lines_;
    std::optional<Screen> screen_;
    std::int64_t bytes_before_;  // of hops in earlier jobs
    double next_look_s_ = 0, next_publication_s_ = 0;
};

}  // namespace hopscotch
