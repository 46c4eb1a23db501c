// SPDX-License-Identifier: Apache-2.0
#include "rundir/run_directory.hpp"
#include "core/durable_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "core/error.hpp"
#include "core/file.hpp"
#include "rundir/records.hpp"

namespace hopscotch {
namespace run_directory_test {

namespace fs = std::filesystem;
using testing::Scratch;
using testing::slurp;
using testing::write;

std::string refusal(fs::path const& path, RunDirUse use) {
    try {
        check_run_dir(path, use);
    } catch (ConfigError const& error) {
        return error.what();
    }
    return {};
}

constexpr auto k_ours = "{\"hopscotch\": {\"version\": \"0.1.0\"}}";

TEST(RunDirectory, NewAndEmptyOnesAreFineAndCheckingLeavesNothing) {
    Scratch scratch;
    EXPECT_EQ(refusal(scratch / "runs/digits", RunDirUse::fresh), "");
    EXPECT_EQ(refusal(scratch / "runs/digits", RunDirUse::overwrite), "");
    EXPECT_EQ(refusal(scratch.path(), RunDirUse::fresh), "");
    EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(RunDirectory, ExistingRunIsRefusedWithoutOverwrite) {
    Scratch scratch;
    auto const run = scratch / "digits";
    write(run / "experiment.json", k_ours);
    EXPECT_EQ(refusal(run, RunDirUse::fresh),
              run.string() + ": exists already (runs never share a directory); use --overwrite, or another run.dir");
    EXPECT_EQ(refusal(run, RunDirUse::overwrite), "");
    write(run / "journal.jsonl", "");
    auto const resumable =
        ": holds a run that has not finished; use --resume to continue it, --overwrite to replace it, or "
        "another run.dir";
    EXPECT_EQ(refusal(run, RunDirUse::fresh), run.string() + resumable);
    for (auto const* summary : {R"({"status": "interrupted"})", "{", "[]"}) {
        write(run / "summary.json", summary);
        EXPECT_EQ(refusal(run, RunDirUse::fresh), run.string() + resumable) << summary;
    }
    write(run / "summary.json", R"({"status": "finished"})");
    EXPECT_EQ(refusal(run, RunDirUse::fresh),
              run.string() + ": exists already (runs never share a directory); use --overwrite, or another run.dir");
    EXPECT_EQ(slurp(run / "experiment.json"), k_ours);
}

RunFacts no_facts() {
    RunFacts facts;
    facts.experiment = facts.build.libraries = Json::object({});
    return facts;
}

TEST(RunDirectory, FactsKeepTheRoutes) {
    Scratch scratch;
    auto facts = no_facts();
    facts.fleet.owners = make_owners(2, 1, 2);
    {
        RunDirectory const before(scratch / "before", RunDirUse::fresh, facts);
    }
    EXPECT_EQ(slurp(scratch / "before" / "experiment.json").find("routes"), std::string::npos);
    EXPECT_EQ(read_run_facts(scratch / "before").plan.routes, RoutePlan{});
    facts.plan.routes = {2, 4.5};
    {
        RunDirectory const now(scratch / "now", RunDirUse::fresh, facts);
    }
    EXPECT_EQ(read_run_facts(scratch / "now").plan.routes, (RoutePlan{2, 4.5}));
}

TEST(RunDirectory, FactsKeepExtensionsAndTheTestResult) {
    Scratch scratch;
    auto facts = no_facts();
    facts.fleet.owners = make_owners(2, 1, 2);
    facts.plan.extended = {4, 16};
    facts.test = Json::object({{"epoch", 3}, {"accuracy", 0.5}});
    {
        RunDirectory const written(scratch / "run", RunDirUse::fresh, facts);
    }
    auto const read = read_run_facts(scratch / "run");
    EXPECT_EQ(read.plan.extended, facts.plan.extended);
    EXPECT_EQ(read.test.dump(), facts.test.dump());
    EXPECT_TRUE(to_json(no_facts()).find("extended") == nullptr && to_json(no_facts()).find("test") == nullptr);
}

TEST(RunDirectory, OverwriteClearsARun) {
    Scratch scratch;
    auto const run = scratch / "digits";
    for (auto const* name : {"journal.jsonl", "metrics.jsonl", "trials.csv", "best/model.json", "summary.json.tmp"})
        write(run / name, "x");
    auto const facts = no_facts();
    RunDirectory const directory(run, RunDirUse::overwrite, facts);
    std::set<std::string> names;
    for (auto const& entry : fs::directory_iterator(run)) names.insert(entry.path().filename());
    EXPECT_EQ(names, (std::set<std::string>{"checkpoints", "experiment.json"}));
    EXPECT_EQ(refusal(run, RunDirUse::overwrite), "") << "what it writes must be recognised as a run";
}

TEST(RunDirectory, OverwriteNeverDeletesWhatNoRunHasWritten) {
    Scratch scratch;
    auto const run = scratch / "digits";
    write(run / "journal.jsonl", "x");
    write(run / "thesis.tex", "x");
    EXPECT_NE(refusal(run, RunDirUse::overwrite).find("holds thesis.tex"), std::string::npos);
    auto const home = scratch / "home";  // the user's own experiment file, and run.dir pointing at it by mistake
    write(home / "experiment.json", "{\"name\": \"mine\"}");
    EXPECT_NE(refusal(home, RunDirUse::overwrite).find("is not a run directory"), std::string::npos);
    RunFacts const facts;
    EXPECT_THROW(RunDirectory(run, RunDirUse::overwrite, facts), ConfigError);
    EXPECT_TRUE(fs::exists(run / "thesis.tex") && fs::exists(run / "journal.jsonl"));
}

TEST(RunDirectory, UnwritableParentIsNamedWithTheReason) {
    Scratch scratch;
    write(scratch / "file", "x");
    auto const below = refusal(scratch / "file/digits", RunDirUse::fresh);
    EXPECT_NE(below.find((scratch / "file").string()), std::string::npos) << below;
    EXPECT_NE(below.find("Not a directory"), std::string::npos) << below;
    EXPECT_NE(refusal(scratch / "file", RunDirUse::fresh).find("is not a directory"), std::string::npos);
    auto const kernel = refusal("/proc/hopscotch/digits", RunDirUse::fresh);  // refuses root too
    EXPECT_NE(kernel.find("no writing in /proc: "), std::string::npos) << kernel;
}

TEST(RunDirectory, MissingIsAClearError) {
    Scratch scratch;
    EXPECT_NE(refusal("", RunDirUse::fresh).find("run.dir: is missing"), std::string::npos);
    EXPECT_EQ(refusal(scratch / "digits", RunDirUse::resume), "") << "there is nothing yet: it begins";
    write(scratch / "digits" / "experiment.json", "{}");
    EXPECT_NE(refusal(scratch / "digits", RunDirUse::resume).find("holds no run that could be resumed"), std::string::npos)
        << "that is a user's own file";
}

TEST(RunDirectory, AJobThatDiedBeforeItsFirstLineIsNoObstacle) {
    Scratch scratch;
    auto const facts = no_facts();
    auto const run = scratch / "digits";
    write(run / "experiment.json.tmp", "{");
    EXPECT_EQ(refusal(run, RunDirUse::resume), "");
    RunDirectory const directory(run, RunDirUse::resume, facts);
    EXPECT_FALSE(fs::exists(run / "experiment.json.tmp"));
    EXPECT_EQ(refusal(run, RunDirUse::resume), "");
}

TEST(RunDirectory, WhatTheSearchWasToldIsKeptByResume) {
    Scratch scratch;
    auto facts = no_facts();
    facts.past = Json(Json::Array{7});
    auto const run = scratch / "digits";
    RunDirectory const first(run, RunDirUse::fresh, facts);
    EXPECT_EQ(read_whole(first.file("start_from.json")), "[7]\n");
    EXPECT_EQ(refusal(run, RunDirUse::resume), "") << "as far as a job came that died before its first line";
    write(run / "journal.jsonl", "");
    RunDirectory const resumed(run, RunDirUse::resume, no_facts());
    EXPECT_EQ(read_whole(first.file("start_from.json")), "[7]\n");
    RunDirectory const cleared(run, RunDirUse::overwrite, no_facts());
    EXPECT_FALSE(fs::exists(run / "start_from.json"));
    write(scratch / "own" / "start_from.json", "{}");
    EXPECT_NE(refusal(scratch / "own", RunDirUse::resume).find("holds no run"), std::string::npos)
        << "that is a user's own file";
}

TEST(RunDirectory, ResumeTakesOfTheJournalWhatHasBeenRead) {
    Scratch scratch;
    auto const facts = no_facts();
    auto const run = scratch / "digits";
    RunDirectory const first(run, RunDirUse::fresh, facts);
    write(run / "journal.jsonl", "known\nwritten since by a job that still lives\n");
    RunDirectory const second(run, RunDirUse::resume, facts, 6);
    EXPECT_EQ(read_whole(run / "journal.jsonl"), "known\n");
}

TEST(RunDirectory, ResumeRemovesWhatKilledWritersLeft) {
    Scratch scratch;
    auto const run = scratch / "digits";
    RunDirectory const first(run, RunDirUse::fresh, no_facts());
    write(run / "journal.jsonl", "");
    for (auto const* name : {"trial-00000-e0001-s0000-b000000-i1.ckpt.0123456789abcdef.tmp", "trial-00001.ckpt"})
        write(run / "checkpoints" / name, "x");
    fs::create_directories(run / "inbox");
    for (auto const* name : {"0001-a.done.json.tmp", "0002-b.json", "0003-c.json.tmp"}) write(run / "inbox" / name, "{}");
    RunDirectory const resumed(run, RunDirUse::resume, no_facts());
    EXPECT_FALSE(fs::exists(run / "inbox" / "0001-a.done.json.tmp")) << "an answer";
    EXPECT_TRUE(fs::exists(run / "inbox" / "0003-c.json.tmp")) << "someone may be writing this request";
    EXPECT_TRUE(fs::exists(run / "inbox" / "0002-b.json"));
    EXPECT_TRUE(fs::exists(run / "checkpoints" / "trial-00001.ckpt"));
    EXPECT_EQ(std::distance(fs::directory_iterator(run / "checkpoints"), fs::directory_iterator()), 1);
}

TEST(RunDirectory, ARunDoesNotGoOnThroughLinks) {
    Scratch scratch;
    auto const run = scratch / "run";
    write(run / "experiment.json", k_ours);
    write(run / "journal.jsonl", "");
    ASSERT_EQ(refusal(run, RunDirUse::resume), "");
    fs::create_directories(scratch / "elsewhere");
    for (auto const* name : {"checkpoints", "best", "server_log.jsonl"}) {
        fs::create_symlink(scratch / "elsewhere", run / name);
        EXPECT_EQ(refusal(run, RunDirUse::resume),
                  (run / name).string() + ": is a link (a run writes only in its own directory); put the real file there");
        fs::remove(run / name);
    }
    for (auto const* name : {"best/trial-0", "tb/trial-3"}) {
        fs::create_directories((run / name).parent_path());
        fs::create_symlink(scratch / "elsewhere", run / name);
        EXPECT_EQ(refusal(run, RunDirUse::resume),
                  (run / name).string() + ": is a link (a run writes only in its own directory); put the real file there");
        fs::remove(run / name);
    }
    fs::create_symlink(scratch / "elsewhere/file", run / "best/model.json");  // is replaced
    EXPECT_EQ(refusal(run, RunDirUse::resume), "");
}

// A pipe would make the run wait for ever; a folder cannot be replaced.
TEST(RunDirectory, ARunDoesNotGoOnWhereItCannotWrite) {
    Scratch scratch;
    auto const run = scratch / "run";
    write(run / "experiment.json", k_ours);
    write(run / "journal.jsonl", "");
    fs::create_directories(run / "best/trial-0");
    fs::create_directories(run / "notes of a user");
    ASSERT_EQ(refusal(run, RunDirUse::resume), "");
    for (auto const* name :
         {"metrics.jsonl", "summary.json.tmp", "best/model.json", "best/trial-0/model.json.tmp", "best/validation.json"}) {
        fs::create_directories(run / name / "content");
        EXPECT_EQ(refusal(run, RunDirUse::resume),
                  (run / name).string() + ": is not a file (a run writes a file of that name); remove it");
        fs::remove_all(run / name);
    }
    ASSERT_EQ(::mkfifo((run / "server_log.jsonl").c_str(), 0600), 0);
    EXPECT_EQ(refusal(run, RunDirUse::resume),
              (run / "server_log.jsonl").string() + ": is not a file (a run writes a file of that name); remove it");
}

// After a power cut a log may end in zeros, as the journal may. The zeros may be more than the memory holds.
TEST(RunDirectory, ALogGoesOnBehindItsLastWholeLine) {
    Scratch scratch;
    auto const run = scratch / "run";
    write(run / "experiment.json", k_ours);
    write(run / "journal.jsonl", "");
    for (std::uintmax_t const size : {5ULL, 1ULL << 40}) {
        write(run / "server_log.jsonl", "{}\n");
        fs::resize_file(run / "server_log.jsonl", size);
        RunDirectory const resumed(run, RunDirUse::resume, no_facts());
        EXPECT_EQ(read_whole(run / "server_log.jsonl"), "{}\n");
    }
}

TEST(RunDirectory, ALogThatAlsoHasANameElsewhereStays) {
    Scratch scratch;
    auto const run = scratch / "run";
    write(run / "experiment.json", k_ours);
    write(run / "journal.jsonl", "");
    write(scratch / "elsewhere", "{}\n");
    fs::create_hard_link(scratch / "elsewhere", run / "server_log.jsonl");
    RunDirectory const resumed(run, RunDirUse::resume, no_facts());
    EXPECT_EQ(fs::hard_link_count(scratch / "elsewhere"), 1U);
    EXPECT_EQ(read_whole(run / "server_log.jsonl"), "{}\n");
}

TEST(RunFacts, OwnersAreTrainersOfTheRun) {
    Scratch scratch;
    auto facts = no_facts();
    facts.fleet.owners.trainers = 2;
    facts.fleet.owners.owner = {TrainerId(0), TrainerId(1)};
    auto const read = [&] {
        write(scratch / "experiment.json", to_json(facts).dump());
        return read_run_facts(scratch.path()).shards();
    };
    EXPECT_EQ(read(), 2);
    for (int const owner : {-1, 2}) {
        facts.fleet.owners.owner[1] = TrainerId(owner);
        EXPECT_THROW(read(), DataError) << owner;
    }
    facts.fleet.owners.owner.clear();
    for (int const trainers : {0, -3, 2000000000}) {
        facts.fleet.owners.trainers = trainers;
        EXPECT_THROW(read(), DataError) << trainers;
    }
}

}  // namespace run_directory_test
}  // namespace hopscotch
