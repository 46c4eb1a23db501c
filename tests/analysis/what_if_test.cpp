// SPDX-License-Identifier: Apache-2.0
// Searches on a table of learning curves.
#include "analysis/what_if/what_if.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "analysis/what_if/picture.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace what_if_test {

class WhatIfTest : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    KnownTrials read(std::string const& text, CurveColumns const& columns = {}) const {
        std::ofstream(folder_ / "t.csv") << text;
        return read_curves(folder_ / "t.csv", columns);
    }
    std::string problem(std::string const& text, CurveColumns const& columns = {}) const {
        try {
            read(text, columns);
        } catch (Error const& error) {
            std::string out = error.what();
            auto const at = out.find(folder_.string() + "/");
            return at == out.npos ? out : out.erase(at, folder_.string().size() + 1);
        }
        return "";
    }

    std::filesystem::path folder_ = ::testing::TempDir() + "what_if_" + std::to_string(::getpid());
};

// Configuration c of `count` ends at c / count, and approaches that from 0.
std::string curves(int count, int epochs) {
    std::string out = "trial,epoch,val_accuracy\n";
    for (int c = 0; c < count; ++c)
        for (int e = 1; e <= epochs; ++e) out += fmt::format("{},{},{}\n", c, e, c / double(count) * (1 - std::exp2(-e)));
    return out;
}

TEST_F(WhatIfTest, Table) {
    auto const known = read("lr,hidden,epoch,val_loss,seconds\n0.1,8,1,3,2\n0.1,8,2,2,2\n0.1,16,1,1,4\n\n0.1,8,3,,2\n");
    ASSERT_EQ(known.trials.size(), 2U);
    EXPECT_EQ(known.metric, "val_loss");
    EXPECT_EQ(known.epochs(), 4);
    EXPECT_EQ(known.experiment.train.epochs, 3);
    EXPECT_EQ(known.trials[0].text, "lr=0.1 hidden=8");
    EXPECT_EQ(known.trials[1].unit_cost, 4);
    EXPECT_EQ(known.value_of(known.trials[0].laps[1], known.trials[0]), 2);
    EXPECT_TRUE(std::isnan(known.value_of(known.trials[0].laps[2], known.trials[0]))) << "an empty cell";
    EXPECT_EQ(best_known(known), 1);
    EXPECT_FALSE(known.is_better(2, 1)) << "a loss";
    EXPECT_TRUE(read("c,epoch,score\n0,1,2\n", {"score", "max"}).is_better(2, 1));
}

TEST_F(WhatIfTest, ProblemsOfATable) {
    EXPECT_EQ(problem(""), "t.csv: is empty (a header with `epoch` is needed)");
    EXPECT_EQ(problem("lr,val_loss\n"),
              "t.csv: has no column \"epoch\" (a row is one epoch of one configuration; there are: lr, val_loss)");
    EXPECT_EQ(problem("lr,epoch,val_loss\n"), "t.csv: has no row below its header (nothing can be played)");
    EXPECT_EQ(problem("epoch,val_loss\n1,2\n"),
              "t.csv: has no column that tells configurations apart (there are: epoch, val_loss)");
    EXPECT_EQ(problem("lr,epoch,val_loss,val_f1\n"),
              "t.csv: has 2 columns of metrics; say which with --metric (there are: lr, epoch, val_loss, val_f1)");
    EXPECT_EQ(problem("lr,epoch,val_loss\n", {"x", ""}),
              "t.csv: has no column \"x\" (--metric names it; there are: lr, epoch, val_loss)");
    EXPECT_EQ(problem("lr,epoch,x\n1,1,1\n", {"x", ""}),
              "t.csv: \"x\" is not one of our metrics (small or large values may be better); add --mode min or max");
    EXPECT_EQ(problem("lr,epoch,val_loss\n1,1,1\n1,3,1\n"),
              "t.csv:3: epoch 3 of lr=1 stands where epoch 2 should (the rows of a configuration are in the order of its "
              "epochs)");
    EXPECT_EQ(problem("lr,epoch,val_loss\n1,0,1\n2,1,1\n").substr(0, 40), "t.csv:3: epoch 1 of lr=2 stands where ep");
    EXPECT_EQ(problem("lr,epoch,val_loss\n1,1,x\n"),
              "t.csv:2: \"x\" in column \"val_loss\" is not a number; write one, or nothing where the metric has no value");
    EXPECT_EQ(problem("lr,epoch,val_loss\n1,1\n"), "t.csv:2: has 2 cells (the header has 3)");
}

TEST_F(WhatIfTest, RandomTrainsTheFirstOnesToTheEnd) {
    auto const known = read(curves(9, 4));
    auto const played = play(known, {"random", {}, 12}, 0);
    EXPECT_EQ(played.trials, 3);
    EXPECT_EQ(played.epochs, 12);
    EXPECT_EQ(played.not_known, 0);
    EXPECT_EQ(played.best_trial, 2U);
    EXPECT_DOUBLE_EQ(*played.best, 2 / 9.0 * (1 - std::exp2(-4)));
}

TEST_F(WhatIfTest, AnOrderIsASeed) {
    auto const known = read(curves(40, 4));
    WhatIfCase const random{"random", {}, 20};
    auto const first = play(known, random, 1), again = play(known, random, 1), second = play(known, random, 2);
    EXPECT_EQ(first.best_trial, again.best_trial);
    EXPECT_TRUE(first.best_trial != second.best_trial || play(known, random, 3).best_trial != first.best_trial);
}

