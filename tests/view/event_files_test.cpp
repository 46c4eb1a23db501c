// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files: their bytes, and what they say of the trials of a run.
#include "view/event_files.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/log.hpp"
#include "experiment/config.hpp"
#include "rundir/records.hpp"
#include "view/event_record.hpp"
#include "view/trial_events.hpp"

namespace hopscotch {
namespace event_files_test {

using namespace testing;

std::string hex(std::string_view bytes) {
    std::string out;
    for (char const c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return out;
}

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
    T out;
    std::memcpy(&out, bytes.substr(at, sizeof out).data(), sizeof out);
    return out;
}

// The messages of a file. Both checksums of each must be right, and nothing may follow the last one.
std::vector<std::string> messages_of(std::string_view file) {
    auto const masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; };
    std::vector<std::string> out;
    while (!file.empty()) {
        auto const length = number_at<std::uint64_t>(file, 0);
        EXPECT_LE(length + 16, file.size());
        if (length + 16 > file.size()) return out;
        EXPECT_EQ(number_at<std::uint32_t>(file, 8), masked(crc32c(file.substr(0, 8))));
        EXPECT_EQ(number_at<std::uint32_t>(file, 12 + length), masked(crc32c(file.substr(12, length))));
        out.emplace_back(file.substr(12, length));
        file.remove_prefix(length + 16);
    }
    return out;
}

std::size_t with(std::vector<std::string> const& messages, std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(messages, [&](auto const& each) { return each.find(text) != each.npos; }));
}

TEST(EventRecordTest, CrcHasThePublishedCheckValue) { EXPECT_EQ(crc32c("123456789"), 0xe3069283U); }

// Vectors that protoc --decode_raw reads.
TEST(EventRecordTest, HeaderAndScalarHaveTheirKnownBytes) {
    auto const header = hex(first_events(1.7e9)).substr(0, 2 * 40);
    EXPECT_EQ(header, "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
    std::vector<EventScalar> const loss{{"loss/val", 0.25}};
    EXPECT_EQ(hex(scalars_event(1.7e9, 3, loss)),
              "1e00000000000000d9dc12320900000040fc54d94110032a110a0f0a086c6f73732f76616c150000803eb0f092f4");
}

TEST(EventRecordTest, ParametersKeepTheirTypes) {
    Assignment const assignment{
        {"lr", 0.5}, {"nesterov", true}, {"name", "sgd"}, {"hidden", Json(Json::Array{32, 16})}, {"layers", 3}};
    auto const start = messages_of(trial_start_event(1.7e9, assignment, "lr=0.5"));
    ASSERT_EQ(start.size(), 1u);
    auto const bytes = hex(start.front());
    EXPECT_NE(bytes.find("0a026c721209"
                         "11000000000000e03f"),
              bytes.npos)
        << "lr: a number";
    EXPECT_NE(bytes.find("0a086e65737465726f7612022001"), bytes.npos) << "nesterov: true or false";
    EXPECT_NE(bytes.find("0a046e616d6512051a03736764"), bytes.npos) << "name: a text";
    EXPECT_NE(bytes.find("12091a075b33322c31365d"), bytes.npos) << "hidden: a text, [32,16]";
    EXPECT_NE(bytes.find("0a066c6179657273120911"
                         "0000000000000840"),
              bytes.npos)
        << "layers: a number";
    EXPECT_NE(bytes.find("22066c723d302e35"), bytes.npos) << "its group";
}

TrialView view(int id, TrialStatus status) {
    TrialView out;
    out.id = TrialId(id);
    out.assignment = {{"train.optimizer.lr", 0.1}};
    out.status = status;
    return out;
}

class TrialEventsTest : public ::testing::Test {
protected:
    void lap(TrialEvents& events, int trial, int epoch) {
        auto record = lap_record(trial, epoch, 6);
        record.units = {unit(0, 0, epoch, 1)};
        events.lap_done(record, metrics_of(record, LossKind::cross_entropy), view(trial, TrialStatus::running).assignment);
    }

    std::map<std::string, std::vector<std::string>> files() const {
        std::map<std::string, std::vector<std::string>> out;
        for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_))
            if (entry.is_regular_file()) out[entry.path().parent_path().filename()] = messages_of(slurp(entry.path()));
        return out;
    }

    Scratch scratch_;
    std::filesystem::path folder_ = scratch_ / "tb";
    FileIdentity journal_ = AppendFile(scratch_ / "journal.jsonl").identity();
    Experiment experiment_;
};

