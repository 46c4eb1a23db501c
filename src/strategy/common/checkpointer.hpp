// SPDX-License-Identifier: Apache-2.0
// A trainer's checkpoints, written by a thread of its own while it trains. What cannot be written (disk full, no permission)
// is tried again until something newer of that trial replaces it; training goes on.
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
#include "run/checkpoint.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {

class Checkpointer {
public:
    // saved: called by the thread when a file is durable, and without a file when one could not be written.
    Checkpointer(CheckpointTarget target, BufferPool& pool, std::function<void(Checkpointed const&)> saved);
    ~Checkpointer();  // gives up what is not written

    // Whether a trial whose newest copy on the disk is of then should be saved now: older than checkpoint_every_s, and the
    // disk has had its rest (checkpoint_mbps).
    bool due(double saved_unix_s) const;

    // Copies the state and returns. save: what is not written yet of the same trial is dropped; since_unix_s: when its copy
    // before was made. keep: a state that is wanted whatever comes after it; of the bests of one trial, the newest.
    void save(Checkpoint about, ByteView state, double since_unix_s);
    enum class Kept { best_of_run, best_of_trial, boundary };
    void keep(Checkpoint about, ByteView state, Kept kept);

    // Until all is written, or has failed once more, or the deadline has passed. How many are not written.
    std::size_t drain(double deadline_s);

    CheckpointTarget const& target() const { return target_; }

private:
    struct Item {
        Checkpoint about;
        Buffer state;
        double since_unix_s = 0;
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
    bool write(Item const& item);  // false: it could not be
    void tell(Item const& item, std::string file);
    void put_back(Item item, bool failed);

    CheckpointTarget target_;
    BufferPool& pool_;
    std::function<void(Checkpointed const&)> saved_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> queue_;
    std::size_t queued_bytes_ = 0;  // of what is being written too
    bool writing_ = false, stopping_ = false;
    int drains_ = 0;  // begun; behind the first one nothing is tried again by the clock
    double rests_until_s_ = 0;
    bool trouble_ = false;  // the last write failed; the thread's own, as
    std::set<TrialId> at_risk_;
    std::thread thread_;
};

}  // namespace hopscotch
