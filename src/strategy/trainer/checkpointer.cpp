// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/checkpointer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_queued_bytes = 1U << 30;
constexpr double k_retry_s = 1;

}  // namespace

Checkpointer::Checkpointer(CheckpointTarget target, BufferPool& pool, std::function<void(SavedState const&)> saved)
    : target_(std::move(target)), pool_(pool), saved_(std::move(saved)), thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

bool Checkpointer::due(std::optional<double> saved_s) const {
    if (saved_s && monotonic_s() - *saved_s < target_.every_s) return false;
    std::lock_guard const lock(mutex_);
    return monotonic_s() >= rests_until_s_ && queued_bytes_ < k_most_queued_bytes;
}

Checkpointer::Item Checkpointer::copy_of(Checkpoint about, ByteView state) {
    Item item{std::move(about), pool_.acquire(state.size()), std::nullopt, std::nullopt};
    std::memcpy(item.state.bytes().data(), state.data(), state.size());
    item.about.run_id = target_.run_id;
    return item;
}

void Checkpointer::enqueue(Item item) {
    {
        std::lock_guard const lock(mutex_);
        std::erase_if(queue_, [&](Item const& old) {
            if (!item.replaces(old)) return false;
            take_over(item, old);
            return true;
        });
        queued_bytes_ += item.state.bytes().size();
        queue_.push_back(std::move(item));
    }
    changed_.notify_all();
}

// Takes an older item out: it will never be written.
void Checkpointer::take_over(Item& newer, Item const& older) {
    queued_bytes_ -= older.state.bytes().size();
    bool const begins_there = older.since_s && (!newer.since_s || *older.since_s < *newer.since_s);
    if (begins_there) newer.since_s = older.since_s;
}

void Checkpointer::save(Checkpoint about, ByteView state, std::optional<double> since_s) {
    auto item = copy_of(std::move(about), state);
    item.since_s = since_s;
    enqueue(std::move(item));
}

void Checkpointer::keep(Checkpoint about, ByteView state, Kept kept) {
    auto item = copy_of(std::move(about), state);
    item.kept = kept;
    enqueue(std::move(item));
}

std::size_t Checkpointer::drain(double deadline_s) {
    std::unique_lock lock(mutex_);
    for (auto& item : queue_) item.failed = false;
    ++drains_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::duration<double>(deadline_s),
                      [this] { return !writing_ && std::ranges::all_of(queue_, &Item::failed); });
    return queue_.size() + (writing_ ? 1 : 0);
}

void Checkpointer::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        auto const next = std::ranges::find(queue_, false, &Item::failed);
        if (next == queue_.end()) {
            if (queue_.empty() || drains_ > 0)
                changed_.wait(lock);
            else if (changed_.wait_for(lock, std::chrono::duration<double>(k_retry_s)) == std::cv_status::timeout)
                for (auto& item : queue_) item.failed = false;
            continue;
        }
        auto item = std::move(*next);
        queue_.erase(next);
        writing_ = true;
        auto const drains = drains_;
        lock.unlock();
        auto const start = monotonic_s();
        bool const written = write(item);
        auto const bytes = item.state.bytes().size();
        lock.lock();
        writing_ = false;
        if (target_.mbps > 0) rests_until_s_ = start + static_cast<double>(bytes) / (target_.mbps * 1e6);
        if (written)
            queued_bytes_ -= bytes;
        else
            put_back(std::move(item), drains == drains_);  // a drain tries again the item that was under way
        changed_.notify_all();
    }
}

// A newer item of the same trial takes its place.
void Checkpointer::put_back(Item item, bool failed) {
    auto const newer = std::ranges::find_if(queue_, [&](Item const& each) { return each.replaces(item); });
    if (newer != queue_.end()) {
        take_over(*newer, item);
        return;
    }
    item.failed = failed;
    queue_.push_front(std::move(item));
}

bool Checkpointer::write(Item const& item) {
    auto const name = checkpoint_name(item.about, target_.incarnation);
    auto const path = std::filesystem::path(target_.run_dir) / name;
    auto const start = monotonic_s();
    try {
        write_checkpoint(path, item.about, item.state.bytes());
        CheckpointFile(path).verify();  // older files are deleted because this one is there
    } catch (std::exception const& error) {
        if (!std::exchange(trouble_, true))
            log_warning(
                fmt::format("trial {} is at risk, its checkpoint could not be written: {} (is run.dir full, or not on a "
                            "file system that all hosts share?); training goes on, it is tried again",
                            item.about.record.trial.value, error.what()));
        if (at_risk_.insert(item.about.record.trial).second) tell(item, "", 0);
        return false;
    }
    if (std::exchange(trouble_, false)) log_info("checkpoints can be written again");
    at_risk_.erase(item.about.record.trial);
    tell(item, name, monotonic_s() - start);
    return true;
}

void Checkpointer::tell(Item const& item, std::string file, double seconds) {
    auto const& place = item.about.place;
    auto const gap_s = item.since_s ? monotonic_s() - *item.since_s : 0;
    saved_({.trial = item.about.record.trial,
            .epoch = place.epoch,
            .step = place.step,
            .batch = place.batch,
            .file = std::move(file),
            .whole = item.about.whole,
            .state_hash = item.about.state_hash,
            .begin_hash = item.about.record.state.begin_hash,
            .gap_s = gap_s,
            .seconds = seconds});
}

}  // namespace hopscotch
