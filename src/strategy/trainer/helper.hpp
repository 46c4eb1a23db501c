// SPDX-License-Identifier: Apache-2.0
// Work beside a trainer's compute thread: hashes of states, and sends that wait for them. In the tests a fake does the tasks
// in any order and as late as possible.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hopscotch {

class Helper {
public:
    virtual ~Helper() = default;
    // Returns at once. The task must not throw. Tasks may be done in any order.
    virtual void give(std::function<void()> task) = 0;
    // Waits until done() is true. done is asked again after every task, from the calling thread.
    virtual void await(std::function<bool()> const& done) = 0;
};

// A thread, which does the tasks in the order in which they came. At its end it does all that it has been given.
class HelperThread final : public Helper {
public:
    HelperThread();
    ~HelperThread() override;
    void give(std::function<void()> task) override;
    void await(std::function<bool()> const& done) override;

private:
    void run();

    std::mutex mutex_;
    std::condition_variable given_, done_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::thread thread_;
};

// Whether this trainer may take a core for a helper: each trainer of the host has its threads and one core more, which also
// serves rank 0 and the couriers. own_cores: that this process may run on. Trainers may share them, so all are counted.
struct SpareCores {
    int own_cores = 0, trainers_on_host = 1, threads = 1;
};
bool has_core_for_helper(SpareCores const& cores);

}  // namespace hopscotch
