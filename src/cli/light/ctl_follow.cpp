// SPDX-License-Identifier: Apache-2.0
// hopscotch ctl RUN_DIR status --follow.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "cli/light/ctl_status.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "rundir/run_directory.hpp"
#include "view/run_view.hpp"
#include "view/screen.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr double k_silent_s = 120;  // no process works on the run
constexpr double k_begin_s = 10;    // from the start of a job to its first view
constexpr std::chrono::milliseconds k_draw_every{500};

std::sig_atomic_t volatile g_interrupted = 0;
void on_interrupt(int) { g_interrupted = 1; }

// The job's view on this terminal, or on none.
class Follower {
public:
    Follower() {
        if (progress_mode(terminal_of(1)) == ProgressMode::redraw) screen_.emplace(write);
    }
    void show(RunView view, double silent_s) {
        if (silent_s > k_quiet_s) view.warnings.push_back(silence_text(silent_s));
        auto const window = terminal_of(1);
        if (screen_)
            screen_->draw(view_lines(view, {window.columns - 1, window.rows - 2}, glyphs_of_locale()));
        else
            lines_.update(view.progress, monotonic_s());
    }
    void leave() { screen_.reset(); }

private:
    static void write(std::string_view text) {
        fmt::print("{}", text);
        std::fflush(stdout);
    }
    std::optional<Screen> screen_;
    ProgressLines lines_{terminal_of(1).columns, write};
};

}  // namespace

int follow_status(fs::path const& run_dir) {
    Follower follower;
    double seen_s = monotonic_s(), written_s = 0;
    double silent_s = 0;
    std::signal(SIGINT, on_interrupt);  // so that the view is removed
    while (status_of(run_dir).empty() && g_interrupted == 0) {
        auto const view = read_run_view(run_dir);
        auto const now = monotonic_s();
        // At first the clocks of two hosts are compared; later only this host's clock counts.
        if (view && written_s == 0) seen_s = now - std::max(0.0, unix_s() - view->unix_s);
        if (view && written_s != 0 && view->unix_s != written_s) seen_s = now;
        if (view) written_s = view->unix_s;
        silent_s = now - seen_s;
        if (view) follower.show(*view, silent_s);
        if (silent_s > (view ? k_silent_s : k_begin_s)) break;
        std::this_thread::sleep_for(k_draw_every);
    }
    follower.leave();
    print_status(run_dir);
    return status_of(run_dir).empty() && g_interrupted == 0 ? k_exit_failed : 0;
}

}  // namespace hopscotch
