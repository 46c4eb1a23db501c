// SPDX-License-Identifier: Apache-2.0
// What a whole run leaves behind, from hand-made records.
#include "job/recorder.hpp"
#include "job/run_end.hpp"
#include "view/progress.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string>

#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "rundir/records.hpp"

namespace hopscotch {
namespace recorder_test {

using namespace testing;

RunFacts some_facts() {
    RunFacts facts;
    facts.experiment = Json::object({{"name", "hand-made"}, {"train", Json::object({{"engine", "lean"}})}});
    facts.name = "hand-made";
    facts.seed = 42;
    facts.build.version = "0.1.0";
    facts.build.git_hash = "abc";
    facts.build.libraries = Json::object({{"torch", "2.11.0"}});
    facts.dataset_hash = "00000000000000ff";
    facts.strategy = "mop";
    facts.fleet.hosts = {"node1", "node2"};
    facts.fleet.owners.trainers = 2;
    facts.fleet.owners.owner = {TrainerId(0), TrainerId(1)};
    facts.start_unix_s = 99;
    return facts;
}

TrialView view(int id, TrialStatus status, std::string reason = "") {
    TrialView out;
    out.id = TrialId(id);
    out.config = std::make_shared<TrialConfig>();
    out.assignment = {{"train.optimizer.lr", id == 0 ? 0.1 : 1e6}, {"model.name", "a \"b\", c"}};
    out.status = status;
    out.reason = std::move(reason);
    out.epochs_wanted = out.epochs_done = 1;
    return out;
}

class RecorderTest : public ::testing::Test {
protected:
    // Trial 0 finishes, trial 1 diverges, trial 2 is interrupted before its first lap.
    Summary run(RunFacts const& facts = some_facts()) {
        Experiment experiment;
        Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
        EXPECT_FALSE(recorder.best());
        for (int trial : {0, 1}) {
            Lap lap;
            lap.trial = TrialId(trial);
            recorder.released(lap);
        }
        recorder.lap_done(first_trial(), view(0, TrialStatus::finished));
        auto diverged = second_trial(std::numeric_limits<double>::quiet_NaN());
        diverged.outcome = Outcome::diverged;
        diverged.reason = "loss is not finite in epoch 0, unit 1";
        diverged.units[1].loss_sum = std::numeric_limits<double>::infinity();
        diverged.valid.rows = 0;
        recorder.lap_done(diverged, view(1, TrialStatus::diverged, diverged.reason));
        recorder.tick();
        EXPECT_EQ(recorder.best()->value, 0.75);
        RunEnd end;
        end.status = RunStatus::interrupted;
        end.reason = "signal 15";
        end.wall_s = 7;
        end.bytes.sent.state = 256;
        end.bytes.peak_rss = {1, 2, 3};
        return recorder.finish(end, {view(0, TrialStatus::finished), view(1, TrialStatus::diverged, diverged.reason),
                                     view(2, TrialStatus::interrupted)});
    }

    Json read(std::string_view name) const { return parse_json_or_throw(slurp(directory_ / name), name); }

