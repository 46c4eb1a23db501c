// SPDX-License-Identifier: Apache-2.0
#include "rundir/inbox.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "rundir/records.hpp"

namespace hopscotch {
namespace inbox_test {

using namespace testing;

LiveRequest clone_request() {
    return {
        Order::Kind::clone, TrialId(3), {{"train.optimizer.lr", 0.1}, {"data.augment", Json::Array{"flip"}}}, unix_s() + 10};
}

std::set<std::string> files_in(std::filesystem::path const& folder) {
    std::set<std::string> out;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) out.insert(entry.path().filename().string());
    return out;
}

TEST(Inbox, ARequestIsTakenAndAnswered) {
    Scratch scratch;
    Inbox const inbox(scratch / ".");
    EXPECT_TRUE(inbox.take().empty());  // there is no such folder yet
    auto const name = post(scratch / ".", clone_request());
    EXPECT_FALSE(take_answer(scratch / ".", name));
    auto const letters = inbox.take();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].problem, "");
    EXPECT_EQ(letters[0].name, name);
    EXPECT_EQ(letters[0].request.kind, Order::Kind::clone);
    EXPECT_EQ(letters[0].request.trial, TrialId(3));
    EXPECT_EQ(letters[0].request.changes, clone_request().changes);
    EXPECT_TRUE(inbox.take().empty());
    inbox.answer(letters[0], {true, "so be it"});
    auto const answer = take_answer(scratch / ".", name);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ok);
    EXPECT_EQ(answer->text, "so be it");
    EXPECT_TRUE(files_in(scratch / "inbox").empty());
}

TEST(Inbox, InTheOrderOfTheirComing) {
    Scratch scratch;
    auto const first = post(scratch / ".", clone_request());
    auto const second = post(scratch / ".", clone_request());
    auto const letters = Inbox(scratch / ".").take();
    ASSERT_EQ(letters.size(), 2U);
    EXPECT_EQ(letters[0].name, first);
    EXPECT_EQ(letters[1].name, second);
}

TEST(Inbox, AFileOfAnotherProgramDoesNotChangeTheOrder) {
    Scratch scratch;
    std::filesystem::create_directories(scratch / "inbox");
    for (auto const* name : {"2147483647-x.txt", "99999999999999999999.txt", "-3.txt"}) write(scratch / "inbox" / name, "");
    auto const first = post(scratch / ".", clone_request());
    auto const second = post(scratch / ".", clone_request());
    EXPECT_EQ(first.substr(0, 5) + second.substr(0, 5), "0001-0002-");
    auto const letters = Inbox(scratch / ".").take();
    ASSERT_EQ(letters.size(), 2U);
    EXPECT_EQ(letters[0].name + letters[1].name, first + second);
}

// As two hosts would post at one time: neither sees the other's file yet, and their process ids are equal.
TEST(Inbox, SendersThatDoNotSeeEachOtherLoseNoRequest) {
    Scratch scratch;
    auto const first = post(scratch / ".", clone_request());
    std::filesystem::rename(scratch / "inbox" / (first + ".json"), scratch / "unseen");
    auto const second = post(scratch / ".", clone_request());
    EXPECT_EQ(first.substr(0, 5), second.substr(0, 5));
    std::filesystem::rename(scratch / "unseen", scratch / "inbox" / (first + ".json"));
    EXPECT_EQ(Inbox(scratch / ".").take().size(), 2U);
}

TEST(Inbox, WhatIsTakenBackOrTooOldIsNotTaken) {
    Scratch scratch;
    take_back(scratch / ".", post(scratch / ".", clone_request()));
    auto old = clone_request();
    old.until_unix_s = unix_s() - 3600;
    post(scratch / ".", old);
    EXPECT_TRUE(Inbox(scratch / ".").take().empty());
    EXPECT_TRUE(files_in(scratch / "inbox").empty());
}

TEST(Inbox, WhatIsNoRequestHasAProblem) {
    for (auto const& [text, problem] : {std::pair{"", "not a JSON object"},
                                        {"[]", "not a JSON object"},
                                        {R"({"kind": "jump", "until_unix_s": 9e9})", "known: stop"},
                                        {R"({"kind": "stop", "until_unix_s": 9e9})", "trial"},
                                        {R"({"kind": "stop", "trial": -2, "until_unix_s": 9e9})", "trial"},
                                        {R"({"kind": "finish"})", "until_unix_s"},
                                        {R"({"kind": "clone", "trial": 1, "changes": 3, "until_unix_s": 9e9})", "object"}}) {
        Scratch scratch;
        std::filesystem::create_directories(scratch / "inbox");
        write(scratch / "inbox" / "0001-1.json", text);
        auto const letters = Inbox(scratch / ".").take();
        ASSERT_EQ(letters.size(), 1U) << text;
        EXPECT_NE(letters[0].problem.find(problem), std::string::npos) << text << ": " << letters[0].problem;
    }
}

TEST(Inbox, HalfWrittenFilesAreLeftAlone) {
    Scratch scratch;
    std::filesystem::create_directories(scratch / "inbox");
    write(scratch / "inbox" / "0001-1.json.tmp", "{");
    write(scratch / "inbox" / "0001-2.done.json", "{}");
    EXPECT_TRUE(Inbox(scratch / ".").take().empty());
    EXPECT_EQ(files_in(scratch / "inbox").size(), 2U);
}

}  // namespace inbox_test
}  // namespace hopscotch
