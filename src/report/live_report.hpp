// SPDX-License-Identifier: Apache-2.0
// Writes report.html and live.json of a run while a job works on the run, and at the end of the job. A thread of its own
// reads the files as `hopscotch report` does, so rank 0's schedule never waits. Nothing here fails a run: every error is a
// warning.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "core/durable_file.hpp"
#include "view/live_pages.hpp"
#include "view/run_view.hpp"

namespace hopscotch {

// Until the next page: every_s, or longer, so that pages take at most 1 % of a core.
double pause_between_pages(double every_s, double cpu_s_of_last_page);

// Of a run that has finished, for --resume: writes the last page and the last view if the job was killed while it wrote
// them or before. Runs of older versions have no view and get no page. Throws nothing.
void complete_report(std::filesystem::path const& run_dir);

class LiveReport : public LivePages {
public:
    // A job begins to work on the run: removes the page and the view of the job before. every_s: run.report_every_s. 0: only
    // finish() writes a page.
    LiveReport(std::filesystem::path run_dir, double every_s);
    ~LiveReport() override;  // ends the thread; writes nothing
    LiveReport(LiveReport const&) = delete;
    LiveReport& operator=(LiveReport const&) = delete;

    // For live.json, soon. Returns at once. journal: of this attempt; while it is not current, nothing is written.
    void show(RunView view, FileIdentity journal) override;

    // This job has ended: ends the thread, and writes the last view and the last page. status: of the run. False: the page
    // could not be written.
    bool finish(std::string_view status) override;

private:
    void work(double every_s);
    void stop();
    double write_page(double renewed_every_s, FileIdentity const& journal);
    void write_view(RunView const& view, FileIdentity const* journal);
    void warn(std::string const& what);

    std::filesystem::path run_dir_;
    std::mutex mutex_;
    std::condition_variable news_;
    bool stopping_ = false;
    std::optional<RunView> view_;  // not yet written
    FileIdentity journal_;
    RunView last_view_;  // the thread's, then finish()'s
    std::set<std::string> told_;
    std::thread thread_;
};

// The pages for run_job() (view/live_pages.hpp).
std::unique_ptr<LivePages> live_report(std::filesystem::path const& run_dir, double every_s);

}  // namespace hopscotch