    Scratch scratch_;
    std::filesystem::path directory_ = scratch_ / "runs/deep/digits";
};

// A recorder deletes in batches.
void tidy(Recorder& recorder) {
    do recorder.tick();
    while (recorder.shelf().has_surplus());
}

TEST_F(RecorderTest, AGpuThatRoundsDifferentlyEachTimeIsNotExact) {
    auto facts = some_facts();
    facts.bits.approximate = true;
    EXPECT_FALSE(run(facts).setting.exact) << "run() of other facts is, see SummaryHasEveryField";
    EXPECT_TRUE(read_run_facts(directory_).bits.approximate);
}

TEST_F(RecorderTest, SummaryHasEveryFieldAndNoNaN) {
    run();
    auto const summary = read("summary.json");
    std::vector<std::string> keys;
    for (auto const& member : summary.object()) keys.push_back(member.key);
    std::vector<std::string> const expected{
        "format",      "version",       "status",        "strategy",      "trainers",     "shards",         "exact",
        "wall_s",      "setup_s",       "makespan_s",    "lower_bound_s", "utilisation",  "units",          "hops",
        "bytes",       "bytes_by_rank", "storage_bytes", "staged_bytes",  "weight_bytes", "peak_rss_bytes", "unit_gap_ms",
        "sync_rounds", "reason",        "metric",        "mode",          "best_trial",   "trials"};
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(summary.at("status"), "interrupted");
    EXPECT_EQ(summary.at("exact"), true);
    EXPECT_EQ(summary.at("reason"), "signal 15");
    EXPECT_EQ(summary.at("best_trial"), 0);
    EXPECT_EQ(summary.at("units"), 4);
    EXPECT_EQ(summary.at("bytes"), Json::object({{"state", 256}, {"gradient", 0}, {"data", 0}, {"control", 0}}));
    EXPECT_EQ(summary.at("peak_rss_bytes"), Json(Json::Array{1, 2, 3}));
    auto const& trials = summary.at("trials").array();
    ASSERT_EQ(trials.size(), 3u);
    EXPECT_EQ(trials[0].at("best").at("val_accuracy"), 0.75);
    EXPECT_EQ(trials[0].at("state_hash"), "8000000000000001");
    EXPECT_EQ(trials[0].at("train_s"), 3);
    EXPECT_EQ(trials[0].at("cpu_use"), 0.5) << "of the unit that was measured";
    EXPECT_EQ(trials[0].at("cpu_s"), 1.5);
    EXPECT_TRUE(trials[1].at("cpu_use").is_null());
    EXPECT_EQ(trials[0].find("gpu_use"), nullptr) << "no trial has it";
    EXPECT_EQ(trials[1].at("status"), "diverged");
    EXPECT_TRUE(trials[1].at("best").is_null());
    EXPECT_TRUE(trials[1].at("state_hash").is_null());
    EXPECT_EQ(trials[2].at("status"), "interrupted");
    for (auto const* name : {"summary.json", "metrics.jsonl", "journal.jsonl", "trace.json", "trials.csv"}) {
        auto const text = slurp(directory_ / name);
        for (auto const* word : {"NaN", "nan", "Infinity", ":inf", ",inf"})
            EXPECT_EQ(text.find(word), text.npos) << name << ": " << word;
    }
}

TEST_F(RecorderTest, SyntheticIsSaidWhereItIs) {
    Summary summary;
    EXPECT_EQ(to_json(summary).find("synthetic"), nullptr);
    summary.setting.synthetic = true;
    EXPECT_EQ(to_json(summary).at("synthetic"), true);
    summary.times.hop_s = Percentiles{0.001, 0.002};
    EXPECT_EQ(to_json(summary).at("hop_ms").at("p99"), 2.0);
}

TEST_F(RecorderTest, WhatTrainersExchangedIsSummedUp) {
    auto facts = some_facts();
    facts.strategy = "allreduce";
    Experiment experiment;
    experiment.strategy.batch_norm = NormStatistics::sync;
    experiment.run.inject.as_written = {"delay:sync_s=20"};
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    recorder.lap_done(exchanging(first_trial()), view(0, TrialStatus::finished));
    recorder.lap_done(exchanging(second_trial()), view(1, TrialStatus::finished));
    RunEnd end;
    end.bytes.sent_by_rank = {{0, 0, 0, 1}, {0, 2, 3, 4}};
    end.bytes.storage = 300;
    end.bytes.staged = 200;
    end.bytes.weights = 64;
    recorder.finish(end, {view(0, TrialStatus::finished), view(1, TrialStatus::finished)});
    auto const summary = read("summary.json");
    EXPECT_EQ(summary.at("exposed_s"), Json(Json::Array{1.0, 0.5}));
    EXPECT_EQ(summary.at("sync_rounds"), 14);
    EXPECT_EQ(summary.at("staleness"), Json(Json::Array{10, 0, 4}));
    EXPECT_EQ(summary.at("injected"), Json(Json::Array{"delay:sync_s=20"}));
    EXPECT_EQ(summary.at("batch_norm"), "sync");
    EXPECT_EQ(summary.at("storage_bytes"), 300);
    EXPECT_EQ(summary.at("staged_bytes"), 200);
    EXPECT_EQ(summary.at("weight_bytes"), 64);
    ASSERT_EQ(summary.at("bytes_by_rank").array().size(), 2u);
    EXPECT_EQ(summary.at("bytes_by_rank").array()[1],
              Json::object({{"state", 0}, {"gradient", 2}, {"data", 3}, {"control", 4}}));
}

TEST_F(RecorderTest, WhatDoesNotApplyIsNotThere) {
    auto const json = to_json(Summary{});
    for (auto const* key : {"exposed_s", "staleness", "injected", "batch_norm"}) EXPECT_EQ(json.find(key), nullptr) << key;
}

TEST_F(RecorderTest, AFinishedRunHasNoReason) { EXPECT_EQ(to_json(Summary{}).find("reason"), nullptr); }

TEST_F(RecorderTest, TestMetricsAreThereIfMeasured) {
    Summary summary;
    EXPECT_EQ(to_json(summary).find("test"), nullptr);
    summary.result.test = metrics_of(first_trial(), LossKind::cross_entropy);
    metric_place(*summary.result.test, "val_f1") = 0.5;
    auto const written = to_json(summary).at("test").dump();  // where NaN is null
    EXPECT_EQ(written, R"({"epoch":0,"loss":0.25,"accuracy":0.75,"top5":1.0,"f1":0.5,"auc":null,"mae":null,"r2":null,)"
                       R"("rmse":null,"perplexity":1.2840254166877414,"rows":20})");
    Summary again;
    again.result.test = test_from_json(parse_json_or_throw(written, "summary.json"));
    EXPECT_EQ(to_json(again).at("test").dump(), written);
    EXPECT_FALSE(test_from_json(Json()));
}

TEST_F(RecorderTest, BoundaryStatesStayUntilClonesHaveFilesOfTheirOwn) {
    auto const facts = some_facts();
    Problems problems("e.json");
    auto const experiment = read_experiment(
        R"({"name": "p", "data": {"path": "x"}, "model": {"name": "mlp"}, "train": {"optimizer": {"name": "sgd", "lr": 0.1}},
        "search": {"procedure": "pbt"}, "space": {"train.optimizer.lr": {"type": "float", "low": 0.01, "high": 1.0}},
"run": {"dir": "x"}})",
        {}, problems);
    ASSERT_TRUE(problems.empty());
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    auto const save = [&](int trial, int epoch, int step) {
        SavedState const saved{TrialId(trial), epoch, step, 0, fmt::format("checkpoints/{}-{}-{}", trial, epoch, step)};
        write(directory_ / saved.file, "x");
        recorder.saved(saved);
        tidy(recorder);
    };
    auto const there = [&](int trial, int epoch) {
        return std::filesystem::exists(directory_ / fmt::format("checkpoints/{}-{}-0", trial, epoch));
    };
    for (int epoch = 1; epoch <= 6; ++epoch) save(0, epoch, 0);
    EXPECT_TRUE(there(0, 1) && there(0, 2)) << "any of them may still be asked for";
    Lap clone;
    clone.trial = TrialId(1);
    clone.epoch = 4;
    clone.clone_of = LapId{TrialId(0), 1};
    recorder.released(clone);
    save(1, 4, 0);  // what it was before
    recorder.shelf().let_go({TrialId(0), 0});
    recorder.shelf().let_go({TrialId(0), 1});
    tidy(recorder);
    EXPECT_FALSE(there(0, 1)) << "no one began with it";
    EXPECT_TRUE(there(0, 2)) << "trial 1 did, and has nothing later";
    save(1, 4, 1);
    save(0, 6, 1);
    EXPECT_FALSE(there(0, 2));
}

