// SPDX-License-Identifier: Apache-2.0
// A number that takes long to find, and that is asked for again only when something has changed since. Threads may share it.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>

namespace hopscotch {

class Remembered {
public:
    // changes: how many there have been. ask runs without the lock.
    std::int64_t value(std::int64_t changes, std::function<std::int64_t()> const& ask) {
        {
            std::lock_guard const lock(mutex_);
            if (changes_ == changes) return value_;
        }
        auto const found = ask();
        std::lock_guard const lock(mutex_);
        if (changes > changes_) {  // else another thread has seen more
            changes_ = changes;
            value_ = found;
        }
        return found;
    }

private:
    std::mutex mutex_;
    std::int64_t changes_ = -1, value_ = 0;
};

}  // namespace hopscotch
