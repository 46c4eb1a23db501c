// SPDX-License-Identifier: Apache-2.0
// The pipeline of units against fakes that do everything late, in any order, or not at all, over thousands of random
// schedules: no state trains before its check has ended well, none is lost, there are never more than two slots, and each
// trial has the bits of one that was trained alone.
#include "strategy/trainer/unit_pipeline.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/hash.hpp"
#include "core/rng.hpp"
#include "strategy/trainer/helper.hpp"

namespace hopscotch {
namespace unit_pipeline_test {

using Values = std::vector<std::uint64_t>;

std::uint64_t hash_of(Values const& values) { return xxh3(std::as_bytes(std::span(values))); }

Values first_values(int trial) { return {static_cast<std::uint64_t>(trial) + 1, 77, 0}; }

// A unit: not commutative, so that a unit trained twice, or on old values, shows.
void train(Values& values) {
    for (auto& value : values) value = value * 6364136223846793005U + 1442695040888963407U + values.front();
}

Values after(int trial, int units) {
    auto values = first_values(trial);
    for (int u = 0; u < units; ++u) train(values);
    return values;
}

struct Failure : std::runtime_error {
    Failure() : std::runtime_error("on purpose") {}
};

struct Odds {
    double eager, failing, no_memory, damage;
};

struct FakeState final : PassingState {
    FakeState(int of_trial, int so_far, Values values, Rng& dice, double odds)
        : trial(of_trial), units(so_far), host(std::move(values)), rng(dice), failing(odds) {}
    std::size_t bytes() const override { return host.size() * sizeof(host.front()); }
    std::uint64_t hash() override {
        EXPECT_FALSE(elsewhere) << "memory is read that belongs to someone else";
        if (failing > 0 && rng.uniform() < failing) throw Failure();
        hashed = host;
        return hash_of(host);
    }
    int trial, units;
    Values host, hashed;
    bool damaged = false, elsewhere = false;
    Rng& rng;
    double failing;
};
using State = std::shared_ptr<FakeState>;

// Does a task when someone waits, or at random moments, in any order.
class LateHelper final : public Helper {
public:
    LateHelper(Rng& rng, double eager) : rng_(rng), eager_(eager) {}
    void give(std::function<void()> task) override { tasks_.push_back(std::move(task)), at_random(); }
    void await(std::function<bool()> const& done) override {
        while (!done()) {
            ASSERT_FALSE(tasks_.empty()) << "this wait would never end";
            one();
        }
    }
    void at_random() {
        while (!tasks_.empty() && rng_.uniform() < eager_) one();
    }

private:
    void one() {
        auto const at = tasks_.begin() + static_cast<std::ptrdiff_t>(rng_.below(static_cast<std::uint32_t>(tasks_.size())));
        auto const task = std::move(*at);
        tasks_.erase(at);
        task();
    }
    Rng& rng_;
    double eager_;
    std::deque<std::function<void()>> tasks_;
};

// A device: the memory that trains, two slots, and a stream of copies that are done in their order, but late.
class FakeDevice final : public TransferSlots {
public:
    FakeDevice(Rng& rng, Odds const& odds) : rng_(rng), odds_(odds) {}

    bool upload(PassingState& state) override {
        EXPECT_EQ(in_, nullptr) << "the slot is taken";
        if (rng_.uniform() < odds_.no_memory) return false;
        in_ = &of(state);
        if (rng_.uniform() < odds_.failing) throw Failure();
        copies_.emplace_back([this, from = in_] { read(*from, in_values_); });
        some();
        return true;
    }
    void withdraw(PassingState& state) override {
        if (in_ == &of(state)) finish(), in_ = nullptr;
    }
    // What a model does when it is bound to the state.
    Values& bind(FakeState& state) {
        if (in_ == &state) {
            finish();
            in_ = nullptr;
            block_ = in_values_;
        } else {
            read(state, block_);
        }
        return block_;
    }
    bool download(PassingState& state) override {
        EXPECT_FALSE(leaves_) << "the slot is taken";
        if (rng_.uniform() < odds_.no_memory) return false;
        if (rng_.uniform() < odds_.failing) throw Failure();
        leaves_ = true;
        copies_.emplace_back([out = block_, to = &of(state)] { to->host = out; });
        some();
        return true;
    }
    void fetch(PassingState& state) override { of(state).host = block_; }
    void await_download() override {
        EXPECT_TRUE(leaves_);
        finish();
        leaves_ = false;
        if (rng_.uniform() < odds_.failing) throw Failure();
    }
    void some() {
        while (!copies_.empty() && rng_.uniform() < odds_.eager) one();
    }

private:
    static FakeState& of(PassingState& state) { return dynamic_cast<FakeState&>(state); }
    static void read(FakeState& from, Values& to) {
        EXPECT_FALSE(from.elsewhere) << "memory is copied that belongs to someone else";
        to = from.host;
    }
    void one() {
        auto const copy = std::move(copies_.front());
        copies_.pop_front();
        copy();
    }
    void finish() {
        while (!copies_.empty()) one();
    }
    Rng& rng_;
    Odds odds_;
    FakeState* in_ = nullptr;
    bool leaves_ = false;
    Values in_values_, block_;
    std::deque<std::function<void()>> copies_;
};

constexpr int k_units = 6;

// A trainer, and the rest of the world from where states come back.
class Trainer {
public:
    Trainer(std::uint64_t seed, bool with_device)
        : rng_(seed),
          odds_{rng_.uniform() * 0.9, rng_.uniform() < 0.5 ? 0 : 0.1, rng_.uniform() < 0.5 ? 0 : 0.3,
                rng_.uniform() < 0.5 ? 0 : 0.1},
          trials_(1 + static_cast<int>(rng_.below(5))),
          helper_(rng_, odds_.eager),
          device_(rng_, odds_),
          with_device_(with_device),
          pipeline_(&helper_, with_device ? &device_ : nullptr, 0) {
        for (int t = 0; t < trials_; ++t) waiting_.push_back(arrival(t, 0, first_values(t)));
    }