// A job that goes on begins old laps again where their states are wanted and lost: what lies behind them does not count.
TEST_F(RecorderTest, WhatALapOfThisJobBeginsWithStaysUntilItHasSaved) {
    auto const facts = some_facts();
    Experiment const experiment;
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    auto const path = [&](int trial, int epoch) { return fmt::format("checkpoints/{}-{}", trial, epoch); };
    auto const there = [&](int trial, int epoch) { return std::filesystem::exists(directory_ / path(trial, epoch)); };
    auto const save = [&](int trial, int epoch) {
        write(directory_ / path(trial, epoch), "x");
        recorder.saved({TrialId(trial), epoch, 0, 0, path(trial, epoch)});
    };
    for (int trial : {0, 1, 2})
        for (int epoch : {2, 7, 8}) save(trial, epoch);
    Lap old;
    old.trial = TrialId(0);
    old.epoch = 2;
    old.from = path(0, 2);
    recorder.shelf().sent(old);
    Lap clone;
    clone.trial = TrialId(1);
    clone.epoch = 4;
    clone.clone_of = LapId{TrialId(2), 1};
    recorder.released(clone);
    recorder.shelf().sent(clone);
    tidy(recorder);
    EXPECT_TRUE(there(0, 2)) << "trial 0 begins with it";
    EXPECT_TRUE(there(2, 2)) << "trial 1 begins with it";
    EXPECT_FALSE(there(1, 2)) << "no one begins with it";
    save(0, 3);
    save(1, 5);
    save(2, 9);
    tidy(recorder);
    EXPECT_FALSE(there(0, 2));
    EXPECT_FALSE(there(2, 2));
}

