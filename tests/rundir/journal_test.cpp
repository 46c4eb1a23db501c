// SPDX-License-Identifier: Apache-2.0
#include "rundir/journal.hpp"
#include "rundir/journal_writer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/journal_codec.hpp"
#include "rundir/records.hpp"
#include "rundir/server_log.hpp"
#include "rundir/unit_file.hpp"

namespace hopscotch {
namespace journal_test {

using namespace testing;

Lap some_lap(int trial, int epoch) {
    Lap lap;
    lap.trial = TrialId(trial);
    lap.epoch = epoch;
    lap.release = 3;
    lap.remaining_cost = 1.0 / 3;
    lap.assignment = {{"train.optimizer.lr", 0.1}, {"model.hidden", Json::Array{16, 8}}};
    return lap;
}

// Two laps released, one done, one line each.
std::filesystem::path written(Scratch const& scratch) {
    auto const path = scratch / "journal.jsonl";
    JournalWriter writer(path);
    writer.lap_released(some_lap(0, 0));
    writer.lap_released(some_lap(1, 0));
    writer.lap_done(first_trial());
    return path;
}

std::string message_of(std::filesystem::path const& path) {
    try {
        read_journal(path);
    } catch (DataError const& error) {
        return error.what();
    }
    return {};
}

TEST(Journal, ALapKeepsItsRoute) {
    Scratch scratch;
    auto with = some_lap(3, 0);
    with.route = {ShardId(2), Direction::backward};
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(some_lap(0, 0));
        writer.lap_released(with);
    }
    EXPECT_EQ(slurp(scratch / "j").find("first_shard"), slurp(scratch / "j").rfind("first_shard"));
    auto const released = read_journal(scratch / "j").released;
    ASSERT_EQ(released.size(), 2U);
    EXPECT_EQ(released[0].route, Route{});
    EXPECT_EQ(released[1].route, with.route);
}

TEST(Journal, OrdersWaitUntilTheyComeWithALap) {
    Scratch scratch;
    Order const stop{Order::Kind::stop, TrialId(1), -1, {}, "stopped by a user"};
    Order const clone{Order::Kind::clone, TrialId(0), 2, {{"train.optimizer.lr", 0.5}}, "cloned by a user"};
    Order const finish{Order::Kind::finish, {}, -1, {}, "budget.hours 2 are used up"};
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(some_lap(0, 4));
        writer.ordered(stop);
        writer.ordered(clone);
        auto record = first_trial();
        record.outcome = Outcome::failed;
        record.cause = Cause::surroundings;
        writer.retried(record);
        writer.retried(record);
        record.orders = {stop, clone};
        writer.lap_done(record);
        writer.ordered(finish);
        writer.run_resumed(2, 1);
    }
    auto const journal = read_journal(scratch / "j");
    ASSERT_EQ(journal.laps.size(), 1U);
    EXPECT_EQ(journal.laps[0].cause, Cause::surroundings);
    auto const& came = journal.laps[0].orders;
    ASSERT_EQ(came.size(), 2U);
    EXPECT_EQ(came[0].trial, TrialId(1));
    EXPECT_EQ(came[1].kind, Order::Kind::clone);
    EXPECT_EQ(came[1].epoch, 2);
    EXPECT_EQ(came[1].assignment, clone.assignment);
    EXPECT_EQ(came[1].why, "cloned by a user");
    ASSERT_EQ(journal.orders.size(), 1U);
    EXPECT_EQ(journal.orders[0].kind, Order::Kind::finish);
    EXPECT_EQ(journal.retries, (std::map<TrialId, int>{{first_trial().trial, 2}}));
    EXPECT_GE(journal.jobs.seconds, 0);
}

