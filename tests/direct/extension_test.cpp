// SPDX-License-Identifier: Apache-2.0
// A run that gets more trials: a director of all of them hears what the director of a few has trained, and goes on as if it
// had known all trials from the start.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "experiment/procedures.hpp"
#include "search/every_procedure.hpp"
#include "search/search.hpp"
#include "simulated_job.hpp"

namespace hopscotch {
namespace extension_test {
namespace {

constexpr int k_shards = 4;

Experiment experiment_of(std::string_view procedure, int trials, std::uint32_t in_flight, std::string const& more = "") {
    Problems problems("f.json");
    auto const limit = in_flight > 0 ? fmt::format(R"(, "in_flight": {})", in_flight) : "";
    auto out = read_experiment(fmt::format(R"({{"data": {{"path": "d"}}, "model": {{"name": "mlp"}}, "run": {{"dir": "r"}},
                                               "train": {{"epochs": 3}}, "search": {{"procedure": "{}", "trials": {},
                                               "metric": "val_loss", "mode": "min"{}{}}},
                                               "space": {{"model.cost": {{"type": "float", "low": 1, "high": 9}}}}}})",
                                           procedure, trials, limit, more),
                               {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::unique_ptr<Director> director_of(Experiment const& experiment, std::vector<BegunTrial> begun = {}) {
    DirectorOptions options{toy_cost, k_shards, experiment.search.in_flight.value_or(0)};
    options.begun = std::move(begun);
    return make_director(experiment, make_search(experiment), std::move(options));
}

// In the order of their first laps, as the journal has them.
class Begins : public SimulatedJob {
public:
    using SimulatedJob::SimulatedJob;
    std::vector<BegunTrial> begun() const {
        std::vector<BegunTrial> out;
        for (auto const& record : journal_)
            if (record.epoch == 0) out.push_back({record.trial, {}});
        return out;
    }
};

// Of each trial, without the times of the clock.
std::map<std::string, std::string> by_trial(std::string const& decisions) {
    std::map<std::string, std::string> out;
    std::istringstream lines(decisions);
    for (std::string line, kind, trial; std::getline(lines, line);) {
        std::istringstream(line) >> kind >> trial;
        out[trial] += line.substr(0, line.rfind(" at ")) + "\n";
    }
    return out;
}

void expect_equal_runs(ProcedureTraits const& row, std::string const& more, std::uint64_t seed) {
    Rng rng(seed);
    int const few = 2 + static_cast<int>(rng.below(7)), many = few + 1 + static_cast<int>(rng.below(8));
    auto const in_flight = rng.below(5);
    SCOPED_TRACE(fmt::format("{} {} seed {}: {} of {}, {} in flight", row.name, more, seed, few, many, in_flight));
    auto const small = experiment_of(row.name, few, in_flight, more), large = experiment_of(row.name, many, in_flight, more);
    auto const whole = director_of(large);
    SimulatedJob expected(*whole, seed);
    ASSERT_TRUE(expected.run_in_any_order());
    auto const first = director_of(small);
    Begins before(*first, seed + 1);
    ASSERT_TRUE(before.run_in_any_order(rng.below(2) == 0 ? SIZE_MAX : rng.below(static_cast<std::uint32_t>(3 * few))));
    auto const second = director_of(large, before.begun());
    SimulatedJob after(*second, seed + 2);
    ASSERT_NO_FATAL_FAILURE(after.feed(before));
    ASSERT_TRUE(after.run_in_any_order());
    EXPECT_EQ(after.outcome(), expected.outcome());
    auto const all = by_trial(expected.decisions);
    for (auto const& [trial, text] : by_trial(before.decisions)) EXPECT_TRUE(all.at(trial).starts_with(text)) << trial;
}

TEST(Extension, EqualsARunOfAllTrialsFromTheStart) {
    int rows = 0;
    for (auto const& row : procedure_traits()) {
        if (row.more_trials == MoreTrials::never || row.more_trials == MoreTrials::in_stages) continue;
        ++rows;
        std::string early;  // it learns from few results
        for (std::string const key : {"startup", "parents"})
            if (samples_with(row, key)) early = ", \"" + key + "\": 3";
        for (std::uint64_t seed = 0; seed < 30; ++seed)
            for (std::string const more : {"", R"(, "repeats": 2)"}) expect_equal_runs(row, early + more, seed);
    }
    EXPECT_GE(rows, 3);
}

TEST(Extension, BegunTrialsKeepTheirRoutes) {
    auto const experiment = experiment_of("random", 9, 0);
    auto options = DirectorOptions{toy_cost, k_shards, 0};
    options.routes = {0, 0.5};
    options.begun = {{TrialId(7), {ShardId(2), Direction::backward}}, {TrialId(0), {ShardId(3), Direction::forward}}};
    auto const director = make_director(experiment, make_search(experiment), std::move(options));
    auto const laps = director->release();
    ASSERT_GE(laps.size(), 6U);
    EXPECT_EQ(laps[0].trial, TrialId(7));
    EXPECT_EQ(laps[0].route, (Route{ShardId(2), Direction::backward}));
    EXPECT_EQ(laps[3].trial, TrialId(0));
    EXPECT_EQ(laps[3].route, (Route{ShardId(3), Direction::forward}));
}

}  // namespace
}  // namespace extension_test
}  // namespace hopscotch
