// SPDX-License-Identifier: Apache-2.0
// When a part of a step is warmed up, captured, checked, replayed and given up, against a part that writes down what it is
// told.
#include "model/gpu/graph_cache.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace hopscotch::testing {
namespace graph_cache_test {

struct FakeGraph final : Graph {
    explicit FakeGraph(int& alive) : alive_(alive) { ++alive_; }
    ~FakeGraph() override { --alive_; }
    void replay() override {}
    int& alive_;
};

// r: run, k: captured and compared, c: could not be captured, p: replayed. Each does the part once.
struct FakePart final : GraphPart {
    void run() override { did += 'r'; }
    int warm_ups() const override { return wanted; }
    Captured capture() override {
        if (no_memory) throw std::runtime_error("no memory\nException raised from ...");
        auto const problem = !capture_fails.empty() ? "capturing failed: " + capture_fails : difference;
        did += capture_fails.empty() ? 'k' : 'c';
        if (!problem.empty()) return {nullptr, problem};
        return {std::make_unique<FakeGraph>(alive), ""};
    }
    void replay(Graph& graph) override {
        graph.replay();
        did += 'p';
    }

    std::string did, capture_fails, difference;
    bool no_memory = false;
    int wanted = GraphCache::k_warm_ups;
    int alive = 0;
};

struct Fixture {
    explicit Fixture(std::size_t most = 64) : cache([this](std::string const& text) { said.push_back(text); }, most) {}
    std::string after(int times, GraphKey const& key) {
        part.did.clear();
        for (int i = 0; i < times; ++i) cache.run(key, "mlp", part);
        return part.did;
    }
    FakePart part;
    std::vector<std::string> said;
    GraphCache cache;  // gone before the part that counts its graphs
};

GraphKey key(std::int64_t rows, std::uint64_t structure = 1, std::uintptr_t state = 100) {
    return {structure, GraphKey::Part::gradient, rows, {state, 200, 300, 400}};
}
GraphKey update_key(std::uint64_t structure = 1) { return {structure, GraphKey::Part::update, 0, {100, 200}}; }

TEST(GraphCache, WarmsUpThenCapturesAndChecksThenReplays) {
    Fixture f;
    EXPECT_EQ(f.after(7, key(32)), "rrrkppp");
    EXPECT_EQ(f.cache.graphs(), 1U);
    EXPECT_TRUE(f.said.empty());
}

TEST(GraphCache, EveryCallDoesThePartOnce) {
    for (char const* fails : {"", "not permitted"}) {
        Fixture f;
        f.part.capture_fails = fails;
        std::size_t done = 0;
        for (int i = 0; i < 10; ++i) done += f.after(1, key(32)).size();
        EXPECT_EQ(done, 10U);
    }
}

TEST(GraphCache, TheLastBatchOfAShardHasAGraphOfItsOwn) {
    Fixture f;
    EXPECT_EQ(f.after(5, key(32)), "rrrkp");
    EXPECT_EQ(f.after(1, key(9)), "r") << "other rows";
    EXPECT_EQ(f.after(2, key(32)), "pp") << "the first is kept";
    EXPECT_EQ(f.after(4, key(9)), "rrkp");
    EXPECT_EQ(f.cache.graphs(), 2U);
}

TEST(GraphCache, GradientsAndUpdatesAreKeptApart) {
    Fixture f;
    EXPECT_EQ(f.after(5, key(32)), "rrrkp");
    EXPECT_EQ(f.after(5, update_key()), "rrrkp");
    EXPECT_EQ(f.cache.graphs(), 2U);
}

TEST(GraphCache, ALargerModelMovesTheMemoryAndWhatWasCapturedIsCapturedAgain) {
    Fixture f;
    f.after(5, key(32, 1, 100));
    f.after(5, key(32, 2, 500));  // needed a larger block
    EXPECT_EQ(f.after(5, key(32, 1, 500)), "rrrkp") << "the first graph writes where no one reads";
}

TEST(GraphCache, AStructureThatComesBackToTheSameMemoryGoesOnReplaying) {
    Fixture f;
    f.after(5, key(32, 1));
    f.after(5, key(32, 2));
    EXPECT_EQ(f.after(2, key(32, 1)), "pp");
}

TEST(GraphCache, WhatCannotBeCapturedRunsKernelByKernelAndSaysWhyOnce) {
    Fixture f;
    f.part.capture_fails = "operation not permitted when stream is capturing\nException raised from ...";
    EXPECT_EQ(f.after(6, key(32)), "rrrcrr");
    EXPECT_EQ(f.after(2, key(9)), "rr") << "other rows would meet the same";
    ASSERT_EQ(f.said.size(), 1U);
    EXPECT_EQ(
        f.said[0],
        "mlp trains without CUDA graphs (gradients: capturing failed: operation not permitted when stream is capturing)");
    EXPECT_EQ(f.after(4, key(32, 2)), "rrrc") << "another model tries by itself";
    EXPECT_EQ(f.said.size(), 1U) << "and has nothing new to say";
    f.part.capture_fails.clear();
    EXPECT_EQ(f.after(5, update_key()), "rrrkp") << "the other part is not touched";
}

TEST(GraphCache, AGraphWhoseFirstReplayIsWrongIsDropped) {
    Fixture f;
    f.part.difference = "the first replay was wrong: the loss differs";
    EXPECT_EQ(f.after(6, key(32)), "rrrkrr") << "capture() has left what run() computed";
    EXPECT_EQ(f.cache.graphs(), 0U);
    EXPECT_EQ(f.part.alive, 0);
    ASSERT_EQ(f.said.size(), 1U);
    EXPECT_EQ(f.said[0], "mlp trains without CUDA graphs (gradients: the first replay was wrong: the loss differs)");
}

TEST(GraphCache, WithoutMemoryForTheCheckThereIsNoGraph) {
    Fixture f;
    f.part.no_memory = true;
    EXPECT_EQ(f.after(4, key(32)), "rrrr");
    EXPECT_EQ(f.after(1, key(32)), "r");
    EXPECT_EQ(f.part.alive, 0);
    ASSERT_EQ(f.said.size(), 1U);
    EXPECT_NE(f.said[0].find("a graph could not be checked: no memory"), std::string::npos);
}

TEST(GraphCache, ARefusalDropsTheGraphsThatTheModelHad) {
    Fixture f;
    f.after(5, key(32));
    f.after(5, update_key());
    f.part.difference = "the gradient differs";
    f.after(4, key(9));
    EXPECT_EQ(f.after(1, key(32)), "r") << "one wrong graph casts doubt on the others";
    EXPECT_EQ(f.after(1, update_key()), "p") << "but not on the other part's";
    EXPECT_EQ(f.cache.graphs(), 1U);
    EXPECT_EQ(f.part.alive, 1);
}

TEST(GraphCache, DroppedGraphsAreCapturedAgain) {
    Fixture f;
    f.after(5, key(32));
    f.after(5, update_key());
    f.cache.drop();
    EXPECT_EQ(f.part.alive, 0);
    EXPECT_EQ(f.cache.graphs(), 0U);
    EXPECT_EQ(f.after(5, key(32)), "rrrkp");
    EXPECT_TRUE(f.said.empty());
}

TEST(GraphCache, TheGraphUsedLongestAgoMakesRoom) {
    Fixture f(2);
    f.after(5, key(1));
    f.after(5, key(2));
    f.after(1, key(1));
    f.after(4, key(3));
    EXPECT_EQ(f.cache.graphs(), 2U);
    EXPECT_EQ(f.part.alive, 2);
    EXPECT_EQ(f.after(1, key(1)), "p");
    EXPECT_EQ(f.after(1, key(3)), "p");
    EXPECT_EQ(f.after(8, key(2)), "rrrrrrkp") << "it must come twice as often";
}

TEST(GraphCache, MoreKeysInTurnThanRoomSoonStopCapturing) {
    Fixture f(2);
    int captures = 0;
    for (int i = 0; i < 1000; ++i)
        for (std::int64_t rows = 1; rows <= 4; ++rows)
            for (char const c : f.after(1, key(rows))) captures += c == 'k' ? 1 : 0;
    EXPECT_LT(captures, 50);
    EXPECT_EQ(f.part.alive, 2);
}

TEST(GraphCache, TwoSlotsNeedTwoGraphsOfAStructureAndNoMore) {
    Fixture f;
    std::size_t captures = 0;
    for (int trial = 0; trial < 20; ++trial)
        for (std::uintptr_t const slot : {100U, 500U})
            for (char const c : f.after(3, key(32, 1, slot))) captures += c == 'k' ? 1 : 0;
    EXPECT_EQ(captures, 2U);
    EXPECT_EQ(f.cache.graphs(), 2U);
    EXPECT_TRUE(f.cache.keeps(key(32, 1, 500)));
    EXPECT_FALSE(f.cache.keeps(key(32, 2, 500)));
    EXPECT_FALSE(f.cache.keeps(key(31, 1, 500)));
}

TEST(GraphCache, APartThatNeedsNoWarmUpIsCapturedAtOnce) {
    Fixture f(1);
    f.part.wanted = 0;
    EXPECT_EQ(f.after(3, key(32)), "kpp");
    EXPECT_EQ(f.after(1, key(9)), "k");
    EXPECT_EQ(f.after(3, key(32)), "rkp") << "it made room: it must come once more before it is captured again";
}

TEST(GraphCache, ARefusalIsOfOnePartOfOneStructure) {
    Fixture f;
    f.part.difference = "the first replay was wrong: the loss differs";
    f.after(4, key(32));
    EXPECT_TRUE(f.cache.refuses(1, GraphKey::Part::gradient));
    EXPECT_FALSE(f.cache.refuses(1, GraphKey::Part::update));
    EXPECT_FALSE(f.cache.refuses(2, GraphKey::Part::gradient));
    EXPECT_EQ(f.after(2, key(9, 1, 500)), "rr") << "whatever the rows and the memory";
}

TEST(GraphCache, EveryReasonIsSaidOnceForEachModel) {
    Fixture f;
    for (int i = 0; i < 3; ++i) {
        f.cache.explain("gpt", "one reason");
        f.cache.explain("gpt", "another");
        f.cache.explain("mlp", "one reason");
    }
    EXPECT_EQ(f.said, (std::vector<std::string>{"gpt trains without CUDA graphs (one reason)",
                                                "gpt trains without CUDA graphs (another)",
                                                "mlp trains without CUDA graphs (one reason)"}));
}

}  // namespace graph_cache_test
}  // namespace hopscotch::testing