// Files of trials that need no more than their place.
class RecorderOfFiles : public RecorderTest {
protected:
    std::string name(int trial, int epoch) const { return fmt::format("checkpoints/{}-{}", trial, epoch); }
    bool there(int trial, int epoch) const { return std::filesystem::exists(directory_ / name(trial, epoch)); }
    SavedState saved(int trial, int epoch) {
        write(directory_ / name(trial, epoch), "x");
        return {TrialId(trial), epoch, 0, 0, name(trial, epoch)};
    }
    void save(int trial, std::initializer_list<int> epochs) {
        for (auto const epoch : epochs) recorder_.saved(saved(trial, epoch));
    }
    void end_lap(int trial, double correct, TrialStatus status) {
        auto record = lap_record(trial, 1, correct);
        record.home = TrainerId(0);
        recorder_.lap_done(record, view(trial, status));
    }
    std::size_t files() const {
        std::filesystem::directory_iterator const all(directory_ / "checkpoints");
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    RunFacts facts_ = some_facts();
    Experiment experiment_;
    Recorder recorder_{RunDirectory(directory_, RunDirUse::fresh, facts_), facts_, experiment_};
};

// As many as run.checkpoint_keep says; the newest of all stays until there is a newer one.
TEST_F(RecorderOfFiles, TheNewestStayAsManyAsTheExperimentSays) {
    for (int const keep : {1, 2, 5}) {
        experiment_.run.checkpoints.keep = keep;
        Recorder recorder(RunDirectory(directory_, RunDirUse::overwrite, facts_), facts_, experiment_);
        for (int epoch = 1; epoch <= 8; ++epoch) {
            recorder.saved(saved(0, epoch));
            EXPECT_TRUE(there(0, epoch));
            tidy(recorder);
            for (int each = 1; each <= epoch; ++each) EXPECT_EQ(there(0, each), each > epoch - keep) << keep << ' ' << each;
        }
    }
}

// A resumed job has begun behind files that it cannot use. They must not push out its own.
TEST_F(RecorderOfFiles, ThatAreDamagedGoFirst) {
    save(0, {5, 7, 8});
    Lap lap;
    lap.trial = TrialId(0);
    lap.epoch = 5;
    lap.from = name(0, 5);
    recorder_.shelf().sent(lap);
    recorder_.shelf().distrust({{TrialId(0), 7, 0, 0, name(0, 7)}, {TrialId(0), 8, 0, 0, name(0, 8)}});
    EXPECT_EQ(recorder_.shelf().file_after(TrialId(0), 7), nullptr) << "no clone may begin with it";
    EXPECT_EQ(recorder_.shelf().newest_boundary(TrialId(0)), 4);
    tidy(recorder_);
    EXPECT_TRUE(there(0, 5));
    save(0, {6});
    tidy(recorder_);
    EXPECT_TRUE(there(0, 5) && there(0, 6));
    EXPECT_FALSE(there(0, 7) || there(0, 8));
}

// Weights of a trial whose other parts other trainers held: the trial cannot continue from them.
TEST_F(RecorderOfFiles, WhatALapBeginsWithStaysUntilAWholeStateIsSaved) {
    save(0, {2, 7, 8});
    Lap lap;
    lap.trial = TrialId(0);
    lap.epoch = 2;
    lap.from = name(0, 2);
    recorder_.shelf().sent(lap);
    auto weights = saved(0, 9);
    weights.whole = false;
    recorder_.saved(weights);
    tidy(recorder_);
    EXPECT_TRUE(there(0, 2));
    save(0, {10});
    tidy(recorder_);
    EXPECT_FALSE(there(0, 2));
}

// Each deletion syncs the journal before it: 67 checkpoints a second would leave rank 0 no time for laps.
TEST_F(RecorderOfFiles, AreDeletedInBatches) {
    auto const begun = monotonic_s();
    int batches = 0;
    for (int epoch = 1; epoch <= 200; ++epoch) {
        save(0, {epoch});
        auto const before = files();
        recorder_.tick();
        if (files() < before) ++batches;
    }
    EXPECT_LE(batches, 2 + (monotonic_s() - begun) / 0.1);
    tidy(recorder_);
    EXPECT_EQ(files(), 2u);
}

TEST_F(RecorderOfFiles, OfEndedTrialsStayWhereSomebodyMayAskForThem) {
    for (int trial = 0; trial < 5; ++trial) save(trial, {1, 2, 3});
    end_lap(0, 5, TrialStatus::finished);
    end_lap(1, 4, TrialStatus::stopped);
    end_lap(2, 6, TrialStatus::finished);
    end_lap(3, 0, TrialStatus::diverged);
    tidy(recorder_);
    EXPECT_FALSE(there(0, 1) || there(0, 2) || there(0, 3)) << "nothing begins with them";
    EXPECT_TRUE(!there(1, 1) && !there(1, 2) && there(1, 3)) << "an order may take the trial up";
    EXPECT_TRUE(!there(2, 1) && there(2, 2) && !there(2, 3)) << "the best state so far";
    EXPECT_FALSE(there(3, 1) || there(3, 2) || there(3, 3));
    EXPECT_TRUE(!there(4, 1) && there(4, 2) && there(4, 3)) << "the trial goes on";
    end_lap(4, 7, TrialStatus::running);  // better
    save(4, {4});
    tidy(recorder_);
    EXPECT_FALSE(there(2, 2));
    EXPECT_TRUE(there(4, 2)) << "the best state now";
}

TEST_F(RecorderOfFiles, OfAnEndedTrialWhoseBestStateNoFileHoldsAreTheStartOfItsWayThere) {
    save(0, {1, 4});
    end_lap(0, 5, TrialStatus::finished);
    tidy(recorder_);
    EXPECT_TRUE(there(0, 1));
}

TEST_F(RecorderOfFiles, OfAnEndedSourceStayUntilItsCloneHasItsOwn) {
    end_lap(3, 8, TrialStatus::running);
    save(0, {1, 2});
    Lap clone;
    clone.trial = TrialId(1);
    clone.epoch = 1;
    clone.clone_of = LapId{TrialId(0), 0};
    recorder_.released(clone);
    end_lap(0, 1, TrialStatus::finished);
    tidy(recorder_);
    EXPECT_TRUE(there(0, 1) && !there(0, 2));
    save(1, {3});
    tidy(recorder_);
    EXPECT_FALSE(there(0, 1));
}

TEST_F(RecorderOfFiles, ThatAnOrderHoldsStayUntilItLetsGo) {
    end_lap(3, 8, TrialStatus::running);
    save(0, {1, 2});
    recorder_.shelf().hold({{TrialId(0), 0}});
    end_lap(0, 1, TrialStatus::finished);
    tidy(recorder_);
    EXPECT_TRUE(there(0, 1) && !there(0, 2));
    recorder_.shelf().hold({});
    tidy(recorder_);
    EXPECT_FALSE(there(0, 1));
}

TEST_F(RecorderOfFiles, ThatAnEarlierJobLeftAreDeletedToo) {
    Journal journal;
    for (int epoch : {1, 2, 3})
        for (int trial : {0, 1}) journal.saved.push_back(saved(trial, epoch));
    journal.ended.push_back({TrialId(0), std::string(name_of(TrialStatus::finished)), "", 3});
    recorder_.restore(journal);
    tidy(recorder_);
    EXPECT_FALSE(there(0, 1) || there(0, 2) || there(0, 3));
    EXPECT_TRUE(!there(1, 1) && there(1, 2) && there(1, 3));
}

// Two lives of a trial have left files of one place: a clone begins with the one that the journal knows.
TEST_F(RecorderTest, OfTwoFilesOfOnePlaceTheOneThatTheJournalKnows) {
    auto const facts = some_facts();
    Experiment const experiment;
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    auto lap = lap_record(0, 0, 1);
    lap.state.end_hash = 0xa;
    recorder.lap_done(lap, view(0, TrialStatus::running));
    recorder.saved({TrialId(0), 1, 0, 0, "wrong", true, 0xb, 0xb});
    EXPECT_EQ(recorder.shelf().file_after(TrialId(0), 0), nullptr);
    EXPECT_EQ(recorder.shelf().newest_boundary(TrialId(0)), std::nullopt);
    recorder.saved({TrialId(0), 1, 0, 0, "right", true, 0xa, 0xa});
    ASSERT_NE(recorder.shelf().file_after(TrialId(0), 0), nullptr);
    EXPECT_EQ(recorder.shelf().file_after(TrialId(0), 0)->file, "right");
}

// A trial was stopped while its lap was under way, and taken up: the lap comes twice. Servers that combine gradients as they
// come give it other bits the second time, and later laps begin with those: each lap has one line, before and after a
// resumption.
TEST_F(RecorderTest, EachLapHasOneLineOfMetrics) {
    auto facts = some_facts();
    facts.bits.same_again = false;
    Experiment const experiment;
    auto const lines = [&] { return std::ranges::count(slurp(directory_ / "metrics.jsonl"), '\n'); };
    auto const lap = [](int epoch, std::uint64_t begin, std::uint64_t end) {
        auto out = lap_record(0, epoch, 1);
        out.state.begin_hash = begin;
        out.state.end_hash = end;
        return out;
    };
    {
        Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
        Lap released;
        released.trial = TrialId(0);
        recorder.released(released);
        recorder.lap_done(lap(0, 0, 0xa), view(0, TrialStatus::running));
        recorder.lap_done(lap(0, 0, 0xb), view(0, TrialStatus::running));
        recorder.shelf().ended(lap(0, 0, 0xc));
        recorder.lap_done(lap(1, 0xc, 0xd), view(0, TrialStatus::running));
        EXPECT_EQ(lines(), 2);
        auto left = lap(2, 0xd, 0);
        left.outcome = Outcome::stopped;
        recorder.lap_done(left, view(0, TrialStatus::stopped));
        EXPECT_EQ(lines(), 2);
    }
    auto const journal = read_journal(directory_ / "journal.jsonl");
    Recorder again(RunDirectory(directory_, RunDirUse::resume, facts, journal.complete_bytes), facts, experiment);
    again.restore(journal);
    EXPECT_EQ(lines(), 2);
}

// An order takes back what a trial was to become: its lap is released again, as its own.
TEST_F(RecorderTest, ALapThatIsReleasedAsAnotherIsJournalledAgain) {
    auto const facts = some_facts();
    Experiment const experiment;
    Lap clone;
    clone.trial = TrialId(1);
    clone.epoch = 3;
    clone.clone_of = LapId{TrialId(0), 2};
    auto own = clone;
    own.clone_of.reset();
    {
        Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
        recorder.released(clone);
    }
    auto const journal = read_journal(directory_ / "journal.jsonl");
    Recorder again(RunDirectory(directory_, RunDirUse::resume, facts, journal.complete_bytes), facts, experiment);
    again.restore(journal);
    again.released(clone);
    again.released(own);
    again.released(own);
    auto const released = read_journal(directory_ / "journal.jsonl").released;
    ASSERT_EQ(released.size(), 2U);
    EXPECT_EQ(released_laps(read_journal(directory_ / "journal.jsonl")).at({TrialId(1), 3})->clone_of, std::nullopt);
}

// A regression's hits do not make an accuracy, also when only its trial says that it is one.
TEST_F(RecorderTest, TheLossIsTheTrialsOwn) {
    auto const facts = some_facts();
    Problems problems("f.json");
    auto const experiment = read_experiment(R"({"data": {"path": "d"}, "model": {"name": "m"}, "run": {"dir": "r"},
        "space": {"train.loss": ["cross_entropy", "huber"]}})",
                                            {}, problems);
    EXPECT_EQ(problems.text(), "");
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    auto classes = view(0, TrialStatus::finished), targets = view(1, TrialStatus::finished);
    TrialConfig regression;
    regression.train.loss = LossKind::huber;
    targets.config = std::make_shared<TrialConfig>(regression);
    auto record = second_trial(8);
    record.valid.mae = 1.5;
    auto first = first_trial();
    first.valid.own = {{"val_cost", 2.5}};
    EXPECT_EQ(metric_value(recorder.lap_done(record, targets), "val_mae"), 1.5);
    EXPECT_FALSE(recorder.best());
    EXPECT_EQ(metric_value(recorder.lap_done(first, classes), "val_accuracy"), 0.75);
    EXPECT_EQ(recorder.best()->trial, TrialId(0));
    recorder.finish({}, {classes, targets});
    auto const header = slurp(directory_ / "trials.csv");
    EXPECT_NE(header.find(",state_hash,val_perplexity,val_cost\n"), header.npos)
        << "the columns that some best epoch has: " << header;
}

