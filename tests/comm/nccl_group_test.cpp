// SPDX-License-Identifier: Apache-2.0
// The group of GPUs on fakes: what it does when NCCL is slow, fails, waits for ever or does not come back, and the order of
// its streams.
#include "comm/nccl_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "fake_nccl.hpp"
#include "test_clock.hpp"

namespace hopscotch::testing {
namespace nccl_group_test {

struct Left {};  // what a look throws when the job has ended

// A look at the clock takes a millisecond: a wait has tens of thousands of looks, however long they take, and spins only at
// its begin.
NcclGroup::Terms patient_terms(int ranks = 1, int self = 0) {
    NcclGroup::Terms terms;
    terms.ranks = ranks;
    terms.self = self;
    terms.members = "rank 1 (here), rank 2 (there)";
    terms.clock = [now_s = 0.0]() mutable { return now_s += 0.001; };
    return terms;
}

// Each wait meets its limit after some looks. Only for waits that nothing can end.
struct Impatient {
    TestClock clock{1};
    NcclGroup::Terms terms(int ranks = 1) {
        auto out = patient_terms(ranks);
        out.clock = clock.reader();
        return out;
    }
};

std::shared_ptr<FakeNccl> alone() {
    return std::make_shared<FakeNccl>(std::make_shared<FakeFabric>(1), FakeNccl::Compute::queued);
}

// The device gets on with what it can.
void get_on(FakeNccl& calls) {
    while (calls.advance_compute() || calls.advance_sums()) {
    }
}

std::string error_of(std::function<void()> const& work) {
    try {
        work();
    } catch (CommError const& error) {
        return error.what();
    }
    return "";
}

void expect_says(std::string const& text, std::vector<std::string> const& parts) {
    for (auto const& part : parts) EXPECT_NE(text.find(part), text.npos) << "'" << text << "' lacks '" << part << "'";
}

TEST(NcclVersion, OtherPatchesMayServe) {
    EXPECT_EQ(nccl_complaint(22809, 22809, "/a"), "");
    EXPECT_EQ(nccl_complaint(22809, 22803, "/a"), "");
    expect_says(nccl_complaint(22809, 22707, "/a/libnccl.so.2"), {"2.28.9", "2.27.7", "/a/libnccl.so.2"});
    expect_says(nccl_complaint(22809, 32809, "/a"), {"3.28.9"});
    expect_says(nccl_complaint(22809, 0, "/a"), {"0.0.0"});
}

TEST(NcclBringUp, TakesTheTimeItTakes) {
    auto const calls = alone();
    calls->slow_polls = 50;
    {
        NcclGroup group(calls, patient_terms());
        group.bring_up(calls->make_id());
        EXPECT_EQ(calls->id_seen, calls->make_id());
        EXPECT_EQ(calls->state(), NcclCalls::State::done) << "it was waited for";
    }
    EXPECT_EQ(calls->destroys, 1);
    EXPECT_EQ(calls->aborts, 0);
}

TEST(NcclBringUp, ThatNeverEndsIsAnError) {
    auto const calls = alone();
    calls->never_up = true;
    Impatient impatient;
    {
        NcclGroup group(calls, impatient.terms());
        expect_says(error_of([&] { group.bring_up(calls->make_id()); }),
                    {"bring-up", "rank 2 (there)", "run.deadline_s", "strategy.collectives"});
    }
    EXPECT_EQ(calls->aborts, 1);
    EXPECT_EQ(calls->destroys, 0);
}

TEST(NcclBringUp, IsNotProlongedByOthersThatCompute) {
    auto const calls = alone();
    calls->never_up = true;
    Impatient impatient;
    auto terms = impatient.terms();
    terms.job_still_s = [] { return 0.0; };
    NcclGroup group(calls, terms);
    expect_says(error_of([&] { group.bring_up(calls->make_id()); }), {"run.deadline_s"});
}

TEST(NcclBringUp, ThatFailsSaysWhy) {
    auto const calls = alone();
    calls->refuses = true;
    NcclGroup group(calls, patient_terms());
    expect_says(error_of([&] { group.bring_up(calls->make_id()); }), {"unhandled system error", "rank 1 (here)"});
}

TEST(NcclBringUp, EndsWithTheJob) {
    auto const calls = alone();
    calls->never_up = true;
    auto terms = patient_terms();
    int looks = 0;
    terms.look = [&] {
        if (++looks == 3) throw Left{};
    };
    {
        NcclGroup group(calls, terms);
        EXPECT_THROW(group.bring_up(calls->make_id()), Left);
    }
    EXPECT_EQ(calls->aborts, 1);
}

TEST(NcclGroup, NoSumBeforeTheBringUp) {
    auto const calls = alone();
    std::vector<float> values(4, 1);
    NcclGroup group(calls, patient_terms());
    EXPECT_THROW(group.sum({values.data(), 4, nullptr}, 1, "early"), Error);
}

TEST(NcclGroup, AnErrorInAStepNamesItAndAborts) {
    auto const calls = alone();
    calls->fails_at_sum = 2;
    std::vector<float> values(4, 1);
    {
        auto terms = patient_terms();
        terms.look = [&] { get_on(*calls); };
        NcclGroup group(calls, terms);
        group.bring_up(calls->make_id());
        auto const step = [&](int number) {
            group.sum({values.data(), 4, nullptr}, 1, "gradient of trial 3, epoch 1, step " + std::to_string(number));
            group.end_step();
        };
        step(0);
        step(1);
        expect_says(error_of([&] { step(2); }),
                    {"trial 3, epoch 1, step 2", "unhandled system error", "rank 1 (here), rank 2 (there)", "--resume"});
    }
    EXPECT_EQ(calls->aborts, 1);
    EXPECT_EQ(calls->destroys, 0);
}

// One of two ranks that have come up; the other one adds nothing.
struct Lonely {
    std::shared_ptr<FakeNccl> calls = std::make_shared<FakeNccl>(std::make_shared<FakeFabric>(2), FakeNccl::Compute::queued);
    std::vector<float> values = std::vector<float>(4, 1);
    Impatient impatient;

