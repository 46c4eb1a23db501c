// SPDX-License-Identifier: Apache-2.0
// States that wait for their turn. They are in memory up to a limit. Beyond the limit the states that run last go to a file,
// and come back before their turn. A thread of the store writes and reads. One thread may use the store.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/byte_view.hpp"
#include "strategy/trainer/waiting_state.hpp"

namespace hopscotch {

class Buffer;
class BufferPool;
class SpillFile;

class StateStore {
public:
    StateStore(BufferPool& pool, std::uint64_t limit_bytes, std::filesystem::path directory);
    ~StateStore();

    WaitingState hold(Buffer state);  // an empty buffer becomes an empty state
    // Waits if the state is on the disk. Throws DataError if the state cannot be read or is damaged.
    Buffer take(WaitingState state);
    // The same, but the state stays in its place.
    void look(WaitingState const& state, std::function<void(ByteView)> const& see);

    // True if there is anything to balance: the memory exceeds the limit, or some states are on the disk.
    bool crowded() const;
    // order: all states that wait, the first to run first. The last ones go to the disk until the others fit in memory; the
    // first ones come back.
    void balance(std::vector<WaitingState const*> const& order);

    // False while states that must go to the disk are still in memory: the disk is slower than the trainer. Then the trainer
    // makes no further states until the disk has caught up.
    bool has_room() const;

    std::uint64_t written_bytes() const;
    std::uint64_t bytes_here() const;

private:
    friend class WaitingState;
    using Entry = WaitingState::Entry;
    enum class Place { here, leaving, away, coming };
    void drop(std::shared_ptr<Entry> const& entry) noexcept;
    void order_job(std::shared_ptr<Entry> const& entry, Place place);
    void run();
    void write(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);
    void read(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);
    void await(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock);

    BufferPool& pool_;
    std::uint64_t limit_;
    std::filesystem::path directory_;
    std::unique_ptr<SpillFile> file_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Entry>> jobs_;
    std::uint64_t here_ = 0, written_ = 0;  // bytes; here_: of all states in memory
    std::size_t away_ = 0;
    std::size_t largest_ = 0;  // bytes of a state, of all that were here
    bool writing_ = false;
    double refused_until_s_ = 0;  // the disk is full until then
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace hopscotch
