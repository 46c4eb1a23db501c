// SPDX-License-Identifier: Apache-2.0
// What checkpoints hold of messages keeps its form; what only travels may change.
#include "strategy/common/lap_codec.hpp"

#include <gtest/gtest.h>

#include "core/unit_parts.hpp"
#include "model/trial/evaluation.hpp"
#include "strategy/together/group_messages.hpp"

namespace hopscotch {
namespace lap_codec_test {

UnitRecord some_unit() {
    UnitRecord unit;
    unit.shard = ShardId(3);
    unit.trainer = TrainerId(1);
    unit.state_hash = 7;
    unit.cpu_s = 0.5;
    return unit;
}

TEST(LapCodec, ARecordKeepsCpuSecondsPartsAndOwnMetrics) {
    LapRecord record;
    record.units = {some_unit(), some_unit()};
    record.units[1].cpu_s = -1;
    record.units[1].parts = packed({{UnitPart::hash, 12.5, 0.25}});
    record.valid.own = {{"val_cost", 2.5}};
    auto const found = decode<LapRecord>(encode(record));
    ASSERT_EQ(found.units.size(), 2U);
    EXPECT_EQ(found.units[0].cpu_s, 0.5);
    EXPECT_EQ(found.units[1].cpu_s, -1);
    EXPECT_TRUE(found.units[0].parts.empty());
    EXPECT_EQ(found.units[1].parts, record.units[1].parts);
    ASSERT_EQ(found.valid.own.size(), 1U);
    EXPECT_EQ(found.valid.own[0].name, "val_cost");
    EXPECT_EQ(found.valid.own[0].value, 2.5);
}

// Checkpoints of groups hold MemberPlaces: 56 bytes a unit, since version 0.1.
TEST(LapCodec, AUnitInACheckpointHasItsOldForm) {
    MemberPlace empty, one;
    one.units = {some_unit()};
    EXPECT_EQ(encode(one).size(), encode(empty).size() + 56);
    EXPECT_EQ(decode<MemberPlace>(encode(one)).units.at(0).state_hash, 7U);
}

// Checkpoints hold the sums of held-out shards. Those of earlier versions end before the own metrics.
TEST(LapCodec, SumsWithoutOwnMetricsHaveTheirOldForm) {
    auto const coded = [](Evaluation sums) {
        Encoder encoder;
        encoder(sums);
        return encoder.take();
    };
    Evaluation plain(Task::classification, 2);
    plain.add_sums(4, 2, 3, 4);
    auto own = plain;
    own.add_own(std::vector<double>{1.5, 2});
    EXPECT_EQ(coded(own).size(), coded(plain).size() + 8 + 16);
    for (auto const& [sums, count] : {std::pair(plain, 0U), {own, 2U}}) {
        auto const bytes = coded(sums);
        Evaluation found(Task::classification, 2);
        Decoder decoder(bytes);
        decoder(found);
        EXPECT_EQ(found.rows(), 4);
        ASSERT_EQ(found.own().size(), count);
        EXPECT_EQ(found.own(), sums.own());
    }
}

}  // namespace lap_codec_test
}  // namespace hopscotch