TEST(Journal, SecondsAreThoseOfAllJobsWithoutTheTimeBetween) {
    Scratch scratch;
    auto const line = [](char const* event, double at) {
        return fmt::format(R"({{"event": "{}", "unix_s": {}, "incarnation": 2, "status": "x", "trial": 0}})", event, at) +
               "\n";
    };
    write(scratch / "j", line("retry", 100) + line("retry", 130) + line("run_resumed", 5000) + line("retry", 5007));
    auto const journal = read_journal(scratch / "j");
    EXPECT_EQ(journal.jobs.seconds, 37);
    EXPECT_EQ(journal.jobs.last_unix_s, 5007);
}

Journal of_one_lap(std::filesystem::path const& path) {
    auto record = first_trial();
    record.units[0].loss_sum = 0.1 + 0.2;
    record.units[1].seconds = std::nextafter(1.0, 2.0);
    record.units[1].start_unix_s = 1763700000.1234567;
    record.valid.f1 = 0.1;
    record.valid.auc = 1.0 / 3;
    record.valid.r2 = -1e-9;
    TrialView trial;
    trial.id = TrialId(0);
    trial.status = TrialStatus::diverged;
    trial.reason = "loss \"inf\"\nat unit 3";
    trial.epochs_done = 5;
    {
        JournalWriter writer(path);
        writer.lap_released(some_lap(0, 4));
        writer.lap_done(record);
        writer.trial_ended(trial);
        writer.run_ended("interrupted", "SIGTERM");
    }
    return read_journal(path);
}

TEST(Journal, ComesBackBitForBit) {
    Scratch scratch;
    auto const journal = of_one_lap(scratch / "j");
    ASSERT_EQ(journal.released.size(), 1u);
    EXPECT_EQ(journal.released[0].epoch, 4);
    EXPECT_EQ(journal.released[0].release, 3);
    EXPECT_EQ(journal.released[0].remaining_cost, 1.0 / 3);
    EXPECT_EQ(journal.assignments.at(TrialId(0)), some_lap(0, 0).assignment);
    ASSERT_EQ(journal.laps.size(), 1u);
    EXPECT_TRUE(journal.laps[0].units.empty());
    auto const lap = UnitReader(scratch.path()).with_units(journal.laps[0]);
    EXPECT_EQ(lap.state.hash, 0x8000000000000001ULL);
    ASSERT_EQ(lap.units.size(), 2u);
    EXPECT_EQ(lap.units[0].state_hash, 0xfedcba9876543210ULL);
    EXPECT_EQ(lap.units[0].loss_sum, 0.1 + 0.2);
    EXPECT_EQ(lap.units[0].wait_s, -1);
    EXPECT_EQ(lap.units[1].seconds, std::nextafter(1.0, 2.0));
    EXPECT_EQ(lap.units[1].start_unix_s, 1763700000.1234567);
    EXPECT_EQ(lap.valid.rows, 8);
    EXPECT_EQ(lap.valid.f1, 0.1);
    EXPECT_EQ(lap.valid.auc, 1.0 / 3);
    EXPECT_TRUE(std::isnan(lap.valid.mae));
    EXPECT_EQ(lap.valid.r2, -1e-9);
    EXPECT_EQ(lap.valid.seconds, 1);
    EXPECT_EQ(lap.hops.bytes, 128);
    ASSERT_EQ(journal.ended.size(), 1u);
    EXPECT_EQ(journal.ended[0].status, "diverged");
    EXPECT_EQ(journal.ended[0].reason, "loss \"inf\"\nat unit 3");
    EXPECT_EQ(journal.end.status, "interrupted");
}

