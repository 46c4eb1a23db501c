// SPDX-License-Identifier: Apache-2.0
// What a person sees: the progress line and the leaderboard, at every width.
#include <gtest/gtest.h>

#include <sstream>

#include "view/leaderboard.hpp"
#include "view/progress.hpp"

namespace hopscotch {
namespace views_test {

ProgressState half_way() {
    ProgressState state;
    state.elapsed_s = 30;
    state.done = 460;
    state.total = 1000;
    state.busy = 4;
    state.trainers = 4;
    state.trials_done = 7;
    state.trials = 16;
    state.metric = "val_accuracy";
    state.best = BestSoFar{TrialId(3), 0.97222};
    return state;
}

TEST(Render, WideShowsEverything) {
    EXPECT_EQ(render(half_way(), 120),
              "[===========>            ]  46%  ETA 36s  busy 4/4  trials 7/16  best val_accuracy 0.9722 (trial 3)");
}

TEST(Render, NarrowLosesTheBestThenTheTrials) {
    EXPECT_EQ(render(half_way(), 80), "[===========>            ]  46%  ETA 36s  busy 4/4  trials 7/16");
    EXPECT_EQ(render(half_way(), 40), "[======>       ]  46%  ETA 36s  busy 4/4");
    EXPECT_EQ(render(half_way(), 16), " 46%  ETA 36s");
    for (int columns = 0; columns < 200; ++columns)
        EXPECT_LE(render(half_way(), columns).size(), static_cast<std::size_t>(columns));
}

TEST(Render, BeginningAndEnd) {
    auto state = half_way();
    state.done = 0;
    state.best.reset();
    EXPECT_EQ(render(state, 120), "[>                       ]   0%  ETA ?  busy 4/4  trials 7/16");
    state.busy = 0;
    EXPECT_EQ(render(state, 120), "[>                       ]   0%  ETA ?  trials 7/16");
    state.done = 999.9;
    EXPECT_NE(render(state, 120).find(" 99%"), std::string::npos);
    state.done = state.total;
    state.elapsed_s = 3725;
    EXPECT_NE(render(state, 120).find("[========================] 100%  in 1h02m"), std::string::npos) << render(state, 120);
}

// What earlier jobs have done took this job no time.
TEST(Render, AJobThatGoesOnCountsItsOwnSpeed) {
    auto state = half_way();
    state.done_before = 400;  // 60 in 30 s, 540 are left
    EXPECT_EQ(render(state, 60), "[========>          ]  46%  ETA 4m30s  busy 4/4  trials 7/16");
    state.done = 400;
    EXPECT_EQ(render(state, 60), "[=========>             ]  40%  ETA ?  busy 4/4  trials 7/16");
    state.done = state.done_before * (1 + 1e-12);  // a rounding error, and no work
    EXPECT_EQ(render(state, 60), "[=========>             ]  40%  ETA ?  busy 4/4  trials 7/16");
}

class Printed {
public:
    Printed()
        : progress(80, [this](std::string_view text) {
              text_ += text;
              ++count;
          }) {}
    ProgressLines progress;
    int count = 0;
    std::string const& text() const { return text_; }

private:
    std::string text_;
};

TEST(ProgressLines, EveryHalfMinuteAndAtQuarters) {
    Printed timed;
    auto state = half_way();
    state.done = 10;
    for (int s = 0; s <= 95; ++s) timed.progress.update(state, s);
    EXPECT_EQ(timed.count, 3);
    EXPECT_EQ(timed.text().find('\r'), std::string::npos);

    Printed quarters;
    for (int done = 0; done <= 1000; ++done) {
        state.done = done;
        quarters.progress.update(state, done * 1e-3);
    }
    EXPECT_EQ(quarters.count, 4);
    quarters.progress.finish(state);
    EXPECT_EQ(quarters.count, 4) << "100 % is said once";
}

Summary sixteen_trials() {
    Summary summary;
    summary.result.metric = "val_accuracy";
    for (int id = 0; id < 16; ++id) {
        TrialSummary trial;
        trial.id = TrialId(id);
        trial.assignment = {{"train.optimizer.lr", 0.1}, {"model.hidden", Json::Array{64}}};
        Metrics metrics;
        metrics.epoch = 9;
        metric_place(metrics, "val_accuracy") = id == 5 ? 0.98 : 0.9;
        metric_place(metrics, "val_loss") = 0.1234;
        trial.tally.epochs = id == 14 ? 0 : 10;
        if (id < 14) trial.tally.best = metrics;
        summary.trials.push_back(trial);
    }
    return summary;
}

TEST(Leaderboard, TenBestThenTheRest) {
    std::istringstream lines(leaderboard(sixteen_trials(), 80));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "rank trial  val_accuracy epoch  val_loss  config");
    std::getline(lines, line);
    EXPECT_EQ(line, "   1     5        0.9800     9    0.1234  lr=0.1 hidden=[64]");
    std::getline(lines, line);
    EXPECT_EQ(line, "   2     0        0.9000     9    0.1234  lr=0.1 hidden=[64]");
    for (int rank = 3; rank <= 10; ++rank) std::getline(lines, line);
    std::getline(lines, line);
    EXPECT_EQ(line, "     ... 4 more");
    std::getline(lines, line);
    EXPECT_EQ(line, "     1 without a finite val_accuracy");
    std::getline(lines, line);
    EXPECT_EQ(line, "     1 without an epoch that has ended");
    std::getline(lines, line);
    EXPECT_EQ(line, "     trial 0 is 0.08 behind trial 5");
    EXPECT_FALSE(std::getline(lines, line));
}

TEST(Leaderboard, FitsEveryWidth) {
    for (int columns = 40; columns < 100; ++columns) {
        std::istringstream lines(leaderboard(sixteen_trials(), columns));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
    }
}

TEST(BestConfiguration, IsWholeAndNotCut) {
    auto summary = sixteen_trials();
    EXPECT_EQ(best_configuration(summary, 80), "");
    summary.result.best_trial = TrialId(5);
    auto& assignment = summary.trials[5].assignment;
    EXPECT_EQ(best_configuration(summary, 80), "best: trial 5 with train.optimizer.lr=0.1 model.hidden=[64]\n");
    assignment = {{"train.optimizer.lr", 0.016325011998025364}, {"model.name", "mlp"}, {"search.repeat", 2}};
    for (int i = 0; i < 3; ++i) assignment.emplace_back("model.layer_" + std::to_string(i), "a_long_name_of_a_layer");
    EXPECT_EQ(best_configuration(summary, 40),
              "best: trial 5 with\n"
              "      train.optimizer.lr=0.016325011998025364\n"
              "      model.name=mlp\n"
              "      model.layer_0=a_long_name_of_a_layer\n"
              "      model.layer_1=a_long_name_of_a_layer\n"
              "      model.layer_2=a_long_name_of_a_layer\n");
    assignment.clear();
    EXPECT_EQ(best_configuration(summary, 80), "");
}

TEST(Leaderboard, ShortNamesUnlessTwoEndAlike) {
    EXPECT_EQ(short_config({{"model.dropout", 0.5}, {"train.optimizer.name", "sgd"}}), "dropout=0.5 name=sgd");
    EXPECT_EQ(short_config({{"model.name", "mlp"}, {"train.optimizer.name", "sgd"}}),
              "model.name=mlp train.optimizer.name=sgd");
}

}  // namespace views_test
}  // namespace hopscotch
