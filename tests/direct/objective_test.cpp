// SPDX-License-Identifier: Apache-2.0
// What the search goes by: a lap's own metric, or the best so far (search.objective).
#include <gtest/gtest.h>

#include "direct/scripted_search.hpp"

namespace hopscotch {
namespace objective_test {

struct Undecided : Script {
    bool decides_nothing() const override { return true; }
};

LapRecord lap(int epoch, double loss, Outcome outcome = Outcome::finished) {
    LapRecord out;
    out.trial = TrialId(0);
    out.epoch = epoch;
    out.outcome = outcome;
    out.valid.rows = 1;
    out.valid.loss = loss;
    out.valid.correct = loss;
    return out;
}

// A trial of five epochs, of which the last fails.
template <class Kind>
std::string heard(Objective objective, std::string const& metric, Mode mode) {
    auto experiment = toy_experiment(5);
    experiment.search.objective = objective;
    experiment.search.metric = metric;
    experiment.search.mode = mode;
    auto script = std::make_unique<Kind>();
    script->until = 5;
    auto const& search = *script;
    auto const director = make_director(experiment, std::move(script), {[](TrialView const&) { return 1.0; }, 1, 1, 0});
    director->release();
    int epoch = 0;
    for (double const loss : {0.5, 0.25, 0.75, 0.125}) director->record(lap(epoch++, loss));
    director->record(lap(epoch, 0, Outcome::diverged));
    return search.heard;
}

TEST(Objective, LastIsTheLapItself) {
    std::string const wanted = "0:0=0.5 0:1=0.25 0:2=0.75 0:3=0.125 0:4=none ";
    EXPECT_EQ(heard<Script>(Objective::last, "val_loss", Mode::min), wanted);
    EXPECT_EQ(heard<Undecided>(Objective::last, "val_loss", Mode::min), wanted);
}

TEST(Objective, BestIsTheBestSoFarAndAFailureStaysOne) {
    std::string const low = "0:0=0.5 0:1=0.25 0:2=0.25 0:3=0.125 0:4=none ";
    EXPECT_EQ(heard<Script>(Objective::best, "val_loss", Mode::min), low);
    EXPECT_EQ(heard<Undecided>(Objective::best, "val_loss", Mode::min), low);
    std::string const high = "0:0=-0.5 0:1=-0.5 0:2=-0.75 0:3=-0.75 0:4=none ";
    EXPECT_EQ(heard<Script>(Objective::best, "val_accuracy", Mode::max), high);
    EXPECT_EQ(heard<Undecided>(Objective::best, "val_accuracy", Mode::max), high);
}

// What early stopping leaves out of a curve is what the search was told last.
TEST(Objective, OfATrialThatHasStoppedLearning) {
    auto experiment = toy_experiment(9, R"(, "early_stopping": {"patience": 2})");
    experiment.search.objective = Objective::best;
    auto script = std::make_unique<Script>();
    script->until = 5;
    auto const& search = *script;
    auto const director = make_director(experiment, std::move(script), {[](TrialView const&) { return 1.0; }, 1, 1, 0});
    for (int epoch = 0; epoch < 3; ++epoch) director->record(lap(epoch, 0.25 + 0.25 * epoch));
    EXPECT_EQ(search.heard, "0:0=0.25 0:1=0.25 0:2=0.25 0:3=0.25 0:4=0.25 ");
}

}  // namespace objective_test
}  // namespace hopscotch
