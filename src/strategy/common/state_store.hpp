// SPDX-License-Identifier: Apache-2.0
// States that wait for their turn: in memory up to a limit, beyond it those that run last go to a file, and come back before
// their turn. A thread of its own writes and reads. One user thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "strategy/common/spill_file.hpp"

namespace hopscotch {

class StateStore;

// One of them. Moves only; may be empty.
class WaitingState {
public:
    WaitingState() = default;
    WaitingState(WaitingState&&) noexcept = default;
    WaitingState& operator=(WaitingState&& other) noexcept;
    ~WaitingState() { reset(); }
    explicit operator bool() const { return static_cast<bool>(entry_); }

private:
    friend class StateStore;
    enum class Place { here, leaving, away, coming };
    struct Entry {
        StateStore* store = nullptr;
        Buffer memory;
        SpillFile::Slot slot;
        Place place = Place::here;
        std::size_t bytes = 0;
        bool in_work = false;  // of the thread
    };
    explicit WaitingState(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
    void reset() noexcept;

    std::shared_ptr<Entry> entry_;
};

class StateStore {
public:
    StateStore(BufferPool& pool, std::uint64_t limit_bytes, std::filesystem::path directory);
    ~StateStore();

    WaitingState hold(Buffer state);  // an empty one stays empty
    // Waits if it is away. Throws DataError if it cannot be read or is damaged.
    Buffer take(WaitingState state);
    // The same, but it stays where it is.
    void look(WaitingState const& state, std::function<void(ByteView)> const& see);

    // Is there anything to balance: more here than the limit, or some away?
    bool crowded() const;
    // order: of all that wait, the first to run first. Those that run last leave, until the others fit; the first ones come
    // back.
    void balance(std::vector<WaitingState const*> const& order);

    std::uint64_t written_bytes() const;
    std::uint64_t bytes_here() const;

private:
    friend class WaitingState;
    using Entry = WaitingState::Entry;
    using Place = WaitingState::Place;
    void drop(std::shared_ptr<Entry> const& entry) noexcept;
    void order_job(std::shared_ptr<Entry> const& entry, Place place);
    void run();
    void write(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);
    void read(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);
    void await(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);

    BufferPool& pool_;
    std::uint64_t limit_;
    std::filesystem::path directory_;
    SpillFile file_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Entry>> jobs_;
    std::uint64_t here_ = 0, written_ = 0;  // bytes; here_: all that is not away
    std::size_t away_ = 0;
    double refused_until_s_ = 0;  // the disk is full: try again then
    bool stopping_ = false;
    std::thread thread_;
};

// Of a trainer: run.state_memory, or its part of half the memory that this host has free.
std::uint64_t state_memory(std::uint64_t configured, int trainers_on_host);

}  // namespace hopscotch
