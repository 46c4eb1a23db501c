// SPDX-License-Identifier: Apache-2.0
// The pages that a job renews for people while it trains, beside its terminal: report.html and live.json. The caller that
// starts the job gives it a writer (report/live_report.hpp).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace hopscotch {

struct FileIdentity;
struct RunView;

class LivePages {
public:
    virtual ~LivePages() = default;

    // Returns at once. journal: of this attempt; while it is not current, nothing is written.
    virtual void show(RunView view, FileIdentity journal) = 0;

    // The job has ended: the last view and the last page. status: of the run. False: the page could not be written.
    virtual bool finish(std::string_view status) = 0;
};

// every_s: run.report_every_s. 0: only finish() writes a page.
using MakeLivePages = std::function<std::unique_ptr<LivePages>(std::filesystem::path const& run_dir, double every_s)>;

}  // namespace hopscotch