TEST_F(TrialEventsTest, ATrialHasOneFileWithItsPointsParametersAndEnd) {
    TrialEvents events(folder_, experiment_, journal_);
    lap(events, 0, 0);
    lap(events, 7, 0);
    events.write_soon();
    lap(events, 0, 1);
    events.trial_ended(view(0, TrialStatus::finished));
    events.finish({view(0, TrialStatus::finished), view(7, TrialStatus::interrupted), view(8, TrialStatus::interrupted)});
    auto const all = files();
    ASSERT_EQ(all.size(), 2u) << "trial 8 never began";
    auto const& ended = all.at("trial-0");
    EXPECT_EQ(ended.size(), 6u) << "version, start of the file, parameters, two epochs, end";
    EXPECT_EQ(with(ended, "val_accuracy"), 2u);
    EXPECT_EQ(with(ended, "val_mae"), 0u) << "the loss has no such metric";
    EXPECT_EQ(with(ended, "session_start_info"), 1u);
    EXPECT_EQ(with(ended, "session_end_info"), 1u);
    EXPECT_EQ(with(all.at("trial-7"), "session_end_info"), 0u) << "an interrupted trial goes on with --resume";
}

// An order may resume a stopped trial, and the first end is the one that counts.
TEST_F(TrialEventsTest, AStoppedTrialEndsWithTheRun) {
    TrialEvents events(folder_, experiment_, journal_);
    lap(events, 0, 0);
    events.trial_ended(view(0, TrialStatus::stopped));
    lap(events, 0, 1);
    events.trial_ended(view(0, TrialStatus::diverged));
    events.finish({view(0, TrialStatus::diverged)});
    auto const file = files().at("trial-0");
    ASSERT_EQ(with(file, "session_end_info"), 1u);
    EXPECT_NE(hex(file.back()).find("220b0802"), std::string::npos) << "failure: " << hex(file.back());
}

TEST_F(TrialEventsTest, ASearchThatClonesTellsTheLastValues) {
    experiment_.search.procedure = "pbt";
    TrialEvents events(folder_, experiment_, journal_);
    lap(events, 0, 0);
    auto last = view(0, TrialStatus::interrupted);
    last.assignment = {{"train.optimizer.lr", "taken over"}};
    events.finish({last});
    auto const file = files().at("trial-0");
    EXPECT_EQ(with(file, "session_start_info"), 1u);
    EXPECT_EQ(with(file, "taken over"), 1u);
}

std::string sized(std::string const& text) { return std::string(1, static_cast<char>(text.size())) + text; }
std::string text(std::string const& value) { return "\x1a" + sized(value); }
std::string parameter(std::string const& key, std::string const& value) {
    return "\x0a" + sized(key) + "\x12" + sized(value);
}

// TensorBoard's filter of a key is of one type, and hides the trials that have another.
TEST_F(TrialEventsTest, AKeyHasOneTypeInAllTrials) {
    Problems problems("");
    experiment_.space = parse_json(R"({"train.clip_norm": [null, 1.0], "model.hidden": [16, [16, 8]], "model.a": [true, 2],
        "train.optimizer.nesterov": [true, false], "train.optimizer.name": ["sgd", 0], "train.optimizer.lr": [1, 0.5]})",
                                   problems);
    TrialEvents events(folder_, experiment_, journal_);
    auto one = view(0, TrialStatus::finished), two = view(1, TrialStatus::finished), clone = view(2, TrialStatus::finished);
    one.assignment = {{"train.clip_norm", Json()},
                      {"model.hidden", 16},
                      {"model.a", true},
                      {"train.optimizer.nesterov", true},
                      {"train.optimizer.name", Json("sgd")},
                      {"train.optimizer.lr", 1}};
    two.assignment = {{"train.clip_norm", 1.0},
                      {"model.hidden", Json(Json::Array{16, 8})},
                      {"model.a", 2},
                      {"train.optimizer.nesterov", false},
                      {"train.optimizer.name", Json(0)},
                      {"train.optimizer.lr", 0.5}};
    clone.assignment = {{"train.optimizer.lr", Json()}, {"train.ema", Json()}};
    for (auto const* trial : {&one, &two, &clone}) events.trial_ended(*trial);
    events.finish({});
    auto const all = files();
    auto const says = [&](int trial, std::string const& key, std::string const& value) {
        return with(all.at(fmt::format("trial-{}", trial)), parameter(key, value)) == 1;
    };
    EXPECT_TRUE(says(0, "train.clip_norm", text("null")));
    EXPECT_TRUE(says(1, "train.clip_norm", text("1.0")));
    EXPECT_TRUE(says(0, "model.hidden", text("16")));
    EXPECT_TRUE(says(1, "model.hidden", text("[16,8]")));
    EXPECT_TRUE(says(0, "model.a", text("true")));
    EXPECT_TRUE(says(1, "model.a", text("2")));
    EXPECT_TRUE(says(0, "train.optimizer.name", text("sgd")));
    EXPECT_TRUE(says(1, "train.optimizer.name", text("0")));
    EXPECT_TRUE(says(0, "train.optimizer.nesterov", "\x20\x01"));
    EXPECT_EQ(with(all.at("trial-2"), "train.optimizer.lr"), 0U) << "a clone's value of another type: left out";
    EXPECT_TRUE(says(2, "train.ema", text("null")));
}

