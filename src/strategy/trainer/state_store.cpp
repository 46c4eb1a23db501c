// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/state_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/buffer_pool.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "strategy/trainer/spill_file.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_ahead = 2;  // this many of the next to run are always here: one comes while one trains
constexpr double k_write_again_s = 30;

}  // namespace

struct WaitingState::Entry {
    StateStore* store = nullptr;
    Buffer memory;
    SpillFile::Slot slot;
    StateStore::Place place = StateStore::Place::here;
    std::size_t bytes = 0;
    bool in_work = false;  // of the thread
};

WaitingState& WaitingState::operator=(WaitingState&& other) noexcept {
    if (this != &other) {
        reset();
        entry_ = std::move(other.entry_);
    }
    return *this;
}

void WaitingState::reset() noexcept {
    if (entry_) entry_->store->drop(entry_);
    entry_.reset();
}

StateStore::StateStore(BufferPool& pool, std::uint64_t limit_bytes, std::filesystem::path directory)
    : pool_(pool),
      limit_(limit_bytes),
      directory_(std::move(directory)),
      file_(std::make_unique<SpillFile>(directory_)),
      thread_([this] { run(); }) {}

StateStore::~StateStore() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

WaitingState StateStore::hold(Buffer state) {
    if (!state) return {};
    auto entry = std::make_shared<Entry>();
    entry->store = this;
    entry->bytes = state.bytes().size();
    entry->memory = std::move(state);
    std::lock_guard const lock(mutex_);
    here_ += entry->bytes;
    largest_ = std::max(largest_, entry->bytes);
    return WaitingState(std::move(entry));
}

Buffer StateStore::take(WaitingState state) {
    auto const entry = state.entry_;
    if (!entry) return {};
    std::unique_lock lock(mutex_);
    await(entry, lock);
    if (entry->place == Place::away) {
        entry->in_work = true;
        read(entry, lock);
    }
    auto memory = std::move(entry->memory);
    lock.unlock();
    return memory;  // the rest goes with `state`
}

// Waits until the thread has finished with the state. A job that has not begun is cancelled.
void StateStore::await(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock) {
    if (std::erase(jobs_, entry) > 0) {
        bool const was_leaving = entry->place == Place::leaving;
        entry->place = was_leaving ? Place::here : Place::away;
        if (!was_leaving) here_ -= entry->bytes, ++away_;
    }
    changed_.wait(lock, [&] { return !entry->in_work; });
}

void StateStore::look(WaitingState const& state, std::function<void(ByteView)> const& see) {
    auto const entry = state.entry_;
    if (!entry) return;
    std::unique_lock lock(mutex_);
    await(entry, lock);
    lock.unlock();
    if (entry->place == Place::here) return see(entry->memory.bytes());
    auto const copy = pool_.acquire(entry->bytes);
    file_->read(entry->slot, copy.bytes());
    see(copy.bytes());
}

bool StateStore::crowded() const {
    std::lock_guard const lock(mutex_);
    return here_ > limit_ || away_ > 0;
}

void StateStore::balance(std::vector<WaitingState const*> const& order) {
    std::lock_guard const lock(mutex_);
    std::size_t position = 0;
    for (auto const* waiting : order) {
        if (!waiting->entry_ || position++ >= k_ahead) continue;
        if (waiting->entry_->place == Place::away) order_job(waiting->entry_, Place::coming);
    }
    if (monotonic_s() < refused_until_s_) return;
    auto staying = here_;
    for (auto const& job : jobs_)
        if (job->place == Place::leaving) staying -= job->bytes;
    for (auto last = order.rbegin(); last != order.rend() && position > k_ahead && staying > limit_; ++last) {
        auto const& entry = (*last)->entry_;
        if (!entry) continue;
        --position;
        if (entry->place != Place::here || entry->in_work) continue;
        order_job(entry, Place::leaving);
        staying -= entry->bytes;
    }
}

bool StateStore::has_room() const {
    std::lock_guard const lock(mutex_);
    bool const shrinks =
        writing_ || std::ranges::any_of(jobs_, [](auto const& job) { return job->place == Place::leaving; });
    return !shrinks || here_ <= limit_ + k_ahead * largest_;
}

std::uint64_t StateStore::written_bytes() const {
    std::lock_guard const lock(mutex_);
    return written_;
}

std::uint64_t StateStore::bytes_here() const {
    std::lock_guard const lock(mutex_);
    return here_;
}

void StateStore::order_job(std::shared_ptr<Entry> const& entry, Place place) {
    if (place == Place::coming) here_ += entry->bytes, --away_;
    entry->place = place;
    if (place == Place::coming)
        jobs_.push_front(entry);  // its turn is near
    else
        jobs_.push_back(entry);
    changed_.notify_all();
}

void StateStore::drop(std::shared_ptr<Entry> const& entry) noexcept {
    std::unique_lock lock(mutex_);
    await(entry, lock);
    if (entry->place == Place::away)
        --away_;
    else
        here_ -= entry->bytes;
    file_->free(entry->slot);
}

void StateStore::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (jobs_.empty()) {
            changed_.wait(lock);
            continue;
        }
        auto const entry = std::move(jobs_.front());
        jobs_.pop_front();
        entry->in_work = true;
        try {
            entry->place == Place::leaving ? write(entry, lock) : read(entry, lock);
        } catch (std::exception const&) {
            // take() or look() reads the state again, and throws the error then.
        }
    }
}

void StateStore::write(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock) {
    writing_ = true;
    lock.unlock();
    SpillFile::Slot slot;
    std::string trouble;
    try {
        slot = file_->write(entry->memory.bytes());
    } catch (std::exception const& error) {
        trouble = error.what();
    }
    lock.lock();
    writing_ = false;
    entry->in_work = false;
    entry->place = trouble.empty() ? Place::away : Place::here;
    if (trouble.empty()) {
        entry->slot = slot;
        entry->memory = {};
        here_ -= entry->bytes;
        ++away_;
        written_ += entry->bytes;
    } else {
        for (auto& job : std::exchange(jobs_, {})) {
            if (job->place != Place::leaving)
                jobs_.push_back(job);
            else
                job->place = Place::here;
        }
        if (std::exchange(refused_until_s_, monotonic_s() + k_write_again_s) == 0)
            log_warning(fmt::format("states beyond run.state_memory stay in memory: {}; run.spill names another directory",
                                    trouble));
    }
    changed_.notify_all();
}

// From the disk, or on its way here. Throws DataError, and then the state is on the disk.
void StateStore::read(std::shared_ptr<Entry> const& entry, std::unique_lock<std::mutex>& lock) {
    bool const counted = entry->place == Place::coming;
    lock.unlock();
    Buffer memory;
    std::exception_ptr trouble;
    try {
        memory = pool_.acquire(entry->bytes);
        file_->read(entry->slot, memory.bytes());
    } catch (...) {
        trouble = std::current_exception();
    }
    lock.lock();
    entry->in_work = false;
    if (trouble) {
        entry->place = Place::away;
        if (counted) here_ -= entry->bytes, ++away_;
    } else {
        entry->memory = std::move(memory);
        entry->place = Place::here;
        if (!counted) here_ += entry->bytes, --away_;
        file_->free(std::exchange(entry->slot, {}));
    }
    changed_.notify_all();
    if (trouble) std::rethrow_exception(trouble);
}

}  // namespace hopscotch