    void run() {
        while (!waiting_.empty() || !landed_.empty() || pipeline_.busy()) turn();
        EXPECT_EQ(finished_ + failed_ + damaged_ + dropped_, trials_) << "a trial is lost, or ended twice";
        EXPECT_TRUE(odds_.failing > 0 || failed_ == 0);
        EXPECT_TRUE(odds_.damage > 0 || damaged_ == 0);
    }
    int finished() const { return finished_; }
    int damaged() const { return damaged_; }
    int failed() const { return failed_; }

private:
    bool with_odds(double odds) { return rng_.uniform() < odds; }
    State& any() { return waiting_[rng_.below(static_cast<std::uint32_t>(waiting_.size()))]; }
    State take_any() {
        auto& one = any();
        auto out = std::move(one);
        one = std::move(waiting_.back());
        waiting_.pop_back();
        return out;
    }
    // From another trainer; sometimes a bit is another on arrival.
    State arrival(int trial, int units, Values values) {
        auto state = std::make_shared<FakeState>(trial, units, std::move(values), rng_, odds_.failing);
        state->expected = hash_of(state->host);
        state->damaged = with_odds(odds_.damage);
        if (state->damaged) state->host[rng_.below(3)] ^= 1U << rng_.below(32);
        return state;
    }
    void meanwhile() {
        helper_.at_random();
        device_.some();
        while (!landed_.empty() && with_odds(0.7)) {
            waiting_.push_back(std::move(landed_.back()));
            landed_.pop_back();
        }
    }
    void turn() {
        meanwhile();
        if (waiting_.empty()) {
            pipeline_.settle();
            for (auto& state : landed_) waiting_.push_back(std::move(state));
            landed_.clear();
            return;
        }
        if (with_odds(0.3)) pipeline_.announce(any());
        if (with_odds(0.03)) return drop(take_any());
        unit(take_any());
    }
    void drop(State const& state) {
        pipeline_.withdraw(state);
        state->elsewhere = true;
        ++dropped_;
    }
    void unit(State const& state) {
        bool sound = false;
        try {
            sound = pipeline_.admit(state);
        } catch (Failure const&) {  // it could not be hashed; it waits, and is tried again
            waiting_.push_back(state);
            return;
        }
        EXPECT_EQ(sound, !state->damaged);
        if (!sound) {
            pipeline_.withdraw(state);
            state->elsewhere = true;
            ++damaged_;
            return;
        }
        if (!waiting_.empty() && with_odds(0.4)) pipeline_.announce(any());
        auto& values = with_device_ ? device_.bind(*state) : state->host;
        EXPECT_EQ(values, after(state->trial, state->units)) << "not the bits of a trial alone";
        if (!waiting_.empty() && with_odds(0.6)) pipeline_.upload(any());
        meanwhile();
        train(values);
        meanwhile();
        ++state->units;
        ++departing_;
        pipeline_.depart(state,
                         [this, state](std::uint64_t hash, std::exception_ptr const& error) { left(state, hash, error); });
        EXPECT_LE(departing_, 1) << "more than one state is on its way out";
    }
    void left(State const& state, std::uint64_t hash, std::exception_ptr const& error) {
        --departing_;
        if (error) {
            EXPECT_EQ(hash, 0U);
            ++failed_;
            return;
        }
        auto const expected = after(state->trial, state->units);
        EXPECT_EQ(hash, hash_of(expected));
        EXPECT_EQ(state->host, expected) << "host memory is not up to date when the state leaves";
        if (state->units == k_units) {
            ++finished_;
            return;
        }
        if (with_odds(0.5)) {
            landed_.push_back(state);  // a stay
            return;
        }
        landed_.push_back(arrival(state->trial, state->units, state->host));
        state->elsewhere = true;
        for (auto& value : state->host) value = 0xdead;
    }