TEST(Journal, WhatTrainersWaitedForEachOtherComesBack) {
    Scratch scratch;
    {
        JournalWriter writer(scratch / "j");
        for (int trial : {0, 1}) writer.lap_released(some_lap(trial, 0));
        writer.lap_done(exchanging(first_trial()));
        writer.lap_done(second_trial());
    }
    auto const text = slurp(scratch / "j");
    for (auto const* key : {"exposed_s", "sync_rounds", "staleness"}) {
        EXPECT_NE(text.find(key), text.npos) << key;
        EXPECT_EQ(text.find(key), text.rfind(key)) << key << " of a lap that has none";
    }
    auto const journal = read_journal(scratch / "j");
    ASSERT_EQ(journal.laps.size(), 2u);
    EXPECT_EQ(journal.laps[0].sync.exposed_s, exchanging({}).sync.exposed_s);
    EXPECT_EQ(journal.laps[0].sync.rounds, 7);
    EXPECT_EQ(journal.laps[0].sync.staleness, exchanging({}).sync.staleness);
    EXPECT_TRUE(journal.laps[1].sync.exposed_s.empty());
    EXPECT_EQ(journal.laps[1].sync.rounds, 0);
}

// Each lap's hashes prove with which state it began.
TEST(Journal, HashesComeBack) {
    Scratch scratch;
    LapRecord record;
    record.trial = TrialId(0);
    record.home = TrainerId(0);
    record.state.begin_hash = 0xb;
    record.state.end_hash = 0xe;
    auto old = record;
    old.epoch = 1;
    old.state.begin_hash = old.state.end_hash = 0;
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(some_lap(0, 0));
        writer.lap_done(record);
        writer.lap_done(old);
        Checkpoint about;
        about.record.trial = TrialId(0);
        about.place = {1, 2, 3};
        writer.checkpoint({TrialId(0), 1, 2, 3, checkpoint_name(about, 1), true, 0xf, 0xe});
        writer.checkpoint({TrialId(0), 1, 2, 3, checkpoint_name(about, 2)});
    }
    auto const journal = read_journal(scratch / "j");
    EXPECT_EQ(std::pair(journal.laps[0].state.begin_hash, journal.laps[0].state.end_hash),
              std::pair(std::uint64_t{0xb}, std::uint64_t{0xe}));
    EXPECT_EQ(std::pair(journal.laps[1].state.begin_hash, journal.laps[1].state.end_hash),
              std::pair(std::uint64_t{0}, std::uint64_t{0}));
    EXPECT_EQ(std::pair(journal.saved[0].state_hash, journal.saved[0].begin_hash),
              std::pair(std::uint64_t{0xf}, std::uint64_t{0xe}));
    EXPECT_EQ(journal.saved[1].state_hash, 0U);
}

// Trial 0 was stopped while laps 1 and 2 were under way, and was taken up from lap 1 on.
TEST(Journal, LapsThatCountComeInTheirOrder) {
    Journal journal;
    auto const add = [&](int epoch, std::uint64_t begin, std::uint64_t end, int attempt) {
        LapRecord record;
        record.trial = TrialId(0);
        record.epoch = epoch;
        record.attempt = attempt;
        record.state.begin_hash = begin;
        record.state.end_hash = end;
        journal.laps.push_back(record);
    };
    auto const counting = [&] {
        std::string out;
        for (auto const* each : laps_that_count(journal)) out += fmt::format("{}/{} ", each->epoch, each->attempt);
        return out;
    };
    add(0, 0, 0xa, 1);
    add(1, 0xa, 0xb, 1);
    add(2, 0xb, 0xc, 1);
    add(1, 0xa, 0xb, 2);
    EXPECT_EQ(counting(), "0/1 1/2 2/1 ");
    add(1, 0xa, 0xd, 3);
    EXPECT_EQ(counting(), "0/1 1/3 ") << "lap 2 began with what lap 1 did not end with in the end";
}

// A job that goes on admits as many trials as there were at a time, and not as many as there ever were.
TEST(Journal, TrialsThatWereAliveTogether) {
    Scratch scratch;
    {
        JournalWriter writer(scratch / "j");
        for (int trial = 0; trial < 10; ++trial) {
            writer.lap_released(some_lap(trial, 0));
            if (trial == 0) continue;
            TrialView view;
            view.id = TrialId(trial - 1);
            view.status = TrialStatus::finished;
            writer.trial_ended(view);
        }
        TrialView interrupted;
        interrupted.id = TrialId(9);
        interrupted.status = TrialStatus::interrupted;
        writer.trial_ended(interrupted);
        writer.run_resumed(2, 1);
        writer.lap_released(some_lap(10, 0));
    }
    auto const journal = read_journal(scratch / "j");
    EXPECT_EQ(journal.most_alive, 2U);
    EXPECT_EQ(journal.alive, (std::set{TrialId(9), TrialId(10)}));
}

