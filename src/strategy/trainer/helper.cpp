// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/helper.hpp"

#include <utility>

namespace hopscotch {

HelperThread::HelperThread() : thread_([this] { run(); }) {}

HelperThread::~HelperThread() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    given_.notify_all();
    thread_.join();
}

void HelperThread::give(std::function<void()> task) {
    {
        std::lock_guard const lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    given_.notify_one();
}

void HelperThread::await(std::function<bool()> const& done) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
}

void HelperThread::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        given_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // frees the task's objects without the lock, and before done() is reported
        lock.lock();
        done_.notify_all();
    }
}

bool has_core_for_helper(SpareCores const& cores) { return cores.own_cores >= cores.trainers_on_host * (cores.threads + 1); }

}  // namespace hopscotch
