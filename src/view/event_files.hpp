// SPDX-License-Identifier: Apache-2.0
// The files of tb/, one a trial, for TensorBoard. A thread of its own appends the new records, so rank 0 never waits for the
// disk. No file stays open: a run may have thousands of trials. Nothing here fails a run: a failed write is a warning, and
// is tried again.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "core/durable_file.hpp"
#include "core/ids.hpp"

namespace hopscotch {

class EventFiles {
public:
    // Removes the folder of an earlier job, soon. A viewer may show the run meanwhile, so this job's files have other names.
    // journal: writes nothing more once it is not current (Recorder::journal()).
    EventFiles(std::filesystem::path folder, double job_start_unix_s, FileIdentity journal);
    ~EventFiles();  // ends the thread; writes nothing more
    EventFiles(EventFiles const&) = delete;
    EventFiles& operator=(EventFiles const&) = delete;

    void add(TrialId trial, std::string_view records);
    void write_soon();  // returns at once
    void finish();      // writes everything, and ends the thread

private:
    using Records = std::map<TrialId, std::string>;
    enum class Order { none, write, finish, leave };

    void work();
    void order(Order order);
    void write(Records& records);
    void append(TrialId trial, std::string_view records);

    std::filesystem::path folder_;
    double start_unix_s_;
    FileIdentity journal_;
    std::set<TrialId> begun_;  // have a file; the thread's
    bool told_ = false;        // the thread's
    std::mutex mutex_;
    std::condition_variable news_;
    Records pending_;
    Order order_ = Order::none;
    std::thread thread_;
};

}  // namespace hopscotch