TEST_F(RecorderTest, ShowsTheGpuUseOfTrialsIfSomeTrialHasIt) {
    auto const facts = some_facts();
    Experiment const experiment;
    Recorder recorder(RunDirectory(directory_, RunDirUse::fresh, facts), facts, experiment);
    auto record = first_trial();
    record.units[0].gpu_use = 0.375;
    record.units[1].gpu_use = 0;
    recorder.lap_done(record, view(0, TrialStatus::finished));
    recorder.lap_done(second_trial(), view(1, TrialStatus::finished));
    recorder.finish({}, {view(0, TrialStatus::finished), view(1, TrialStatus::finished)});
    auto const summary = read("summary.json");
    auto const& trials = summary.at("trials").array();
    EXPECT_EQ(trials[0].at("gpu_use"), 0.25) << "two seconds at 0.375, an idle one";
    EXPECT_EQ(trials[0].at("gpu_s"), 0.75);
    EXPECT_TRUE(trials[1].at("gpu_use").is_null());
    EXPECT_TRUE(trials[1].at("gpu_s").is_null());
    auto const table = slurp(directory_ / "trials.csv");
    EXPECT_NE(table.find(",train_s,cpu_s,cpu_use,gpu_s,gpu_use,state_hash,"), table.npos) << table;
    EXPECT_NE(table.find(",3,1.5,0.5,0.75,0.25,8"), table.npos) << table;
    EXPECT_NE(table.find(",4,,,,,8"), table.npos) << table;
}

