// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <thread>

#include "core/error.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

constexpr double k_spinning_s = 0.002;  // sums take microseconds: a wait begins without sleep
constexpr double k_poll_s = 0.0002;
constexpr double k_patience_in_error_s = 4;

void nap(double waited_s) {
    if (waited_s < k_spinning_s)
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(std::chrono::duration<double>(k_poll_s));
}

enum class End { finalize, abort };

// On a thread of its own, which may never come back from NCCL.
void end_of(NcclCalls& calls, End end, double deadline_s, std::function<double()> const& clock) {
    using State = NcclCalls::State;
    if (end == End::abort) return calls.abort();
    auto const until = clock() + deadline_s;
    auto state = calls.finalize();
    while (state == State::under_way && clock() < until) {
        std::this_thread::sleep_for(std::chrono::duration<double>(k_poll_s));
        state = calls.state();
    }
    if (state == State::done)
        calls.destroy();
    else
        calls.abort();
}

}  // namespace

std::string nccl_complaint(int built_for, int loaded, std::string const& path) {
    auto const text = [](int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); };
    if (built_for / 100 == loaded / 100) return "";
    return fmt::format(
        "NCCL {} is loaded from {}, and this hopscotch was built for NCCL {} (LibTorch and hopscotch must share one "
        "library); "
        "put the library of the build first in LD_LIBRARY_PATH, or set strategy.collectives to \"mpi\"",
        text(loaded), path, text(built_for));
}

void NcclGroup::fail(std::string const& what, std::string const& why) {
    healthy_ = false;
    throw CommError(fmt::format(
        "{}: {} (NCCL among {}; a GPU, a host or the network between them is lost?); run with NCCL_DEBUG=INFO to see more; "
        "--resume goes on; strategy.collectives \"mpi\" does without NCCL",
        what, why, terms_.members));
}

template <class Done>
void NcclGroup::poll(std::string const& what, Limit limit, Done done) {
    auto const since = terms_.clock();
    while (!done()) {
        auto const waited_s = terms_.clock() - since;
        try {
            terms_.look();
        } catch (...) {
            healthy_ = false;
            throw;
        }
        if (waited_s > limit.s && !(limit.others_may_compute && terms_.job_still_s() <= limit.s))
            fail(what, fmt::format("not done within {:.0f} s; {} sets this limit", limit.s, limit.key));
        nap(waited_s);
    }
}

void NcclGroup::await(State state, std::string const& what, Limit limit) {
    poll(what, limit, [&] {
        if (state == State::under_way) state = calls_->state();
        if (state == State::failed) fail(what, calls_->error());
        return state == State::done;
    });
}

void NcclGroup::bring_up(Bytes const& id) {
    begun_ = true;
    await(calls_->begin(id, terms_.ranks, terms_.self),
          fmt::format("the bring-up of trainer {} of {}", terms_.self + 1, terms_.ranks),
          {terms_.deadline_s, "run.deadline_s", false});
    up_ = true;
}

void NcclGroup::sum(DeviceFloats values, double share, std::string what) {
    require(up_, "a sum of a group that is not up");
    what_ = std::move(what);
    compute_ = values.stream;
    has_sums_ = true;
    if (values.size == 0) return;
    calls_->sums_after(values.stream);
    // NCCL launches the sum on a thread of its own. Later work on the stream must come after it.
    await(calls_->sum(values, static_cast<float>(share)), what_, stall());
}

void NcclGroup::await_mark(int slot, std::string const& what) {
    if (!marked_[slot]) return;
    poll(what, stall(), [&] {
        if (calls_->state() == State::failed) fail(what, calls_->error());
        return calls_->has_passed(slot);
    });
    marked_[slot] = false;
}

void NcclGroup::end_step() {
    if (!has_sums_) return;
    has_sums_ = false;
    calls_->after_sums(compute_);
    calls_->mark(slot_);
    marked_[slot_] = true;
    slot_ = 1 - slot_;
    await_mark(slot_, what_before_);
    what_before_ = what_;
}

void NcclGroup::settle() {
    await_mark(slot_, what_before_);
    await_mark(1 - slot_, what_before_);
}

NcclGroup::~NcclGroup() {
    if (!begun_) return;
    bool const all_done = up_ && healthy_ && !has_sums_ && !marked_[0] && !marked_[1];
    // An error must reach rank 0 without a wait for the other ranks: they hear of it from rank 0.
    bool const in_error = std::uncaught_exceptions() > 0;
    auto const end = all_done && !in_error ? End::finalize : End::abort;
    auto const patience_s = in_error ? std::min(terms_.deadline_s, k_patience_in_error_s) : terms_.deadline_s;
    try {
        std::packaged_task<void()> task([calls = calls_, end, deadline_s = patience_s / 2, clock = terms_.clock] {
            end_of(*calls, end, deadline_s, clock);
        });
        auto done = task.get_future();
        std::thread thread(std::move(task));
        bool const in_time = done.wait_for(std::chrono::duration<double>(patience_s)) == std::future_status::ready;
        if (!in_time)
            log_warning(fmt::format("NCCL did not {} within {:.0f} s; this process ends without waiting for it",
                                    end == End::abort ? "abort" : "end", patience_s));
        in_time ? thread.join() : thread.detach();
    } catch (std::exception const& error) {
        log_warning(fmt::format("NCCL was not ended in good order: {}", error.what()));
    }
}

}  // namespace hopscotch