// The curves never cross, so each halving keeps the best.
TEST_F(WhatIfTest, EveryProcedureFindsTheBestOfCurvesThatDoNotCross) {
    auto const known = read(curves(27, 27));
    for (std::string const procedure : {"asha", "hyperband", "successive_halving", "best_after", "median"}) {
        std::vector<std::string> settings;
        if (procedure == "successive_halving" || procedure == "best_after") settings = {"search.trials=27"};
        auto const played = play(known, {procedure, settings, 27 * 27}, 3);
        if (procedure != "hyperband") {
            EXPECT_EQ(played.best_trial, 26U) << procedure;
        }
        EXPECT_LE(played.epochs, 27 * 27 + 27) << procedure;
        EXPECT_FALSE(played.decisions.empty()) << procedure;
    }
}

std::size_t count_of(std::string const& text, std::string const& part) {
    std::size_t out = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
    return out;
}

TEST_F(WhatIfTest, ImprovementsLeadToTheBest) {
    auto const known = read(curves(27, 27));
    auto const played = play(known, {"asha", {}, 200}, 3);
    ASSERT_FALSE(played.improvements.empty());
    EXPECT_EQ(played.improvements.back().best, *played.best);
    EXPECT_LE(played.improvements.back().epochs, played.epochs);
    for (std::size_t i = 1; i < played.improvements.size(); ++i) {
        EXPECT_GT(played.improvements[i].best, played.improvements[i - 1].best);
        EXPECT_GT(played.improvements[i].epochs, played.improvements[i - 1].epochs);
    }
}

TEST_F(WhatIfTest, ThePictureHasALineAndABandForEachSearch) {
    auto const known = read(curves(27, 27));
    WhatIf what_if{known, 200, {{"random", {}}, {"asha <a>", {}}}};
    for (int order = 0; order < 5; ++order) {
        what_if.rows[0].played.push_back(play(known, {"random", {}, 200}, order));
        what_if.rows[1].played.push_back(play(known, {"asha", {}, 200}, order));
    }
    auto const picture = what_if_picture(what_if);
    EXPECT_EQ(count_of(picture, "<polyline"), 2U);
    EXPECT_EQ(count_of(picture, "<polygon"), 2U);
    EXPECT_EQ(count_of(picture, "asha &lt;a&gt;"), 1U);
    EXPECT_EQ(count_of(picture, "nan"), 0U);
    EXPECT_EQ(count_of(picture, "inf"), 0U);
    EXPECT_GT(count_of(picture, ","), 200U) << "the lines have places";
}

// One order, one epoch, one value; and values that are not there.
TEST_F(WhatIfTest, ThePictureOfNextToNothing) {
    auto const known = read("trial,epoch,val_loss\n0,1,2\n");
    WhatIf const one{known, 1, {{"random", {play(known, {"random", {}, 1}, 0)}}}};
    auto const nothing = read("trial,epoch,val_loss\n0,1,\n");
    WhatIf const none{nothing, 1, {{"random", {play(nothing, {"random", {}, 1}, 0)}}}};
    for (auto const& picture : {what_if_picture(one), what_if_picture(none)}) {
        EXPECT_EQ(count_of(picture, "nan"), 0U) << picture;
        EXPECT_EQ(count_of(picture, "inf"), 0U) << picture;
        EXPECT_EQ(count_of(picture, "<polyline"), 1U);
    }
}

TEST_F(WhatIfTest, EpochsThatWereNotTrainedAreCounted) {
    auto known = read(curves(4, 4));
    known.trials[1].laps.resize(1);
    auto const played = play(known, {"random", {}, 16}, 0);
    EXPECT_EQ(played.not_known, 3);
    WhatIf const what_if{known, 16, {{"random", {played}}}};
    EXPECT_NE(what_if_text(what_if).find("random: 18.8 % of its epochs were never trained"), std::string::npos);
}

TEST_F(WhatIfTest, WhatCannotBePlayed) {
    auto const known = read(curves(4, 4));
    for (std::string const procedure : {"tpe", "pbt", "bohb"}) {
        try {
            play(known, {procedure, {}, 16}, 0);
            ADD_FAILURE() << procedure;
        } catch (ConfigError const& error) {
            EXPECT_EQ(std::string(error.what()),
                      "--procedure " + procedure +
                          ": cannot be played on known results (it asks for configurations without results); "
                          "choose among random, successive_halving, hyperband, asha, best_after, extrapolate, median");
        }
    }
    EXPECT_THROW(play(known, {"asha", {"search.eta=1"}, 16}, 0), ConfigError);
    try {
        play(known, {"asah", {}, 16}, 0);
        ADD_FAILURE() << "a typo";
    } catch (ConfigError const& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("search procedure \"asah\" is unknown (known: grid, random"))
            << error.what();
    }
}

TEST_F(WhatIfTest, TheFirstDifferenceOfDecisions) {
    auto const played = play(read(curves(9, 4)), {"asha", {}, 30}, 0).decisions;
    EXPECT_EQ(first_difference(played, played), std::nullopt);
    auto other = played;
    other[2].until_epoch += 1;
    EXPECT_NE(first_difference(played, other), std::nullopt);
    other = played;
    other.pop_back();
    EXPECT_TRUE(first_difference(played, other)->starts_with(fmt::format("decision {}: only in the run", played.size())));
    EXPECT_TRUE(first_difference(other, played)->starts_with(fmt::format("decision {}: only played", played.size())));
}

}  // namespace what_if_test
}  // namespace hopscotch