// What was finished then stays so when the run goes on with more trials.
TEST(Journal, TrialsThatTheRunHadWhenItFinished) {
    Scratch scratch;
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(some_lap(0, 0));
        writer.run_ended("interrupted", "");
        writer.lap_released(some_lap(1, 0));
        writer.lap_released(some_lap(1, 1));
        writer.run_ended("finished", "");
        writer.run_resumed(2, 1);
        writer.lap_released(some_lap(2, 0));
        writer.run_ended("interrupted", "");
    }
    EXPECT_EQ(read_journal(scratch / "j").end.trials, 2U);
}

TEST(Journal, DecisionsAndClonesComeBack) {
    Scratch scratch;
    Decision clone;
    clone.kind = Decision::Kind::clone;
    clone.trial = TrialId(4);
    clone.epoch = 5;
    clone.until_epoch = 8;
    clone.source = {TrialId(2), 3};
    clone.why = "rank 5 of 6: from trial 2";
    clone.virtual_time = 1.0 / 3;
    auto lap = some_lap(4, 6);
    lap.clone_of = clone.source;
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(lap);
        writer.lap_released(some_lap(0, 0));
        writer.decided({Decision::Kind::start, TrialId(0), -1, 3, {}, "", 0});
        writer.decided(clone);
    }
    auto const journal = read_journal(scratch / "j");
    EXPECT_EQ(journal.released[0].clone_of, clone.source);
    EXPECT_EQ(journal.released[1].clone_of, std::nullopt);
    ASSERT_EQ(journal.decisions.size(), 2U);
    EXPECT_EQ(journal.decisions[0].epoch, -1);
    auto const& back = journal.decisions[1];
    EXPECT_EQ(back.kind, clone.kind);
    EXPECT_EQ(std::tuple(back.trial, back.epoch, back.until_epoch, back.source, back.why, back.virtual_time),
              std::tuple(clone.trial, clone.epoch, clone.until_epoch, clone.source, clone.why, clone.virtual_time));
    write(scratch / "bad", R"({"event": "decision", "kind": "guess"})"
                           "\n");
    EXPECT_NE(message_of(scratch / "bad").find("'guess', which is not a decision"), std::string::npos)
        << message_of(scratch / "bad");
}

TEST(Journal, OfAnOlderVersionHasNoScores) {
    Scratch scratch;
    auto text = slurp(written(scratch));
    for (std::string const key : {"f1", "auc", "mae", "r2"}) {
        auto const member = "\"" + key + "\":null,";
        auto const at = text.find(member);
        ASSERT_NE(at, text.npos) << key;
        text.erase(at, member.size());
    }
    write(scratch / "old", text);
    auto const journal = read_journal(scratch / "old");
    ASSERT_EQ(journal.laps.size(), 1u);
    EXPECT_EQ(journal.laps[0].valid.top5, 8);
    EXPECT_TRUE(std::isnan(journal.laps[0].valid.f1));
    EXPECT_TRUE(std::isnan(journal.laps[0].valid.r2));
}

TEST(Journal, AppearsAtOnce) {
    Scratch scratch;
    JournalWriter writer(scratch / "j");
    writer.lap_released(some_lap(0, 0));
    EXPECT_EQ(read_journal(scratch / "j").released.size(), 1u);
}

