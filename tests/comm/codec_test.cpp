// SPDX-License-Identifier: Apache-2.0
#include "comm/codec.hpp"
#include "comm/activity.hpp"

#include <gtest/gtest.h>

#include "comm/courier_messages.hpp"
#include "comm/messages.hpp"

namespace hopscotch {
namespace codec_test {

TEST(Codec, MessagesSurviveTheRoundTrip) {
    Offer const offer{
        7, MessageKind::gradient, std::uint64_t{3} << 32, {std::byte{1}, std::byte{255}}, {{5, 6, 7}, 8, 9, 10, 11}};
    auto const back = decode<Offer>(encode(offer));
    EXPECT_EQ(back.id, 7U);
    EXPECT_EQ(back.kind, MessageKind::gradient);
    EXPECT_EQ(back.bytes, std::uint64_t{3} << 32);
    EXPECT_EQ(back.header, offer.header);

    Heartbeat const beat{5, 6, TrialId(3), -1, ShardId(9), Phase::parameters};
    auto const heard = decode<Heartbeat>(encode(beat));
    EXPECT_EQ(heard.trial, TrialId(3));
    EXPECT_EQ(heard.epoch, -1);
    EXPECT_EQ(heard.shard, ShardId(9));
    EXPECT_EQ(heard.phase, Phase::parameters);
}

TEST(Codec, EveryTruncationIsAnError) {
    auto const whole = encode(Offer{7, MessageKind::state, 9, Bytes(20), {}});
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THROW(decode<Offer>(ByteView(whole).first(size)), CommError) << size;
}

TEST(Codec, AHugeLengthIsRefusedBeforeItIsAllocated) {
    auto bytes = encode(Offer{7, MessageKind::state, 9, Bytes(4), {}});
    constexpr std::size_t length_at = sizeof(std::uint64_t) + sizeof(MessageKind) + sizeof(std::uint64_t);
    for (std::size_t i = 0; i < 8; ++i) bytes[length_at + i] = std::byte{255};
    EXPECT_THROW(decode<Offer>(bytes), CommError);
}

// In memory a bool with another byte is undefined behaviour.
TEST(Codec, ATruthValueIsZeroOrOne) {
    for (int byte = 0; byte < 256; ++byte) {
        Bytes const bytes{static_cast<std::byte>(byte)};
        if (byte > 1)
            EXPECT_THROW(decode<bool>(bytes), CommError) << byte;
        else
            EXPECT_EQ(decode<bool>(bytes), byte == 1);
    }
}

TEST(MessageKinds, AreNamedInErrors) {
    EXPECT_EQ(name_of(MessageKind::offer), "offer");
    EXPECT_EQ(name_of(MessageKind::farewell), "farewell");
    EXPECT_EQ(name_of(MessageKind::lap_done), "lap_done");
    EXPECT_EQ(name_of(MessageKind::test), "test");
    EXPECT_EQ(name_of(static_cast<MessageKind>(1000)), "of an unknown kind");
}

}  // namespace codec_test
}  // namespace hopscotch
