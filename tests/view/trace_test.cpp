// SPDX-License-Identifier: Apache-2.0
// trace.json by the rules of the viewers: slices of a row are apart or inside each other, arrows come in pairs, and both
// ends of an arrow lie within slices.
#include "view/trace.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/unit_parts.hpp"
#include "rundir/journal.hpp"
#include "rundir/records.hpp"

namespace hopscotch {
namespace trace_test {

using namespace testing;

bool apart_or_inside(TraceRow::Span a, TraceRow::Span b) {
    bool const apart = a.until <= b.from || b.until <= a.from;
    bool const inside = (a.from <= b.from && b.until <= a.until) || (b.from <= a.from && a.until <= b.until);
    return apart || inside;
}

// A trainer does one thing at a time, but the pieces of a validation take turns with other work.
TEST(TraceRowTest, SlicesAreApartOrInsideEachOther) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        auto const draw = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
        TraceRow row;
        std::vector<TraceRow::Span> all;
        std::int64_t now = 0, drawn = 0, wanted = 0;
        for (int i = 0; i < 60; ++i) {
            now += draw(20);
            auto const seconds = 1 + draw(30);
            auto const span =
                draw(3) == 0 ? row.validation({now - draw(40), now + seconds}) : row.unit({now, now + seconds});
            EXPECT_LE(span.from, span.until);
            if (span.until > span.from) all.push_back(span);
            drawn += span.until - span.from;
            wanted += seconds;
        }
        for (auto const& a : all)
            for (auto const& b : all) EXPECT_TRUE(apart_or_inside(a, b)) << seed;
        EXPECT_GT(drawn, wanted / 4) << "most of the time is drawn";
    }
}

TEST(TraceRowTest, UnitsKeepTheirTimes) {
    TraceRow row;
    EXPECT_EQ(row.validation({10, 30}).until, 30);
    auto const inside = row.unit({12, 20});
    EXPECT_EQ(std::pair(inside.from, inside.until), std::pair(std::int64_t{12}, std::int64_t{20}));
    auto const second = row.validation({15, 25});  // takes turns with the first, so its seconds come behind it
    EXPECT_EQ(std::pair(second.from, second.until), std::pair(std::int64_t{30}, std::int64_t{40}));
}

class TraceTest : public ::testing::Test {
protected:
    Json::Array events() const { return parse_json_or_throw(slurp(file_), "trace.json").array(); }
    std::vector<Json> with(std::string_view key, std::string_view value) const {
        std::vector<Json> out;
        for (auto const& event : events())
            if (auto const* found = event.find(key); found != nullptr && *found == Json(value)) out.push_back(event);
        return out;
    }

    Scratch scratch_;
    std::filesystem::path file_ = scratch_ / "trace.json";
};

TEST_F(TraceTest, AHopIsAnArrowFromSliceToSlice) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    trace.add(first_trial());  // trainers 0, 1, and home to 0
    trace.close();
    std::map<std::int64_t, std::vector<Json>> ends;
    for (auto const& event : events())
        if (auto const* id = event.find("id")) ends[id->integer()].push_back(event);
    ASSERT_EQ(ends.size(), 2u) << "as many as LapRecord::hops";
    auto const first = ends.begin()->second;
    ASSERT_EQ(first.size(), 2u);
    EXPECT_EQ(first[0].at("ph"), "s");
    EXPECT_EQ(first[1].at("ph"), "f");
    EXPECT_EQ(first[1].at("bp"), "e") << "else the arrow ends at the next slice";
    EXPECT_EQ(first[0].at("tid"), 0);
    EXPECT_EQ(first[1].at("tid"), 1);
    EXPECT_LT(first[0].at("ts").number(), 3e6) << "within t0 s0, [1 s, 3 s)";
    EXPECT_GT(first[0].at("ts").number(), 2.9e6);
    EXPECT_GT(first[1].at("ts").number(), 4e6) << "within t0 s1, [4 s, 5 s)";
    EXPECT_LT(first[1].at("ts").number(), 4.1e6);
}

// Trainer 1 hashes the state of its first unit while the next one trains.
TEST_F(TraceTest, PartsOfUnitsAreSlicesInRowsOfTheirOwn) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    auto lap = first_trial();
    lap.units[0].parts = packed({{UnitPart::bind, 100, 0.5}, {UnitPart::fetch, 102.5, 0.25}});
    lap.units[1].parts = packed({{UnitPart::hash, 104.5, 2}});
    trace.add(lap);
    trace.close();
    auto const parts = with("cat", "part");
    ASSERT_EQ(parts.size(), 3u);
    std::vector<std::string> found;
    for (auto const& part : parts)
        found.push_back(fmt::format("{} {} {} {} {}", part.at("name").string(), part.at("pid").integer(),
                                    part.at("tid").integer(), part.at("ts").number(), part.at("dur").number()));
    EXPECT_EQ(found,
              (std::vector<std::string>{"bind 4 0 1000000 500000", "fetch 4 0 3500000 250000", "hash 4 1 5500000 2000000"}));
    auto const names = [&](Json const& event) { return event.at("args").at("name") == Json("parts of units"); };
    EXPECT_EQ(std::ranges::count_if(with("name", "process_name"), names), 1);
}