TEST(Journal, NotFiniteIsNullAndComesBackAsNaN) {
    Scratch scratch;
    auto record = first_trial();
    record.outcome = Outcome::diverged;
    record.units[1].loss_sum = std::numeric_limits<double>::infinity();
    record.valid.loss = std::numeric_limits<double>::quiet_NaN();
    JournalWriter(scratch / "j").lap_released(some_lap(0, 0));
    JournalWriter(scratch / "j").lap_done(record);
    auto const text = slurp(scratch / "j");
    EXPECT_EQ(text.find("nan"), text.npos) << text;
    EXPECT_EQ(text.find("inf"), text.npos) << text;
    auto const journal = read_journal(scratch / "j");
    EXPECT_EQ(journal.laps.at(0).outcome, Outcome::diverged);
    EXPECT_TRUE(std::isnan(totals_of(journal.laps.at(0)).loss_sum));
    EXPECT_TRUE(std::isnan(journal.laps.at(0).valid.loss));
}

// What is left in memory of a lap must not grow with its units.
TEST(Journal, KnowsTheSumsOfUnitsThatItHasNotRead) {
    Scratch scratch;
    auto const record = first_trial();
    JournalWriter(scratch / "j").lap_released(some_lap(0, 0));
    JournalWriter(scratch / "j").lap_done(record);
    auto const lap = read_journal(scratch / "j").laps.at(0);
    auto const wanted = totals_of(record), found = totals_of(lap);
    EXPECT_EQ(lap.units.capacity(), 0U);
    EXPECT_EQ(found.count, wanted.count);
    EXPECT_EQ(found.rows, wanted.rows);
    EXPECT_EQ(found.loss_sum, wanted.loss_sum);
    EXPECT_EQ(found.seconds, wanted.seconds);
    EXPECT_EQ(found.end_unix_s, wanted.end_unix_s);
    EXPECT_EQ(found.cpu_s, 1);
    EXPECT_EQ(found.cpu_of_s, 2);
}

// A lap of which nothing was measured, and a journal of an earlier version.
TEST(Journal, WithoutCpuSecondsTheirShareIsNotKnown) {
    Scratch scratch;
    JournalWriter(scratch / "j").lap_released(some_lap(1, 0));
    JournalWriter(scratch / "j").lap_done(second_trial());
    EXPECT_EQ(slurp(scratch / "j").find("cpu"), std::string::npos);
    EXPECT_EQ(totals_of(read_journal(scratch / "j").laps.at(0)).cpu_of_s, 0);
}

TEST(Journal, KeepsTheGpuUseOfUnitsWhereItWasMeasured) {
    Scratch scratch;
    auto record = first_trial();
    JournalWriter(scratch / "cpu").lap_done(record);
    EXPECT_EQ(slurp(scratch / "cpu").find("gpu"), std::string::npos);
    EXPECT_EQ(slurp(scratch / "units-1.bin").substr(0, 8), "HOPUNIT2");
    record.units[1].gpu_use = 0.75;
    JournalWriter(scratch / "j").lap_released(some_lap(0, 0));
    JournalWriter(scratch / "j").lap_done(record);
    EXPECT_EQ(slurp(scratch / "units-1.bin").substr(0, 8), "HOPUNIT3");
    EXPECT_EQ(std::filesystem::file_size(scratch / "units-1.bin"), 24U + 2 * 72 + 8);
    auto const lap = read_journal(scratch / "j").laps.at(0);
    EXPECT_EQ(totals_of(lap).gpu_s, 0.75 * record.units[1].seconds);
    EXPECT_EQ(totals_of(lap).gpu_of_s, record.units[1].seconds);
    auto const checkpoint = lap_record_from_json(parse_json_or_throw(to_json(record).dump(), "a checkpoint"));
    for (auto const& units : {UnitReader(scratch.path()).units_of(lap), checkpoint.units}) {
        ASSERT_EQ(units.size(), 2U);
        EXPECT_EQ(units[0].gpu_use, -1);
        EXPECT_EQ(units[1].gpu_use, 0.75);
        EXPECT_EQ(units[0].cpu_s, 1);
        EXPECT_EQ(units[1].state_hash, record.units[1].state_hash);
    }
}

