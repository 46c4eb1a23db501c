// SPDX-License-Identifier: Apache-2.0
// A trainer's checkpoints, written by a thread of their own while the trainer trains. If a file cannot be written (disk
// full, no permission), the thread tries again until a newer state of that trial replaces the state. Training continues.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "comm/buffer_pool.hpp"
#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "rundir/checkpoint.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/checkpoint_target.hpp"

namespace hopscotch {

class Checkpointer {
public:
    // saved: called by the thread when a file is durable, and without a file name when a file could not be written.
    Checkpointer(CheckpointTarget target, BufferPool& pool, std::function<void(SavedState const&)> saved);
    ~Checkpointer();  // drops the states that are not written

    // True if a trial last saved at saved_s (monotonic clock; none: never) is due for another checkpoint: the file is older
    // than checkpoint_every_s, and checkpoint_mbps allows the next file.
    bool due(std::optional<double> saved_s) const;

    // Copies the state and returns. save: replaces an older state of the same trial that is not written yet; since_s: when
    // the copy before was made (monotonic clock), none: of a trial that has only begun. keep: no later state of the trial
    // replaces this one, but of best_of_trial only the newest is written.
    void save(Checkpoint about, ByteView state, std::optional<double> since_s);
    enum class Kept { best_of_run, best_of_trial, boundary };
    void keep(Checkpoint about, ByteView state, Kept kept);

    // Waits until each state is written or has failed once more, at most deadline_s. The number of states not written.
    std::size_t drain(double deadline_s);

    CheckpointTarget const& target() const { return target_; }

private:
    struct Item {
        Checkpoint about;
        Buffer state;
        std::optional<double> since_s;
        std::optional<Kept> kept;  // none: the trial's place
        bool failed = false;
        bool replaces(Item const& old) const {
            bool const newest_counts = !kept || kept == Kept::best_of_trial;
            return newest_counts && kept == old.kept && old.about.record.trial == about.record.trial;
        }
    };
    Item copy_of(Checkpoint about, ByteView state);
    void enqueue(Item item);
    void take_over(Item& newer, Item const& older);
    void run();
    bool write(Item const& item);  // false: the write failed
    void tell(Item const& item, std::string file, double seconds);
    void put_back(Item item, bool failed);

    CheckpointTarget target_;
    BufferPool& pool_;
    std::function<void(SavedState const&)> saved_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> queue_;
    std::size_t queued_bytes_ = 0;  // with the state that is being written
    bool writing_ = false, stopping_ = false;
    int drains_ = 0;  // begun; after the first drain no write is repeated by the clock
    double rests_until_s_ = 0;
    bool trouble_ = false;  // the last write failed; the thread's own, as
    std::set<TrialId> at_risk_;
    std::thread thread_;
};

}  // namespace hopscotch