    NcclGroup::Terms terms() {
        auto out = impatient.terms(2);
        out.look = [fake = calls] { get_on(*fake); };
        return out;
    }
    void sum(NcclGroup& group, char const* what) { group.sum({values.data(), 4, nullptr}, 1, what); }
};

// One step may be in flight, the next one waits for it.
TEST(NcclGroup, ASilentPeerIsNoticedWithOneStepInFlight) {
    Lonely lonely;
    {
        NcclGroup group(lonely.calls, lonely.terms());
        group.bring_up(lonely.calls->make_id());
        lonely.sum(group, "step 0");
        group.end_step();
        lonely.sum(group, "step 1");
        expect_says(error_of([&] { group.end_step(); }), {"step 0", "run.stall_s", "rank 2 (there)"});
    }
    EXPECT_EQ(lonely.calls->aborts, 1);
}

// Whoever throws tells rank 0 about it: it must not wait for the others' finalize before.
TEST(NcclGroup, AbortsWhereAnErrorIsOnItsWay) {
    auto const calls = alone();
    try {
        NcclGroup group(calls, patient_terms());
        group.bring_up(calls->make_id());
        throw Left{};
    } catch (Left const&) {
    }
    EXPECT_EQ(calls->aborts, 1);
    EXPECT_EQ(calls->destroys, 0);
}

TEST(NcclGroup, SettlesTheLastStepToo) {
    Lonely lonely;
    NcclGroup group(lonely.calls, lonely.terms());
    group.bring_up(lonely.calls->make_id());
    group.settle();
    lonely.sum(group, "step 0");
    group.end_step();
    expect_says(error_of([&] { group.settle(); }), {"step 0", "run.stall_s"});
}

// As long as others finish batches, one may have to wait for a slow one.
TEST(NcclGroup, WaitsWhileTheJobGetsOnAndEndsWithIt) {
    auto const calls = std::make_shared<FakeNccl>(std::make_shared<FakeFabric>(2), FakeNccl::Compute::queued);
    std::vector<float> values(4, 1);
    Impatient impatient;
    auto terms = impatient.terms(2);
    terms.job_still_s = [] { return 0.0; };
    int looks = 0;
    terms.look = [&] {
        get_on(*calls);
        if (++looks > 3 * terms.stall_s) throw Left{};  // at one second a look
    };
    {
        NcclGroup group(calls, terms);
        group.bring_up(calls->make_id());
        group.sum({values.data(), 4, nullptr}, 1, "step 0");
        group.end_step();
        EXPECT_THROW(group.settle(), Left);
    }
    EXPECT_EQ(calls->aborts, 1) << "a sum is under way";
}

TEST(NcclGroup, AnAbortThatNeverComesBackHoldsNobodyUp) {
    auto const calls = alone();
    calls->refuses = true;
    calls->abort_hangs = true;
    {
        auto terms = patient_terms();
        terms.deadline_s = 0.05;  // of a wait for a thread that does not come back
        NcclGroup group(calls, terms);
        EXPECT_NE(error_of([&] { group.bring_up(calls->make_id()); }), "");
    }
    while (calls->aborts == 0) std::this_thread::yield();  // the thread that was left behind
    EXPECT_EQ(calls->aborts, 1);
    calls->abort_hangs = false;
}

TEST(NcclGroup, AnEndThatOthersDoNotTakePartInBecomesAnAbort) {
    auto const calls = alone();
    calls->finalize_hangs = true;
    Impatient impatient;
    {
        NcclGroup group(calls, impatient.terms());
        group.bring_up(calls->make_id());
    }
    EXPECT_EQ(calls->aborts, 1);
    EXPECT_EQ(calls->destroys, 0);
}

TEST(NcclGroup, WhoNeverBeganHasNothingToEnd) {
    auto const calls = alone();
    {
        NcclGroup group(calls, patient_terms());
    }
    EXPECT_EQ(calls->aborts + calls->destroys, 0);
}

// Three GPUs that one thread plays: each computes a gradient from its weights, adds it up in two buckets, updates.
class Players {
public:
    enum class First { sums, compute, any };
    Players(First first, std::uint64_t seed) : first_(first), rng_(seed) {
        for (int k = 0; k < k_ranks; ++k) {
            auto& player = players_.at(static_cast<std::size_t>(k));
            player.calls = std::make_shared<FakeNccl>(fabric_, FakeNccl::Compute::queued);
            auto terms = patient_terms(k_ranks, k);
            terms.look = [this] { turn(); };  // devices get on by themselves
            player.group = std::make_unique<NcclGroup>(player.calls, terms);
            player.group->bring_up(player.calls->make_id());
        }
    }