TEST(Journal, KeepsTheMetricsOfThePlugIn) {
    auto record = first_trial();
    EXPECT_EQ(to_json(record).at("validation").find("own"), nullptr);
    record.valid.own = {{"val_cost", 2.5}, {"val_gain", std::numeric_limits<double>::quiet_NaN()}};
    auto const own = lap_record_from_json(parse_json_or_throw(to_json(record).dump(), "a line")).valid.own;
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(own[0].name, "val_cost");
    EXPECT_EQ(own[0].value, 2.5);
    EXPECT_EQ(own[1].name, "val_gain");
    EXPECT_TRUE(std::isnan(own[1].value));
}

TEST(Journal, CheckpointsKeepTheCpuSecondsOfUnits) {
    auto const units = lap_record_from_json(to_json(first_trial())).units;
    ASSERT_EQ(units.size(), 2U);
    EXPECT_EQ(units[0].cpu_s, 1);
    EXPECT_EQ(units[1].cpu_s, -1);
}

// A line is as long with a thousand units as with two.
TEST(Journal, ALineDoesNotGrowWithTheUnits) {
    Scratch scratch;
    auto record = first_trial();
    auto const bytes_of_line = [&](char const* name) {
        JournalWriter(scratch / name).lap_done(record);
        return std::filesystem::file_size(scratch / name);
    };
    auto const few = bytes_of_line("few");
    record.units.resize(1000, record.units.back());
    EXPECT_LT(bytes_of_line("many"), few + 20);
}

TEST(Units, OfEveryJobComeBack) {
    Scratch scratch;
    auto record = first_trial();
    {
        JournalWriter writer(scratch / "j");
        writer.lap_released(some_lap(0, 0));
        writer.lap_done(record);
        writer.lap_done(record);
        writer.run_resumed(2, 3);
        record.units.pop_back();
        writer.lap_done(record);
    }
    auto const journal = read_journal(scratch / "j");
    UnitReader units(scratch.path());
    ASSERT_EQ(journal.laps.size(), 3U);
    for (std::size_t const i : {2U, 0U, 1U}) {
        auto const found = units.units_of(journal.laps[i]);
        ASSERT_EQ(found.size(), i == 2 ? 1U : 2U);
        EXPECT_EQ(found.front().cpu_s, 1);
        EXPECT_EQ(found.back().state_hash, (i == 2 ? record : first_trial()).units.back().state_hash);
    }
    EXPECT_TRUE(std::filesystem::exists(scratch / "units-1.bin") && std::filesystem::exists(scratch / "units-2.bin"));
}

// A block as version 0.1 wrote it: 56 bytes a unit, without CPU seconds.
TEST(Units, OfEarlierVersionsAreRead) {
    Scratch scratch;
    auto record = first_trial();
    JournalWriter(scratch / "j").lap_released(some_lap(0, 0));
    JournalWriter(scratch / "j").lap_done(record);
    auto const lap = read_journal(scratch / "j").laps.at(0);
    auto const now = slurp(scratch / "units-1.bin");
    auto block = "HOPUNIT1" + now.substr(8, 16) + now.substr(24, 56) + now.substr(24 + 64, 56);
    auto const hash = xxh3(std::as_bytes(std::span(block)));
    block.append(reinterpret_cast<char const*>(&hash), sizeof hash);
    write(scratch / "units-1.bin", block);
    auto const units = UnitReader(scratch.path()).units_of(lap);
    ASSERT_EQ(units.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(units[i].state_hash, record.units[i].state_hash);
        EXPECT_EQ(units[i].wait_s, record.units[i].wait_s);
        EXPECT_EQ(units[i].cpu_s, -1);
    }
}

