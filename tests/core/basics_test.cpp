// SPDX-License-Identifier: Apache-2.0
// error, ids, hash, line fit, log, UniqueHandle.
#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {
namespace basics_test {

ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

TEST(Error, RequireNamesTheProblemAndThePlace) {
    EXPECT_NO_THROW(require(true, "unused"));
    try {
        require(false, "no shard (empty folder); import first");
        FAIL() << "nothing was thrown";
    } catch (Error const& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("no shard (empty folder); import first [basics_test.cpp:"))
            << error.what();
    }
}

TEST(Error, AProblemThatIsMadeLateIsMadeOnlyIfTheConditionDoesNotHold) {
    int made = 0;
    auto const problem = [&] { return "unit " + std::to_string(++made); };
    EXPECT_NO_THROW(require(true, problem));
    EXPECT_EQ(made, 0);
    try {
        require(false, problem);
        FAIL() << "no exception";
    } catch (Error const& error) {
        EXPECT_EQ(std::string(error.what()).substr(0, 24), "unit 1 [basics_test.cpp:") << "the place of the caller";
    }
}

TEST(Log, TerminalsAreNotToldWhatToDo) {
    EXPECT_EQ(printable("a\x1b[2Jb\x07\x7f"), "a\\x1b[2Jb\\x07\\x7f");
    EXPECT_EQ(printable("one\n\ttwo, caf\xc3\xa9"), "one\n\ttwo, caf\xc3\xa9");
    EXPECT_EQ(printable("Malm\xf6 \xc2\x9b"), "Malm\\xf6 \\xc2\\x9b") << "no UTF-8; the control sequence of one byte";
    EXPECT_EQ(printable("\u202egpj.\u2066"), "\\xe2\\x80\\xaegpj.\\xe2\\x81\\xa6") << "it turns text round";
    EXPECT_EQ(printable("\u05d0\u4e2d \U0001f600"), "\u05d0\u4e2d \U0001f600");
}

TEST(Error, ClassesAreErrors) {
    EXPECT_THROW(throw ConfigError("c"), Error);
    EXPECT_THROW(throw CommError("c"), Error);
    EXPECT_THROW(throw DataError("c"), Error);
}

TEST(Ids, CompareHashAndDefault) {
    EXPECT_EQ(TrialId().value, -1);
    EXPECT_LT(TrialId(2), TrialId(10));
    EXPECT_EQ(ShardId(std::size_t{3}), ShardId(3));
    EXPECT_EQ((std::unordered_set<TrialId>{TrialId(1), TrialId(1), TrialId(2)}.size()), 2U);
    static_assert(!std::is_convertible_v<TrainerId, Rank> && !std::is_convertible_v<int, TrialId>);
}

// Vectors of the xxHash project.
TEST(Hash, PublishedVectors) {
    EXPECT_EQ(xxh64({}), 0xef46db3751d8e999U);
    EXPECT_EQ(xxh3({}), 0x2d06800538d394c2U);
    EXPECT_EQ(xxh64(bytes_of("abc")), 0x44bc2cf5ad770999U);
    EXPECT_EQ(xxh3(bytes_of("abc")), 0x78af5f94892f3950U);
}

TEST(Hash, StreamEqualsWhole) {
    std::string const text(100'000, 'x');
    Xxh64Stream stream;
    Xxh3Stream of_states;
    for (std::size_t i = 0; i < text.size(); i += 777) {
        stream.update(bytes_of(std::string_view(text).substr(i, 777)));
        of_states.update(bytes_of(std::string_view(text).substr(i, 777)));
    }
    EXPECT_EQ(stream.digest(), xxh64(bytes_of(text)));
    EXPECT_EQ(of_states.digest(), xxh3(bytes_of(text)));
    EXPECT_NE(xxh3(bytes_of(text), 1), xxh3(bytes_of(text)));
    Xxh3Stream seeded(1);
    seeded.update(bytes_of(text));
    EXPECT_EQ(seeded.digest(), xxh3(bytes_of(text), 1));
}

TEST(Hash, Hex) {
    EXPECT_EQ(to_hex(0xabU), "00000000000000ab");
    EXPECT_EQ(from_hex("ef46db3751d8e999"), 0xef46db3751d8e999U);
    for (auto const* bad : {"", "ab", "ef46db3751d8e99g", "ef46db3751d8e9990", "0xef46db3751d8e9"})
        EXPECT_THROW(from_hex(bad), Error) << bad;
}

std::vector<int> closed;
struct Close {
    static int null() { return -1; }
    void operator()(int handle) noexcept { closed.push_back(handle); }
};
using Handle = UniqueHandle<int, Close>;

TEST(UniqueHandle, MovedFromIsEmptyAndClosesNothing) {
    closed.clear();
    {
        Handle first(7);
        Handle second(std::move(first));
        EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
        EXPECT_TRUE(second);
        EXPECT_EQ(second.handle(), 7);
        Handle third(8);
        third = std::move(second);
        EXPECT_EQ(closed, std::vector{8});
        EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move)
        auto& self = third;
        third = std::move(self);
        EXPECT_EQ(third.handle(), 7);
    }
    EXPECT_EQ(closed, (std::vector{8, 7}));
    closed.clear();
    {
        Handle empty;
        Handle zero(0);  // zero is a handle like any other
        zero.reset();
        zero.reset();
    }
    EXPECT_EQ(closed, std::vector{0});
}

}  // namespace basics_test
}  // namespace hopscotch