    void step(int number) {
        for (auto& player : players_) {
            auto const scale = static_cast<float>(1 + &player - players_.data());
            player.calls->compute([&player, scale, number] {
                for (std::size_t i = 0; i < k_floats; ++i)
                    player.gradient[i] = scale * (player.weights[i] + static_cast<float>(i)) + static_cast<float>(number);
            });
            player.group->sum({player.gradient.data() + 4, k_floats - 4, nullptr}, 0.25, "back");
            player.group->sum({player.gradient.data(), 4, nullptr}, 0.25, "front");
            player.group->end_step();
            player.calls->compute([&player] {
                for (std::size_t i = 0; i < k_floats; ++i) player.weights[i] -= 0.125F * player.gradient[i];
            });
        }
    }
    void finish() {
        for (auto& player : players_) player.group->settle();
        while (turn()) {
        }
    }
    std::vector<float> weights(std::size_t k) const {
        return {players_.at(k).weights.begin(), players_.at(k).weights.end()};
    }

    static constexpr int k_ranks = 3;
    static constexpr std::size_t k_floats = 10;

private:
    // One piece of work somewhere; false: nothing can go on.
    bool turn() {
        bool const sums_first = first_ == First::sums || (first_ == First::any && rng_.below(2) == 0);
        for (int kind = 0; kind < 2; ++kind)
            for (auto& player : players_)
                if ((kind == 0) == sums_first ? player.calls->advance_sums() : player.calls->advance_compute()) return true;
        return false;
    }

    struct Player {
        std::shared_ptr<FakeNccl> calls;
        std::unique_ptr<NcclGroup> group;
        std::array<float, k_floats> weights{}, gradient{};
    };
    First first_;
    Rng rng_;
    std::shared_ptr<FakeFabric> fabric_ = std::make_shared<FakeFabric>(k_ranks);
    std::array<Player, k_ranks> players_;
};

std::vector<float> expected_weights(int steps) {
    std::vector<float> weights(Players::k_floats);
    for (int step = 0; step < steps; ++step)
        for (std::size_t i = 0; i < weights.size(); ++i) {
            float sum = 0;
            for (int k = 1; k <= Players::k_ranks; ++k)
                sum += 0.25F * (static_cast<float>(k) * (weights[i] + static_cast<float>(i)) + static_cast<float>(step));
            weights[i] -= 0.125F * sum;
        }
    return weights;
}

TEST(NcclGroup, SumsAndUpdatesKeepTheirOrderHoweverLateStreamsAre) {
    for (auto const first : {Players::First::sums, Players::First::compute, Players::First::any})
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            Players players(first, seed);
            for (int step = 0; step < 5; ++step) players.step(step);
            players.finish();
            for (std::size_t k = 0; k < Players::k_ranks; ++k) EXPECT_EQ(players.weights(k), expected_weights(5)) << seed;
        }
}

}  // namespace nccl_group_test
}  // namespace hopscotch::testing