// Cut short, or with any byte of it flipped: the error names the file and the lap.
TEST(Units, ThatAreDamagedAreRefused) {
    Scratch scratch;
    JournalWriter(scratch / "j").lap_released(some_lap(0, 0));
    JournalWriter(scratch / "j").lap_done(first_trial());
    auto const lap = read_journal(scratch / "j").laps.at(0);
    auto const path = scratch / "units-1.bin";
    auto const whole = slurp(path);
    auto const complaint = [&](std::string const& content) -> std::string {
        write(path, content);
        try {
            UnitReader(scratch.path()).units_of(lap);
        } catch (DataError const& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_EQ(complaint(whole), "");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        EXPECT_NE(complaint(changed).find("the units of trial 0, epoch 0 cannot be read"), std::string::npos) << at;
        EXPECT_NE(complaint(whole.substr(0, at)).find("the units of trial 0, epoch 0 cannot be read"), std::string::npos);
    }
}

// What a journal says of its units takes no memory that the file does not back.
TEST(Units, FilesThatAreNoneAndNumbersThatLieAreRefused) {
    Scratch scratch;
    auto lap = first_trial();
    lap.units.clear();
    lap.stored.at = {7, 0};
    auto const complaint = [&] {
        try {
            UnitReader(scratch.path()).units_of(lap);
        } catch (DataError const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    auto const path = scratch / "units-7.bin";
    for (std::string const other : {"/dev/zero", "/tmp"}) {
        std::filesystem::create_symlink(other, path);
        EXPECT_NE(complaint().find("(it is not a file)"), std::string::npos) << complaint();
        std::filesystem::remove(path);
    }
    write(path, "HOPUNIT1");
    lap.stored.totals.count = 2'000'000'000;
    EXPECT_NE(complaint().find("(the file is too short)"), std::string::npos) << complaint();
    lap.stored.at.offset = std::numeric_limits<std::int64_t>::max();
    EXPECT_NE(complaint().find("(the file is too short)"), std::string::npos) << complaint();
}

// Cut anywhere inside the last line, the lines before it survive and the tail is dropped.
TEST(Journal, TornTailIsDropped) {
    Scratch scratch;
    auto const text = slurp(written(scratch));
    auto const last = text.rfind('\n', text.size() - 2) + 1;
    for (auto cut = last; cut < text.size(); ++cut) {
        write(scratch / "torn", text.substr(0, cut));
        auto const journal = read_journal(scratch / "torn");
        ASSERT_EQ(journal.released.size(), 2u) << cut;
        ASSERT_TRUE(journal.laps.empty()) << cut;
        ASSERT_EQ(journal.complete_bytes, last) << cut;
    }
    EXPECT_EQ(read_journal(scratch / "journal.jsonl").complete_bytes, text.size());
}

TEST(Journal, EveryOtherBadLineIsNamed) {
    Scratch scratch;
    auto const good = slurp(written(scratch));
    auto const path = scratch / "bad";
    auto const starts_with_line_4 = [&](std::string const& message) { return message.starts_with(path.string() + ":4: "); };
    for (std::string const bad :
         {"{\"event\": \"lap_do", "garbage", "{}", "[]", "", "{\"event\": \"lap_done\", \"trial\": 1}",
          "{\"event\": \"lap_lost\"}", "{\"event\": 7}"}) {
        write(path, good + bad + "\n" + good);
        EXPECT_TRUE(starts_with_line_4(message_of(path))) << bad << " -> " << message_of(path);
    }
    auto flipped = good;
    flipped.replace(flipped.find("\"state_hash\":\"") + 14, 1, "z");
    write(path, flipped);
    EXPECT_TRUE(message_of(path).starts_with(path.string() + ":3: ")) << message_of(path);
    EXPECT_NE(message_of(scratch / "absent").find("absent: cannot be read"), std::string::npos);
}

// By these numbers other things are indexed, and memory is taken.
TEST(Journal, NumbersThatCannotBeAreRefused) {
    Scratch scratch;
    auto const good = slurp(written(scratch));
    for (auto const& [from, to] :
         std::initializer_list<std::pair<std::string, std::string>>{{"\"trial\":0", "\"trial\":-1"},
                                                                    {"\"trial\":0", "\"trial\":4294967296"},
                                                                    {"\"epoch\":0", "\"epoch\":-7"},
                                                                    {"\"job\":1", "\"job\":0"},
                                                                    {"\"offset\":0", "\"offset\":-1"},
                                                                    {"\"count\":2", "\"count\":2147483648"},
                                                                    {"\"home\":0", "\"home\":-1"},
                                                                    {"\"rows\":8", "\"rows\":-8"},
                                                                    {"\"hops\":2", "\"hops\":-2"}}) {
        auto text = good;
        ASSERT_NE(text.find(from), text.npos) << from;
        write(scratch / "bad", text.replace(text.find(from), from.size(), to));
        EXPECT_NE(message_of(scratch / "bad"), "") << to;
    }
    write(scratch / "bad", good.substr(good.find('\n') + 1));  // without the first release
    EXPECT_EQ(message_of(scratch / "bad"), (scratch / "bad").string() + ":2: trial 0 was not released before");
}

// --resume reads them, and deletes them when newer ones are there.
TEST(Journal, CheckpointsHaveTheNamesThatTheyWereGiven) {
    Scratch scratch;
    std::string const name = "checkpoints/trial-00003-e0004-s0002-b000016-i2.ckpt";
    JournalWriter(scratch / "j").checkpoint({TrialId(3), 4, 2, 16, name});
    ASSERT_EQ(read_journal(scratch / "j").saved.at(0).file, name);
    for (std::string const bad :
         {"/etc/passwd", "../outside", "checkpoints/../../outside", "", ".", "checkpoints", "checkpoints/link/x.ckpt",
          "checkpoints/trial-00004-e0004-s0002-b000016-i2.ckpt", "checkpoints/trial-00003-e0004-s0002-b000016-i.ckpt",
          "checkpoints/trial-00003-e0004-s0002-b000016-i2/../../../x.ckpt",
          "./checkpoints/trial-00003-e0004-s0002-b000016-i2.ckpt"}) {
        std::filesystem::remove(scratch / "j");
        JournalWriter(scratch / "j").checkpoint({TrialId(3), 4, 2, 16, bad});
        EXPECT_EQ(message_of(scratch / "j"),
                  (scratch / "j").string() + ":1: '" + bad + "' is not the name of that checkpoint");
    }
}

TEST(Journal, IsAFileAndNothingElse) {
    Scratch scratch;
    for (std::string const other : {"/dev/zero", "/dev/null", "/tmp"}) {
        std::filesystem::create_symlink(other, scratch / "j");
        EXPECT_EQ(message_of(scratch / "j"), (scratch / "j").string() + ": cannot be read (it is not a file)");
        std::filesystem::remove(scratch / "j");
    }
}

TEST(ServerLog, DamageIsNamedByLine) {
    Scratch scratch;
    auto record = first_trial();
    record.sync.server_log = {{0, 1}, {1, 0}};
    append_server_log(scratch / "log", record);
    auto const good = slurp(scratch / "log");
    ASSERT_EQ(read_server_log(scratch / "log").size(), 1U);
    for (auto const& [from, to] :
         std::initializer_list<std::pair<std::string, std::string>>{{"\"trial\"", "\"trail\""},
                                                                    {"[0,1]", "7"},
                                                                    {"[0,1]", "[-1]"},
                                                                    {"[0,1]", "[65536]"},
                                                                    {"\"epoch\":0", "\"epoch\":-1"}}) {
        auto text = good;
        write(scratch / "bad", text.replace(text.find(from), from.size(), to));
        try {
            read_server_log(scratch / "bad");
            ADD_FAILURE() << to << " was read";
        } catch (DataError const& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with((scratch / "bad").string() + ":1: ")) << error.what();
        }
    }
}

}  // namespace journal_test
}  // namespace hopscotch
