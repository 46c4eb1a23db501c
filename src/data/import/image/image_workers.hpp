// SPDX-License-Identifier: Apache-2.0
// Several threads make results, and the caller takes them in order. A bounded number of results waits in between. The
// results do not depend on the number of threads.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace hopscotch {

template <class Result>
class InOrder {
public:
    // make(i), for i in 0..count-1, runs on one of `threads` threads; at most `waiting` results are made or wait at a time.
    template <class Make>
    InOrder(std::int64_t count, int threads, std::int64_t waiting, Make make)
        : count_(count), slots_(static_cast<std::size_t>(waiting)) {
        for (int t = 0; t < threads; ++t) threads_.emplace_back([this, make]() mutable { work(make); });
    }

    ~InOrder() {
        {
            std::lock_guard const lock(mutex_);
            count_ = 0;
        }
        room_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    InOrder(InOrder const&) = delete;
    InOrder& operator=(InOrder const&) = delete;

    // The next result. Rethrows an exception of its make.
    Result next() {
        std::unique_lock lock(mutex_);
        auto& slot = slot_of(taken_);
        ready_.wait(lock, [&] { return slot.result.has_value() || slot.error; });
        if (slot.error) std::rethrow_exception(slot.error);
        Result out = std::move(*slot.result);
        slot.result.reset();
        ++taken_;
        lock.unlock();
        room_.notify_one();
        return out;
    }

private:
    struct Slot {
        std::optional<Result> result;
        std::exception_ptr error;
    };

    Slot& slot_of(std::int64_t i) { return slots_[static_cast<std::size_t>(i) % slots_.size()]; }

    template <class Make>
    void work(Make& make) {
        std::unique_lock lock(mutex_);
        for (;;) {
            auto const room = [&] { return started_ < taken_ + static_cast<std::int64_t>(slots_.size()); };
            room_.wait(lock, [&] { return started_ >= count_ || room(); });
            if (started_ >= count_) return;
            auto const i = started_++;
            lock.unlock();
            Slot made;
            try {
                made.result = make(i);
            } catch (...) {
                made.error = std::current_exception();
            }
            lock.lock();
            slot_of(i) = std::move(made);
            ready_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_, room_;
    std::int64_t count_, started_ = 0, taken_ = 0;
    std::vector<Slot> slots_;
    std::vector<std::thread> threads_;
};

}  // namespace hopscotch
