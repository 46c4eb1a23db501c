// SPDX-License-Identifier: Apache-2.0
// Copies of a configuration: whatever the procedure, the order of arrival and the failures, the inner search sees one trial
// a group, whose losses are the means.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "every_procedure.hpp"
#include "fake_director.hpp"
#include "search/plan.hpp"
#include "search/repeated.hpp"

namespace hopscotch {
namespace repeated_test {

using State = FakeDirector::State;

// Copies of a configuration do not stay copies if trials take over states.
std::vector<std::string> without_clones(std::vector<std::string> procedures) {
    std::erase_if(procedures, [](std::string const& each) { return row_of(each).clones; });
    return procedures;
}

std::vector<std::string> const k_procedures = without_clones(
    with_every_procedure({R"("procedure": "grid")", R"("procedure": "random", "trials": 9)",
                          R"("procedure": "sobol", "trials": 8)", R"("procedure": "tpe", "trials": 9, "startup": 3)",
                          R"("procedure": "successive_halving", "trials": 9)", R"("procedure": "hyperband", "eta": 2)",
                          R"("procedure": "bohb", "startup": 3)", R"("procedure": "asha", "trials": 12, "eta": 2)",
                          R"("procedure": "asha", "trials": 12, "variant": "stop", "min_epochs": 2)",
                          R"("procedure": "median", "trials": 9, "min_trials": 2)",
                          R"("procedure": "asha", "trials": 40, "budget": {"epochs": 60})"}));

bool is(std::string const& procedure, std::string const& name) { return procedure.starts_with(R"("procedure": ")" + name); }
bool has_rule(std::string const& procedure) { return row_of(procedure).has_rule; }

Experiment experiment_of(std::string const& procedure, std::string const& more = "") {
    std::string const rates = is(procedure, "grid") ? "[0.1, 0.2, 0.3]" : R"({"type": "float", "low": 0, "high": 1})";
    return search_experiment("{" + procedure + more + "}",
                             R"({"train.optimizer.lr": )" + rates + R"(, "train.batch_size": [16, 32, 64]})",
                             R"({"epochs": 9})");
}

// Remembers what a search was told.
class Spy : public Search {
public:
    explicit Spy(std::unique_ptr<Search> search) : search_(std::move(search)) {}
    std::optional<Proposal> next() override {
        auto out = search_->next();
        if (out && out->kind == Proposal::Kind::start) heard.emplace_back();
        return out;
    }
    Verdict report(Report const& report) override {
        auto& laps = heard.at(report.trial.index());
        EXPECT_EQ(static_cast<std::size_t>(report.epoch), laps.size()) << "not the next lap";
        laps.push_back(report.loss);
        return search_->report(report);
    }
    bool finished() const override { return search_->finished(); }
    bool decides_nothing() const override { return search_->decides_nothing(); }

    std::vector<std::vector<std::optional<double>>> heard;  // by trial

private:
    std::unique_ptr<Search> search_;
};

// Of the configuration, and what is the copy's own.
std::optional<double> loss_of(TrialId id, FakeDirector::Trial const& trial, int epochs) {
    double const own = Rng(stream_key(9, Purpose::synthetic, {id.value, epochs})).uniform();
    return trial.assignment[0].second.number() + own + 1.0 / epochs;
}

struct Played {
    std::unique_ptr<Experiment> experiment;
    std::unique_ptr<Search> search;
    std::unique_ptr<FakeDirector> director;
    Spy* inner = nullptr;
};

Played play(std::string const& procedure, int copies, std::size_t in_flight, double failing, std::uint64_t seed) {
    Played out;
    out.experiment = std::make_unique<Experiment>(experiment_of(procedure));
    auto spy = std::make_unique<Spy>(make_search(*out.experiment));
    out.inner = spy.get();
    out.experiment->search.copies.repeats = copies;
    auto const last = has_rule(procedure) ? RepeatedSearch::LastEpoch([](Assignment const&) { return 9; }) : nullptr;
    out.search = std::make_unique<RepeatedSearch>(std::move(spy), out.experiment->search, last);
    auto dice = std::make_shared<Rng>(stream_key(seed, Purpose::search, {2}));
    out.director = std::make_unique<FakeDirector>(
        *out.search, in_flight,
        [dice, failing](TrialId id, FakeDirector::Trial const& trial, int epochs) {
            return dice->uniform() < failing ? std::nullopt : loss_of(id, trial, epochs);
        },
        seed);
    return out;
}

// The inner search has heard the means, each once, in order; and of a failure, once.
void expect_means(std::vector<std::optional<double>> const& heard, std::vector<FakeDirector::Trial> const& copies) {
    std::size_t whole = SIZE_MAX;
    bool failed = false;
    for (auto const& copy : copies) {
        whole = std::min(whole, copy.losses.size());
        failed = failed || copy.state == State::failed;
    }
    ASSERT_LE(heard.size(), whole + (failed ? 1 : 0));
    if (!failed) {
        EXPECT_EQ(heard.size(), whole);
    }
    for (std::size_t lap = 0; lap < heard.size(); ++lap) {
        if (failed && lap + 1 == heard.size()) {
            EXPECT_FALSE(heard[lap]);
            continue;
        }
        double sum = 0;
        for (auto const& copy : copies) sum += copy.losses[lap];
        ASSERT_TRUE(heard[lap]);
        EXPECT_EQ(*heard[lap], sum / static_cast<double>(copies.size()));
    }
}

void expect_copies(std::vector<FakeDirector::Trial> const& copies) {
    bool const failed = std::ranges::any_of(copies, [](auto const& copy) { return copy.state == State::failed; });
    for (std::size_t i = 0; i < copies.size(); ++i) {
        auto const& [path, value] = copies[i].assignment.back();
        if (copies.size() > 1) {
            EXPECT_EQ(path, k_repeat_entry);
            EXPECT_EQ(value, Json(static_cast<std::int64_t>(i)));
        }
        EXPECT_EQ(copies[i].assignment[0], copies[0].assignment[0]);
        EXPECT_NE(copies[i].state, State::running);
        if (failed) {
            EXPECT_NE(copies[i].state, State::paused) << "waits for who has failed";
        } else {
            EXPECT_EQ(copies[i].state, copies[0].state);
            EXPECT_EQ(copies[i].epochs, copies[0].epochs);
        }
    }
}

TEST(Repeated, AnyProcedureOrderAndFailures) {
    for (auto const& procedure : k_procedures)
        for (int copies = 1; copies <= 3; ++copies)
            for (std::uint64_t seed = 0; seed < 60; ++seed) {
                auto const in_flight = 1 + seed % 8;
                double const failing = seed % 3 == 0 ? 0 : 0.01 * static_cast<double>(seed % 20);
                auto const about = fmt::format("{}, {} copies, {} in flight, seed {}", procedure, copies, in_flight, seed);
                SCOPED_TRACE(about);
                auto const played = play(procedure, copies, in_flight, failing, seed);
                ASSERT_TRUE(played.director->run(100'000));
                auto const& trials = played.director->trials();
                auto const size = static_cast<std::size_t>(copies);
                ASSERT_EQ(trials.size(), played.inner->heard.size() * size) << "a copy never started";
                for (std::size_t group = 0; group < played.inner->heard.size(); ++group) {
                    auto const first = trials.begin() + static_cast<std::ptrdiff_t>(group * size);
                    std::vector<FakeDirector::Trial> const members(first, first + copies);
                    expect_means(played.inner->heard[group], members);
                    expect_copies(members);
                }
                if (HasFailure()) return;
            }
}

// One copy of each is the search itself.
TEST(Repeated, OneCopyChangesNothing) {
    for (auto const& procedure : k_procedures)
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            auto const experiment = experiment_of(procedure);
            auto const plain = make_search(experiment);
            auto const loss = [](TrialId id, FakeDirector::Trial const& trial, int epochs) {
                return loss_of(id, trial, epochs);
            };
            FakeDirector alone(*plain, 1 + seed % 5, loss, seed);
            ASSERT_TRUE(alone.run());
            auto const played = play(procedure, 1, 1 + seed % 5, 0, seed);
            ASSERT_TRUE(played.director->run());
            ASSERT_EQ(played.director->log(), alone.log()) << procedure;
            for (std::size_t i = 0; i < alone.trials().size(); ++i) {
                EXPECT_EQ(played.director->trials()[i].state, alone.trials()[i].state) << procedure;
                EXPECT_EQ(played.director->trials()[i].losses, alone.trials()[i].losses) << procedure;
            }
        }
}

// What the copies' trials are is a function of the configuration alone.
TEST(Repeated, RepeatsAndFoldsAreEntriesOfTheAssignment) {
    auto const experiment = experiment_of(R"("procedure": "random", "trials": 2)", R"(, "repeats": 2, "folds": 3)");
    auto const search = make_search(experiment);
    std::string text;
    while (auto const proposal = search->next()) {
        Problems problems("");
        auto const config = resolve(experiment, proposal->assignment, problems);
        EXPECT_EQ(problems.text(), "");
        EXPECT_EQ(value_of(proposal->assignment, "search.repeat")->integer(), config.repeat);
        text += fmt::format("{}:{}/{} ", proposal->trial.value, config.repeat, config.fold);
    }
    EXPECT_EQ(text, "0:0/0 1:0/1 2:0/2 3:1/0 4:1/1 5:1/2 6:0/0 7:0/1 8:0/2 9:1/0 10:1/1 11:1/2 ");
    auto const folds = make_search(experiment_of(R"("procedure": "random", "trials": 1)", R"(, "folds": 2)"));
    EXPECT_EQ(to_json(folds->next()->assignment).dump().find("repeat"), std::string::npos);
}

TEST(Repeated, ThePlanCountsCopies) {
    auto const text = [](std::string const& procedure, std::string const& more) {
        return text_of(plan_of(experiment_of(procedure, more)));
    };
    EXPECT_EQ(text(R"("procedure": "random", "trials": 4)", R"(, "repeats": 3)"),
              "4 configurations, 3 times each: 12 trials, 108 epochs in all\n");
    EXPECT_EQ(
        text(R"("procedure": "successive_halving", "trials": 9)", R"(, "repeats": 2, "folds": 2)"),
        "rungs: 9 to epoch 1, 3 to epoch 3, 1 to epoch 9\n9 configurations, 4 times each: 36 trials, 84 epochs in all\n");
    auto const plan =
        plan_of(experiment_of(R"("procedure": "asha", "trials": 40, "budget": {"epochs": 60})", R"(, "repeats": 3)"));
    EXPECT_EQ(plan.least, 60);
    EXPECT_LE(plan.most, 60 - 1 + 3 * 9);
    EXPECT_LE(plan.trials, 60) << "each has an epoch at least";
}

// The budget is of epochs that are trained, whoever trains them.
TEST(Repeated, TheBudgetOfEpochsIsOfAllCopies) {
    auto const experiment =
        experiment_of(R"("procedure": "random", "trials": 40, "budget": {"epochs": 54})", R"(, "repeats": 3)");
    auto const search = make_search(experiment);
    std::size_t trials = 0;
    while (search->next()) ++trials;
    EXPECT_EQ(trials, 6U);  // of nine epochs each
}

}  // namespace repeated_test
}  // namespace hopscotch
