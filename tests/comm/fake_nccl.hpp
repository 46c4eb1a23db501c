// SPDX-License-Identifier: Apache-2.0
// GPUs made of host memory, for ranks that are threads or that one thread plays in turn. A stream does nothing until a
// caller has to wait for it, in an order that a test chooses: a missing wait shows as a wrong sum.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "comm/nccl_calls.hpp"
#include "fake_fabric.hpp"

namespace hopscotch::testing {

class FakeNccl final : public NcclCalls {
public:
    // host: computes at once, in the caller's thread, which therefore waits where a GPU's stream would.
    // queued: compute() adds to a stream that is as late as the other.
    enum class Compute { host, queued };
    FakeNccl(std::shared_ptr<FakeFabric> fabric, Compute compute) : fabric_(std::move(fabric)), mode_(compute) {}

    // Failures. slow_polls: so often a call is under way. refuses: to begin.
    int slow_polls = 0;
    bool never_up = false, refuses = false;
    int fails_at_sum = -1;
    std::atomic<bool> abort_hangs = false;
    bool finalize_hangs = false;

    // Calls so far. The ends are on a thread of their own.
    int sums = 0, begins = 0;
    std::atomic<int> aborts = 0, destroys = 0;
    Bytes id_seen;

    Bytes make_id() override { return Bytes(128, std::byte{7}); }
    State begin(Bytes const& id, int ranks, int self) override {
        ++begins;
        id_seen = id;
        self_ = self;
        ranks_ = ranks;
        if (refuses) {
            fabric_->stop();
            return State::failed;
        }
        up_in_ = slow_polls;
        return up_in_ > 0 || never_up ? State::under_way : State::done;
    }
    State state() override {
        if (failed_) return State::failed;
        if (never_up || finalizing_) return State::under_way;
        return up_in_-- > 0 ? State::under_way : State::done;
    }
    std::string error() override { return "unhandled system error"; }

    State sum(DeviceFloats values, float share) override {
        auto const number = static_cast<std::uint64_t>(sums++);
        if (fails_at_sum == static_cast<int>(number)) {
            failed_ = true;
            fabric_->stop();
            return State::under_way;
        }
        auto given = std::make_shared<bool>(false);
        sums_.push_back({[this, values, share, number, given] {
            if (!std::exchange(*given, true)) {
                std::vector<float> term(values.data, values.data + values.size);
                for (auto& value : term) value *= share;
                fabric_->give(number, self_, std::move(term));
            }
            return fabric_->take(number, values.data);
        }});
        return State::done;
    }

    void sums_after(void*) override { order(sums_, compute_); }
    void after_sums(void*) override {
        order(compute_, sums_);
        if (mode_ == Compute::host) wait_for_sums();
    }
    void mark(int slot) override {
        auto passed = std::make_shared<bool>(false);
        marks_.at(static_cast<std::size_t>(slot)) = passed;
        seen_.at(static_cast<std::size_t>(slot)) = false;
        sums_.push_back({[passed] { return *passed = true; }});
    }
    bool has_passed(int slot) override {
        while (advance(sums_)) {
        }
        auto const& mark = marks_.at(static_cast<std::size_t>(slot));
        seen_.at(static_cast<std::size_t>(slot)) = *mark;
        return *mark;
    }
    State finalize() override {
        finalizing_ = finalize_hangs;
        return finalizing_ ? State::under_way : State::done;
    }
    void destroy() override { ++destroys; }
    void abort() override {
        ++aborts;
        while (abort_hangs) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }

    // Marks that the host has not seen as passed.
    std::ptrdiff_t unseen_marks() const { return std::count(seen_.begin(), seen_.end(), false); }

    // Work of this rank's compute stream (queued).
    void compute(std::function<void()> work) {
        compute_.push_back({[work = std::move(work)] { return work(), true; }});
    }
    // One piece of work of that stream, if the stream can go on.
    bool advance_sums() { return advance(sums_); }
    bool advance_compute() { return advance(compute_); }

private:
    using Work = std::function<bool()>;  // false: it cannot go on yet
    using Stream = std::deque<Work>;

    // An event: recorded behind what `before` has queued, waited for by `after`.
    static void order(Stream& after, Stream& before) {
        auto passed = std::make_shared<bool>(false);
        before.push_back([passed] { return *passed = true; });
        after.push_back([passed] { return *passed; });
    }
    bool advance(Stream& stream) {
        if (mode_ == Compute::host)  // nothing is ever late there
            while (!compute_.empty() && &stream == &sums_ && compute_.front()()) compute_.pop_front();
        if (stream.empty() || !stream.front()()) return false;
        stream.pop_front();
        return true;
    }
    void wait_for_sums() {
        for (int turns = 0; !sums_.empty() && turns < 1'000'000 && !fabric_->over(); ++turns)
            if (!advance(sums_)) std::this_thread::sleep_for(std::chrono::microseconds(100));
        compute_.clear();
    }

    std::shared_ptr<FakeFabric> fabric_;
    Compute mode_;
    Stream sums_, compute_;
    std::array<std::shared_ptr<bool>, 2> marks_{std::make_shared<bool>(true), std::make_shared<bool>(true)};
    std::array<bool, 2> seen_{true, true};
    int self_ = 0, ranks_ = 1, up_in_ = 0;
    bool failed_ = false, finalizing_ = false;
};

}  // namespace hopscotch::testing
