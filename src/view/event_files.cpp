// SPDX-License-Identifier: Apache-2.0
#include "view/event_files.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/log.hpp"
#include "view/event_record.hpp"

namespace hopscotch {
namespace {

constexpr int k_nice = 10;  // trainers may need the core

}  // namespace

EventFiles::EventFiles(std::filesystem::path folder, double job_start_unix_s, FileIdentity journal)
    : folder_(std::move(folder)),
      start_unix_s_(job_start_unix_s),
      journal_(std::move(journal)),
      thread_([this] { work(); }) {}

EventFiles::~EventFiles() { order(Order::leave); }

void EventFiles::add(TrialId trial, std::string_view records) {
    std::lock_guard const lock(mutex_);
    pending_[trial] += records;
}

void EventFiles::write_soon() {
    {
        std::lock_guard const lock(mutex_);
        order_ = std::max(order_, Order::write);
    }
    news_.notify_one();
}

void EventFiles::finish() { order(Order::finish); }

void EventFiles::order(Order order) {
    {
        std::lock_guard const lock(mutex_);
        order_ = std::max(order_, order);
    }
    news_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void EventFiles::work() {
    ::setpriority(PRIO_PROCESS, 0, k_nice);  // on Linux: of this thread
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    for (auto done = Order::none; done != Order::finish;) {
        Records records;
        {
            std::unique_lock lock(mutex_);
            news_.wait(lock, [this] { return order_ != Order::none; });
            done = std::exchange(order_, Order::none);
            records.swap(pending_);
        }
        if (done == Order::leave) return;
        write(records);
        if (done == Order::finish) write(records);  // tries failed records again: there is no later time
        std::lock_guard const lock(mutex_);
        for (auto& [trial, before] : records) pending_[trial].insert(0, before);
    }
}

// If writing fails, the other records stay.
void EventFiles::write(Records& records) {
    try {
        for (auto next = records.begin(); next != records.end(); next = records.erase(next))
            if (journal_.is_current()) append(next->first, next->second);
    } catch (std::exception const& error) {
        if (!std::exchange(told_, true))
            log_warning(
                fmt::format("TensorBoard's files are not complete: {}; the run goes on, and tries again", error.what()));
    }
}

void EventFiles::append(TrialId trial, std::string_view records) {
    auto const below = folder_.filename() / fmt::format("trial-{}", trial.value);
    auto const folder = make_folders(folder_.parent_path(), below);
    fault_point("events.open");
    AppendFile file(folder / fmt::format("events.out.tfevents.{:010.0f}.hopscotch", start_unix_s_));
    // Another job may have replaced this one while it stood still. Then this file has been removed, since the other job
    // began with an empty folder.
    if (!journal_.is_current()) return;
    std::string bytes;
    if (!begun_.contains(trial)) bytes = first_events(start_unix_s_);
    file.append(bytes.append(records));
    begun_.insert(trial);
    file.do_not_sync();
}

}  // namespace hopscotch
