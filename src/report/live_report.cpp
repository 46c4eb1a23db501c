// SPDX-License-Identifier: Apache-2.0
#include "report/live_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "report/report_page.hpp"
#include "rundir/summary.hpp"

namespace hopscotch {
namespace {

constexpr double k_first_page_s = 5;  // the user who has started a run wants to see something
constexpr double k_share = 0.01;      // of a core

double cpu_s_of_thread() {
    std::timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void write_view_in(std::filesystem::path const& run_dir, RunView const& view, FileIdentity const* journal = nullptr) {
    replace_quickly(run_dir / "live.json", to_json(view).dump() + "\n", journal);
}

bool write_last_page(std::filesystem::path const& run_dir) {
    try {
        auto const data = read_results(run_dir.string());
        write_atomically(run_dir / "report.html", report_page(std::span(&data, 1)));
        return true;
    } catch (std::exception const& error) {
        log_warning(
            fmt::format("no report is written: {}; hopscotch report {} writes it later", error.what(), run_dir.string()));
        return false;
    }
}

}  // namespace

double pause_between_pages(double every_s, double cpu_s_of_last_page) {
    return std::max(every_s, cpu_s_of_last_page / k_share);
}

// Removes the files of an earlier job: they say that no job works on the run. That job may stand still within a write.
LiveReport::LiveReport(std::filesystem::path run_dir, double every_s) : run_dir_(std::move(run_dir)) {
    std::error_code ignored;
    for (auto const* name : {"report.html", "live.json", "report.html.tmp", "live.json.tmp"})
        std::filesystem::remove(run_dir_ / name, ignored);
    thread_ = std::thread([this, every_s] { work(every_s); });
}

LiveReport::~LiveReport() { stop(); }

void LiveReport::show(RunView view, FileIdentity journal) {
    {
        std::lock_guard const lock(mutex_);
        view_ = std::move(view);
        journal_ = std::move(journal);
    }
    news_.notify_one();
}

void LiveReport::stop() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    news_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void LiveReport::work(double every_s) {
    constexpr double k_never_s = 1e9;
    double pause_s = every_s > 0 ? std::min(k_first_page_s, every_s) : k_never_s;
    for (auto due_s = monotonic_s() + pause_s;;) {
        std::optional<RunView> view;
        FileIdentity journal;
        {
            std::unique_lock lock(mutex_);
            auto const wait = std::chrono::duration<double>(std::max(0.0, due_s - monotonic_s()));
            news_.wait_for(lock, wait, [this] { return stopping_ || view_; });
            if (stopping_) return;
            view = std::exchange(view_, std::nullopt);
            journal = journal_;
        }
        if (view) last_view_ = std::move(*view);
        if (view && journal.is_current()) write_view(last_view_, &journal);
        if (monotonic_s() < due_s) continue;
        auto const cpu_s = journal.is_current() ? write_page(std::max(pause_s, every_s), journal) : 0;
        pause_s = pause_between_pages(every_s, cpu_s);
        due_s = monotonic_s() + pause_s;
    }
}

// A page or view that fails is not the last one, so reporting the first failure of each is enough.
void LiveReport::warn(std::string const& what) {
    if (told_.insert(what.substr(0, what.find(':'))).second) log_warning(what);
}

// Returns its CPU seconds.
double LiveReport::write_page(double renewed_every_s, FileIdentity const& journal) {
    auto const before = cpu_s_of_thread();
    try {
        auto data = read_results(run_dir_.string());
        if (data.run.status() == "running") data.now.renewed_every_s = renewed_every_s;
        write_atomically(run_dir_ / "report.html", report_page(std::span(&data, 1)), &journal);
    } catch (std::exception const& error) {
        warn(fmt::format("the report is not renewed: {}", error.what()));
    }
    return cpu_s_of_thread() - before;
}

void LiveReport::write_view(RunView const& view, FileIdentity const* journal) {
    try {
        write_view_in(run_dir_, view, journal);
    } catch (std::exception const& error) {
        warn(fmt::format("the live view is not renewed: {}", error.what()));
    }
}

bool LiveReport::finish(std::string_view status) {
    stop();
    if (view_) last_view_ = std::move(*view_);
    last_view_.end(status);
    last_view_.unix_s = unix_s();
    bool const written = write_last_page(run_dir_);
    if (!last_view_.name.empty()) write_view(last_view_, nullptr);  // after the page: says that nothing is left to do
    return written;
}

void complete_report(std::filesystem::path const& run_dir) {
    std::error_code ignored;
    bool begun = false;
    for (auto const* name : {"report.html.tmp", "live.json.tmp"})
        if (std::filesystem::remove(run_dir / name, ignored)) begun = true;
    try {
        auto view = read_run_view(run_dir);
        if (!begun && (!view || view->status == name_of(RunStatus::finished))) return;
        if (!write_last_page(run_dir) || !view) return;
        view->end(name_of(RunStatus::finished));
        write_view_in(run_dir, *view);
    } catch (std::exception const& error) {
        log_warning(error.what());
    }
}

std::unique_ptr<LivePages> live_report(std::filesystem::path const& run_dir, double every_s) {
    return std::make_unique<LiveReport>(run_dir, every_s);
}

}  // namespace hopscotch
