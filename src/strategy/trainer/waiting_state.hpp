// SPDX-License-Identifier: Apache-2.0
// A state in the store of waiting states (state_store.hpp). Moves only; may be empty.
#pragma once
#include <memory>
#include <utility>

namespace hopscotch {

class WaitingState {
public:
    WaitingState() = default;
    WaitingState(WaitingState&&) noexcept = default;
    WaitingState& operator=(WaitingState&& other) noexcept;
    ~WaitingState() { reset(); }
    explicit operator bool() const { return static_cast<bool>(entry_); }

private:
    friend class StateStore;
    struct Entry;
    explicit WaitingState(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
    void reset() noexcept;

    std::shared_ptr<Entry> entry_;
};

}  // namespace hopscotch