TEST_F(RecorderTest, TrialsCsvIsQuoted) {
    run();
    std::istringstream lines(slurp(directory_ / "trials.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line,
              "id,status,reason,epochs,train.optimizer.lr,model.name,best_epoch,train_loss,val_loss,val_accuracy,val_top5,"
              "train_s,cpu_s,cpu_use,state_hash,val_perplexity");
    std::getline(lines, line);
    EXPECT_EQ(line, "0,finished,,1,0.1,\"a \"\"b\"\", c\",0,0.5,0.25,0.75,1,3,1.5,0.5,8000000000000001,1.2840254166877414");
    std::getline(lines, line);
    EXPECT_EQ(line, "1,diverged,\"loss is not finite in epoch 0, unit 1\",0,1000000.0,\"a \"\"b\"\", c\",,,,,,4,,,,");
    std::getline(lines, line);
    EXPECT_EQ(line, "2,interrupted,,0,1000000.0,\"a \"\"b\"\", c\",,,,,,0,,,,");
}

TEST_F(RecorderTest, JournalHoldsEveryEndOnce) {
    run();
    auto const journal = read_journal(directory_ / "journal.jsonl");
    EXPECT_EQ(journal.laps.size(), 2u);
    ASSERT_EQ(journal.ended.size(), 3u);
    EXPECT_EQ(journal.ended[2].trial, TrialId(2));
    EXPECT_EQ(journal.end.status, "interrupted");
}

// A second job may go on with the run, and end it, while the first one is stopped: between two ticks.
TEST_F(RecorderTest, AJobThatAnotherHasReplacedRecordsNoLap) {
    RunDirectory const directory(directory_, RunDirUse::fresh, some_facts());
    Recorder recorder(directory, some_facts(), {});
    recorder.lap_done(first_trial(), view(0, TrialStatus::finished));
    auto const units = std::filesystem::file_size(directory_ / "units-1.bin");
    auto const journal = slurp(directory_ / "journal.jsonl");
    std::filesystem::remove(directory_ / "journal.jsonl");
    write(directory_ / "journal.jsonl", journal);
    EXPECT_THROW(recorder.lap_done(second_trial(0.5), view(1, TrialStatus::finished)), Error);
    EXPECT_EQ(slurp(directory_ / "journal.jsonl"), journal);
    EXPECT_EQ(std::filesystem::file_size(directory_ / "units-1.bin"), units);
}

TEST_F(RecorderTest, TraceHasARowPerTrainerAndAnEventPerUnitAndValidation) {
    run();
    auto const events = read("trace.json");
    int units = 0, validations = 0, names = 0;
    for (auto const& event : events.array()) {
        if (event.at("pid") != Json(0)) continue;
        if (event.at("name") == "thread_name") ++names;
        if (event.at("ph") != Json("X")) continue;
        (event.at("cat") == "unit" ? units : validations) += 1;
        if (event.at("name") == "t0 e0 s1") {
            EXPECT_EQ(event.at("tid"), 1);
            EXPECT_EQ(event.at("ts"), 4e6);
            EXPECT_EQ(event.at("dur"), 1e6);
            EXPECT_EQ(event.at("args").at("loss"), 0.5);
        }
    }
    EXPECT_EQ(units, 4);
    EXPECT_EQ(validations, 1);  // the diverged trial did not validate
    EXPECT_EQ(names, 2);
}

TEST_F(RecorderTest, EventFilesShowTheTrialsThatHaveTrained) {
    run();
    std::set<std::string> trials;
    for (auto const& entry : std::filesystem::directory_iterator(directory_ / "tb")) trials.insert(entry.path().filename());
    EXPECT_EQ(trials, (std::set<std::string>{"trial-0", "trial-1"}));
}

// Those of an earlier job would not go on.
TEST_F(RecorderTest, WithoutTensorBoardThereAreNoEventFiles) {
    RunDirectory const directory(directory_, RunDirUse::fresh, some_facts());
    write(directory_ / "tb/trial-0/events.out.tfevents.1.hopscotch", "earlier");
    Experiment experiment;
    experiment.run.tensorboard = false;
    Recorder recorder(directory, some_facts(), experiment);
    recorder.lap_done(first_trial(), view(0, TrialStatus::finished));
    recorder.finish({}, {view(0, TrialStatus::finished)});
    EXPECT_FALSE(std::filesystem::exists(directory_ / "tb"));
}

TEST_F(RecorderTest, FactsComeBack) {
    run();
    auto const facts = read_run_facts(directory_);
    EXPECT_EQ(to_json(facts), to_json(some_facts()));
    auto of_earlier_version = to_json(facts);
    of_earlier_version["experiment"]["train"] = Json::object({{"epochs", 3}});
    write(directory_ / "experiment.json", of_earlier_version.dump());
    EXPECT_EQ(read_run_facts(directory_).experiment.at("train"), Json::object({{"epochs", 3}, {"engine", "torch"}}));
    write(directory_ / "experiment.json", "{\"hopscotch\": {}}");
    EXPECT_THROW(read_run_facts(directory_), DataError);
}

// Trials that an extension adds start between the decisions that the journal has.
TEST_F(RecorderTest, DecisionsOfAnExtendedRunHaveAnOrderByTrial) {
    auto const decision = [](Decision::Kind kind, int trial, int epoch) {
        Decision out;
        out.kind = kind;
        out.trial = TrialId(trial);
        out.epoch = epoch;
        return out;
    };
    using enum Decision::Kind;
    auto facts = some_facts();
    for (bool const extended : {false, true}) {
        if (extended) facts.plan.extended = {2};
        Recorder recorder(RunDirectory(directory_, RunDirUse::overwrite, facts), facts, {});
        Journal journal;
        journal.decisions = {decision(start, 0, -1), decision(start, 1, -1), decision(finish, 0, 4), decision(finish, 1, 4)};
        recorder.restore(journal);
        recorder.decided(decision(start, 0, -1));
        recorder.decided(decision(start, 1, -1));
        if (!extended) {
            EXPECT_THROW(recorder.decided(decision(start, 2, -1)), Error);
            continue;
        }
        recorder.decided(decision(start, 2, -1));
        recorder.decided(decision(finish, 1, 4));
        EXPECT_THROW(recorder.decided(decision(finish, 0, 3)), Error);
        EXPECT_EQ(read_journal(directory_ / "journal.jsonl").decisions.size(), 1U) << "only the new one is news";
    }
}

}  // namespace recorder_test
}  // namespace hopscotch