TEST_F(TraceTest, AnArrowIntoThePastIsLeftOut) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    auto skewed = first_trial();
    skewed.units[1].start_unix_s = 100.5;  // by the clock of another host, before the unit that came before it ended
    trace.add(skewed);
    trace.close();
    EXPECT_EQ(with("ph", "s").size(), 1u) << "the hop home";
}

TEST_F(TraceTest, TrainersThatTrainTogetherHaveNoArrows) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    auto together = first_trial();
    together.hops.count = 0;
    trace.add(together);
    auto groups = second_trial();  // members of a group take turns in its record, and the group hops once
    groups.hops.count = 1;
    trace.add(groups);
    trace.close();
    EXPECT_TRUE(with("ph", "s").empty());
    EXPECT_EQ(with("cat", "unit").size(), 4u);
}

// Trainers 0 and 1 are a group, trainers 2 and 3 another one. The state hops once, and home.
TEST_F(TraceTest, AGroupsHopIsAnArrowFromItsFirstMember) {
    TraceWriter trace(file_, {"a", "a", "b", "b"}, 99, 2);
    auto lap = first_trial();
    lap.units = {unit(0, 0, 0, 1), unit(1, 1, 0, 1), unit(2, 2, 2, 1), unit(3, 3, 2, 1)};
    trace.add(lap);
    trace.close();
    auto const starts = with("ph", "s"), ends = with("ph", "f");
    ASSERT_EQ(starts.size(), 2u);
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(starts[0].at("tid"), 0);
    EXPECT_EQ(ends[0].at("tid"), 2);
    EXPECT_EQ(starts[1].at("tid"), 2);
    EXPECT_EQ(ends[1].at("tid"), 0) << "validation";
    EXPECT_LT(starts[0].at("ts").number(), 2e6) << "within the unit of trainer 0, [1 s, 2 s)";
    EXPECT_GT(ends[0].at("ts").number(), 3e6) << "within the unit of trainer 2, [3 s, 4 s)";
}

TEST_F(TraceTest, CountersOfBytesAndOfTheQueue) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    for (int const trial : {0, 1, 1, 2}) trace.released({TrialId(trial), 0});
    auto lap = first_trial();
    lap.hops.bytes = 2'500'000;
    trace.add(lap);
    trace.ended(TrialId(2));  // its lap never comes
    lap = second_trial();
    lap.hops.bytes = 500'000;
    trace.add(lap);
    trace.close();
    std::vector<double> moved, queued;
    for (auto const& event : with("ph", "C"))
        (event.at("name") == "queue" ? queued : moved).push_back(event.at("args").object().front().value.number());
    EXPECT_EQ(moved, (std::vector<double>{2.5, 3}));
    EXPECT_EQ(queued, (std::vector<double>{3, 1}));
}

TEST_F(TraceTest, WaitsOfQueuedUnitsAreSlicesOfTheirOwnRows) {
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    auto lap = first_trial();
    lap.units[1].wait_s = 0.25;
    lap.units[0].wait_s = 0.0009;  // too short to see
    trace.add(lap);
    trace.close();
    auto const waits = with("cat", "wait");
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].at("ts"), 3.75e6);
    EXPECT_EQ(waits[0].at("dur"), 0.25e6);
    EXPECT_EQ(waits[0].at("tid"), 1);
    EXPECT_NE(waits[0].at("pid"), 0);
}

TEST_F(TraceTest, LinesOfTheJournalBecomeMarksAndCheckpoints) {
    auto const line = [](std::string_view text) { return mark_of(parse_json_or_throw(text, "line")); };
    auto const pause = line(R"({"event":"decision","unix_s":101,"kind":"pause","trial":3,"why":"a rung \"1\""})");
    auto const lost = line(R"({"event":"trainer_lost","unix_s":102,"trainer":1,"host":"n","reason":"silent"})");
    auto const saved = line(R"({"event":"checkpoint","unix_s":103,"trial":3,"epoch":2,"trainer":1,"seconds":0.5})");
    EXPECT_FALSE(line(R"({"event":"checkpoint","unix_s":103,"trial":3,"epoch":2})")) << "of an older version";
    EXPECT_FALSE(line(R"({"event":"lap_done","unix_s":103,"trial":3})"));
    ASSERT_TRUE(pause && lost && saved);
    TraceWriter trace(file_, {"node1", "node2"}, 99);
    for (auto const& mark : {*pause, *lost, *saved}) trace.add(mark);
    trace.close();
    auto const marks = with("ph", "i");
    ASSERT_EQ(marks.size(), 2u);
    EXPECT_EQ(marks[0].at("name"), "decision: pause trial 3");
    EXPECT_EQ(marks[0].at("args").at("why"), "a rung \"1\"");
    EXPECT_EQ(marks[0].at("ts"), 2e6);
    EXPECT_EQ(marks[1].at("name"), "trainer 1 lost");
    auto const slices = with("cat", "checkpoint");
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(slices[0].at("ts"), 3.5e6);
    EXPECT_EQ(slices[0].at("dur"), 0.5e6);
    EXPECT_EQ(slices[0].at("tid"), 1);
}

}  // namespace trace_test
}  // namespace hopscotch