    Rng rng_;
    Odds odds_;
    int trials_;
    LateHelper helper_;
    FakeDevice device_;
    bool with_device_;
    std::vector<State> waiting_, landed_;
    int finished_ = 0, failed_ = 0, damaged_ = 0, dropped_ = 0, departing_ = 0;
    UnitPipeline pipeline_;  // first to go
};

TEST(UnitPipeline, KeepsItsPromisesOverRandomSchedules) {
    int finished = 0, damaged = 0, failed = 0;
    for (std::uint64_t seed = 0; seed < 10000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Trainer trainer(seed, seed % 3 != 0);
        trainer.run();
        finished += trainer.finished();
        damaged += trainer.damaged();
        failed += trainer.failed();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(finished, 10000);  // the schedules are neither all good nor all bad
    EXPECT_GT(damaged, 1000);
    EXPECT_GT(failed, 1000);
}

// Without a helper all is done at once, as it is for states that are too small.
TEST(UnitPipeline, DoesEverythingAtOnceWithoutAHelper) {
    Rng rng(1);
    HelperThread helper;
    for (auto* const beside : {static_cast<Helper*>(nullptr), static_cast<Helper*>(&helper)}) {
        UnitPipeline pipeline(beside, nullptr);
        auto const state = std::make_shared<FakeState>(0, 0, first_values(0), rng, 0);
        state->expected = hash_of(state->host) + 1;
        pipeline.announce(state);
        EXPECT_TRUE(state->hashed.empty());
        EXPECT_FALSE(pipeline.admit(state));
        state->expected = hash_of(state->host);
        EXPECT_TRUE(pipeline.admit(state));
        auto const caller = std::this_thread::get_id();
        bool left = false;
        pipeline.depart(state, [&](std::uint64_t hash, std::exception_ptr const&) {
            EXPECT_EQ(hash, hash_of(state->host));
            EXPECT_EQ(std::this_thread::get_id(), caller);
            left = true;
        });
        EXPECT_TRUE(left);
        EXPECT_FALSE(pipeline.busy());
    }
}

TEST(UnitPipeline, TellsWhatALeaveThrewOnce) {
    Rng rng(1);
    HelperThread helper;
    UnitPipeline pipeline(&helper, nullptr, 0);
    auto const state = std::make_shared<FakeState>(0, 0, first_values(0), rng, 0);
    pipeline.depart(state, [](std::uint64_t, std::exception_ptr const&) { throw Failure(); });
    EXPECT_THROW(pipeline.settle(), Failure);
    EXPECT_NO_THROW(pipeline.settle());
    bool left = false;
    pipeline.depart(state, [&](std::uint64_t, std::exception_ptr const&) { left = true; });
    pipeline.settle();
    EXPECT_TRUE(left);
}

// With a real thread: a sanitizer looks for races.
TEST(UnitPipeline, WorksWithAThread) {
    Rng rng(1);
    HelperThread helper;
    std::vector<State> states;
    for (int t = 0; t < 4; ++t) states.push_back(std::make_shared<FakeState>(t, 0, first_values(t), rng, 0));
    {
        UnitPipeline pipeline(&helper, nullptr, 0);
        for (int unit = 0; unit < 400; ++unit) {
            auto const& state = states[static_cast<std::size_t>(unit) % 4];
            if (unit % 8 < 3) pipeline.settle();
            ASSERT_TRUE(pipeline.admit(state));
            pipeline.announce(states[static_cast<std::size_t>(unit + 1) % 4]);
            train(state->host);
            ++state->units;
            pipeline.depart(state, [state](std::uint64_t hash, std::exception_ptr const&) { state->expected = hash; });
        }
    }
    for (auto const& state : states) EXPECT_EQ(state->expected, hash_of(after(state->trial, state->units)));
}

TEST(Helper, TakesACoreOnlyWhereThereIsOne) {
    EXPECT_FALSE(has_core_for_helper({1, 1, 1}));
    EXPECT_TRUE(has_core_for_helper({2, 1, 1}));
    EXPECT_FALSE(has_core_for_helper({2, 2, 1}));
    EXPECT_FALSE(has_core_for_helper({7, 4, 1}));
    EXPECT_TRUE(has_core_for_helper({8, 4, 1}));
    EXPECT_FALSE(has_core_for_helper({4, 1, 4}));
    EXPECT_TRUE(has_core_for_helper({5, 1, 4}));
}

}  // namespace unit_pipeline_test
}  // namespace hopscotch
