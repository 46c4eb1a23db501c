// SPDX-License-Identifier: Apache-2.0
// A GPU made of CPU tensors whose streams do nothing until someone waits for it, and then no more than that needs: a wait
// that is missing shows as a wrong batch. eager: how likely work is also done at random moments, in any order that events
// allow; 1: all of it is done at once.
#pragma once
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "core/rng.hpp"
#include "tensor/gpu/feed_device.hpp"

namespace hopscotch::testing {

class LateDevice final : public FeedDevice {
public:
    LateDevice(DeviceMemory memory, double eager, std::uint64_t seed) : memory_(memory), eager_(eager), rng_(seed) {}

    at::TensorOptions on_host() const override { return {at::kCPU}; }
    at::TensorOptions on_device() const override { return {at::kCPU}; }
    DeviceMemory memory() const override { return memory_; }
    void set_free(std::int64_t bytes) { memory_.free = bytes; }
    void compute_at_once() { prompt_ = true; }  // for work that is not queued here, such as a model's
    void fail_next_copy() { fails_ = true; }    // as an allocation does that finds no memory in one piece
    std::int64_t done(Stream stream) { return queue(stream).done; }  // pieces of work, waits not counted

    void copy(at::Tensor const& to, at::Tensor const& from, Stream stream) override {
        if (std::exchange(fails_, false)) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "in pieces");
        ASSERT_TRUE(to.is_contiguous() && from.is_contiguous() && to.sizes() == from.sizes());
        ASSERT_EQ(to.scalar_type(), from.scalar_type());
        kept_.push_back(to);
        // Memory that is new to the copy stream may still be in use by whatever compute has queued.
        auto const fresh = stream == Stream::copy && known_.insert(to.data_ptr()).second;
        auto const before = fresh ? queue(Stream::compute).queued : 0;
        queue_work(stream, [this, to, from, before] {
            EXPECT_GE(queue(Stream::compute).done, before) << "new memory is written while compute may still use it";
            to.copy_(from);
        });
    }
    void gather(FeatureGather const& g) override {
        queue_work(Stream::compute, [g] {
            for (std::uint32_t i = 0; i < g.count; ++i)
                for (std::uint32_t e = 0; e < g.row_size; ++e) g.out[std::size_t{i} * g.row_size + e] = feature_at(g, i, e);
        });
    }
    void gather(AnswerGather const& g) override {
        queue_work(Stream::compute, [g] {
            for (std::uint32_t i = 0; i < g.features.count; ++i)
                for (std::uint32_t a = 0; a < g.width; ++a) write_answer(g, i, a);
        });
    }
    void record(Event event, Stream stream) override {
        auto& e = at(event);
        e.recorded_on = stream;
        auto const mark = ++e.recorded;
        queue_op(stream, {[&e, mark] { e.done = mark; }, nullptr, 0});
    }
    void wait(Event event, Stream stream) override {
        queue_op(stream, {[] {}, &at(event), at(event).recorded});
    }
    void wait(Event event) override { finish(at(event), at(event).recorded); }

    void queue_work(Stream stream, std::function<void()> work) {
        ++queue(stream).queued;
        queue_op(stream, {[this, stream, work = std::move(work)] { work(), ++queue(stream).done; }, nullptr, 0});
    }
    void finish_all() {
        while (!queue(Stream::compute).ops.empty()) advance(Stream::compute);
        while (!queue(Stream::copy).ops.empty()) advance(Stream::copy);
    }

private:
    struct Mark {
        std::int64_t recorded = 0, done = 0;
        Stream recorded_on = Stream::compute;
    };
    struct Op {
        std::function<void()> run;
        Mark* behind;  // null: nothing
        std::int64_t mark;
    };
    struct Queue {
        std::deque<Op> ops;
        std::int64_t queued = 0, done = 0;
    };

    Queue& queue(Stream stream) { return queues_.at(static_cast<std::size_t>(stream)); }
    Mark& at(Event event) { return events_.at(static_cast<std::size_t>(event)); }

    void queue_op(Stream stream, Op op) {
        queue(stream).ops.push_back(std::move(op));
        if (eager_ >= 1) return finish_all();
        while (prompt_ && !queue(Stream::compute).ops.empty()) advance(Stream::compute);
        while (rng_.uniform() < eager_) {
            auto const any = rng_.below(2) == 0 ? Stream::compute : Stream::copy;
            if (!queue(any).ops.empty()) advance(any);
        }
    }
    void advance(Stream stream) {
        auto const op = std::move(queue(stream).ops.front());
        queue(stream).ops.pop_front();
        if (op.behind != nullptr) finish(*op.behind, op.mark);
        op.run();
    }
    void finish(Mark& event, std::int64_t mark) {
        while (event.done < mark) advance(event.recorded_on);
    }

    DeviceMemory memory_;
    bool fails_ = false, prompt_ = false;
    double eager_;
    Rng rng_;
    std::array<Queue, 2> queues_;
    std::array<Mark, k_events> events_;
    std::vector<at::Tensor> kept_;  // what pointers in gathers name
    std::set<void*> known_;
};

}  // namespace hopscotch::testing