TEST_F(TrialEventsTest, TheNextJobBeginsAnew) {
    {
        TrialEvents before(folder_, experiment_, journal_);
        lap(before, 0, 0);
        lap(before, 1, 0);
        before.finish({});
    }
    EXPECT_EQ(files().size(), 2u);
    TrialEvents events(folder_, experiment_, journal_);
    lap(events, 0, 0);
    lap(events, 0, 1);
    events.finish({});
    auto const all = files();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(with(all.at("trial-0"), "train_loss"), 2u);
}

TEST_F(TrialEventsTest, AJobThatAnotherHasReplacedWritesNothing) {
    {
        TrialEvents events(folder_, experiment_, FileIdentity());
        lap(events, 0, 0);
        events.finish({view(0, TrialStatus::finished)});
    }
    EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(TrialEventsTest, WhoeverLeavesWritesNothing) {
    {
        TrialEvents events(folder_, experiment_, journal_);
        lap(events, 0, 0);
    }
    EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(TrialEventsTest, WhatCannotBeWrittenIsTriedAgain) {
    EventFiles files_of_run(folder_ / "in/a/file", 1.7e9, journal_);
    write(folder_ / "in/a", "no directory");
    files_of_run.add(TrialId(3), "first ");
    files_of_run.write_soon();
    auto const is_told = [](std::string const& warning) { return warning.find("TensorBoard") != warning.npos; };
    while (std::ranges::none_of(last_warnings(1), is_told)) std::this_thread::yield();
    std::filesystem::remove(folder_ / "in/a");
    files_of_run.add(TrialId(3), "second");
    files_of_run.finish();
    auto const bytes = slurp(folder_ / "in/a/file/trial-3/events.out.tfevents.1700000000.hopscotch");
    EXPECT_EQ(bytes, first_events(1.7e9) + "first second");
}

// Faults are read once in a process, so a process of its own reads this one.
TEST_F(TrialEventsTest, WhatCannotBeWrittenAtTheEndIsTriedOnceMore) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            ::setenv("HOPSCOTCH_FAULT", "events.append:2:enospc", 1);
            EventFiles files_of_run(folder_, 1.7e9, journal_);
            for (int trial = 0; trial < 4; ++trial) files_of_run.add(TrialId(trial), "point");
            files_of_run.finish();
            std::filesystem::directory_iterator const begin(folder_);
            std::exit(static_cast<int>(std::distance(begin, std::filesystem::directory_iterator())));
        },
        ::testing::ExitedWithCode(4), "TensorBoard's files are not complete");
}

TEST_F(TrialEventsTest, ThousandsOfTrialsNeedFewOpenFiles) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit const few{64, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    EventFiles many(folder_, 1.7e9, journal_);
    for (int trial = 0; trial < 500; ++trial) many.add(TrialId(trial), "point");
    many.finish();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    auto const begin = std::filesystem::directory_iterator(folder_);
    EXPECT_EQ(std::distance(begin, std::filesystem::directory_iterator()), 500);
}

}  // namespace event_files_test
}  // namespace hopscotch
