// SPDX-License-Identifier: Apache-2.0
// Decisions in virtual time are a function of the experiment: properties over random searches, timings, failures and
// crashes.
#include <gtest/gtest.h>

#include <iostream>

#include "direct/makespans.hpp"
#include "long_suite.hpp"

namespace hopscotch {
namespace virtual_time_test {

// One of many experiments: which procedure, how many trials, epochs, shards ...
struct Instance {
    int kind = 0;  // 0 asha, 1 dice, 2 pbt
    std::int64_t seed = 0, trials = 0;
    int epochs = 0, eta = 2, interval = 1, patience = 0;
    double bad = 0;  // probability of a lap
    double flat_cost = -1;
    DirectorOptions options;
};

Instance instance_of(std::int64_t seed) {
    Rng rng(stream_key(3, Purpose::synthetic, {seed}));
    Instance out;
    out.seed = seed;
    out.kind = static_cast<int>(rng.below(3));
    out.trials = 1 + rng.below(24);
    out.epochs = 1 + static_cast<int>(rng.below(9));
    out.eta = 2 + static_cast<int>(rng.below(3));
    out.interval = 1 + static_cast<int>(rng.below(4));
    out.patience = out.kind < 2 && rng.below(3) == 0 ? 1 + static_cast<int>(rng.below(3)) : 0;
    out.bad = std::array{0.0, 0.02, 0.2}[rng.below(3)];
    out.flat_cost = std::array{-1.0, 1.0, 0.0}[std::max(rng.below(5), 2U) - 2];
    out.options.shards = 1 + static_cast<int>(rng.below(8));
    out.options.in_flight = rng.below(20);
    out.options.lookahead = std::array{0.0, 0.5, 1.0, 3.0}[rng.below(4)];
    out.options.unit_cost = [flat = out.flat_cost](TrialView const& trial) { return flat >= 0 ? flat : toy_cost(trial); };
    return out;
}

std::unique_ptr<Director> director_of(Instance const& in) {
    std::unique_ptr<Search> search;
    if (in.kind == 0) search = std::make_unique<ToyAsha>(in.trials, in.eta, in.epochs);
    if (in.kind == 1) search = std::make_unique<ToyDice>(in.seed, in.trials, in.epochs);
    if (in.kind == 2) search = std::make_unique<ToyPbt>(in.seed, in.trials, in.interval, in.epochs);
    auto const more = in.patience > 0 ? fmt::format(R"(, "early_stopping": {{"patience": {}}})", in.patience) : "";
    return make_director(toy_experiment(in.epochs, more), std::move(search), in.options);
}

SimulatedJob::Bad outcomes_of(Instance const& in) {
    return [in](LapId const& lap) {
        double const dice = toy_random(in.seed, lap.trial.value, lap.epoch);
        if (dice >= in.bad) return Outcome::finished;
        return dice < in.bad / 3 ? Outcome::diverged : dice < in.bad / 2 ? Outcome::failed : Outcome::stopped;
    };
}

// Real costs have little to do with those that the director reckons with.
VirtualCluster::Cost wild_costs(Rng& rng) {
    return [&rng](LapId const&, int) { return std::exp(2 * rng.normal()); };
}

std::string about(Instance const& in) {
    return fmt::format("seed {} kind {} trials {} epochs {} shards {} in flight {} lookahead {}", in.seed, in.kind,
                       in.trials, in.epochs, in.options.shards, in.options.in_flight, in.options.lookahead);
}

void expect_all_ended(Director const& director, Instance const& in) {
    for (auto const& view : director.trials()) {
        EXPECT_TRUE(has_ended(view.status)) << about(in) << ": trial " << view.id.value << " is " << name_of(view.status);
        EXPECT_LE(view.epochs_done, in.epochs);
    }
    EXPECT_EQ(static_cast<std::int64_t>(director.trials().size()), in.trials) << about(in);
}

int const k_instances = testing::long_suite() ? 600 : 150;

TEST(VirtualTime, NeitherTrainersNorTimingMatter) {
    for (int seed = 0; seed < k_instances; ++seed) {
        auto const in = instance_of(seed);
        std::string expected;
        for (int trainers = 0; trainers <= 8; ++trainers) {
            auto const director = director_of(in);
            SimulatedJob job(*director, static_cast<std::uint64_t>(100 * seed + trainers), outcomes_of(in));
            Rng timing(static_cast<std::uint64_t>(trainers));
            bool const ended =
                trainers == 0 ? job.run_in_any_order() : job.run_on(in.options.shards, trainers, wild_costs(timing));
            ASSERT_TRUE(ended) << about(in) << " hangs with " << trainers << " trainers";
            expect_all_ended(*director, in);
            if (trainers == 0) expected = job.outcome();
            ASSERT_EQ(job.outcome(), expected) << about(in) << ", trainers " << trainers;
        }
    }
}

TEST(VirtualTime, ACrashAndAResumeDoNotMatter) {
    for (int seed = 0; seed < k_instances; ++seed) {
        auto const in = instance_of(seed);
        auto const whole = director_of(in);
        SimulatedJob undisturbed(*whole, 1, outcomes_of(in));
        ASSERT_TRUE(undisturbed.run_in_any_order());
        Rng rng(stream_key(5, Purpose::synthetic, {seed}));
        for (int crash = 0; crash < 3; ++crash) {
            auto const stop_at = rng.below(static_cast<std::uint32_t>(undisturbed.trained.size() + 1));
            auto const first = director_of(in), second = director_of(in);
            SimulatedJob killed(*first, static_cast<std::uint64_t>(7 * seed + crash), outcomes_of(in));
            ASSERT_TRUE(killed.run_in_any_order(stop_at));
            SimulatedJob resumed(*second, static_cast<std::uint64_t>(9 * seed + crash), outcomes_of(in));
            resumed.go_on_from(killed);
            Rng timing(static_cast<std::uint64_t>(crash));
            ASSERT_TRUE(resumed.run_on(in.options.shards, 1 + crash, wild_costs(timing)))
                << about(in) << " hangs after " << stop_at;
            ASSERT_EQ(resumed.outcome(), undisturbed.outcome()) << about(in) << ", killed after " << stop_at;
        }
    }
}

// Decisions by arrival depend on timing, but nothing hangs, and the journal's order of records replays them.
TEST(VirtualTime, ByArrivalTheOrderOfRecordsDecides) {
    int differ = 0;
    for (int seed = 0; seed < k_instances; ++seed) {
        auto in = instance_of(seed);
        in.options.decide_by = DecideBy::arrival;
        std::set<std::string> outcomes;
        for (int timing = 0; timing < 3; ++timing) {
            auto const director = director_of(in);
            SimulatedJob job(*director, static_cast<std::uint64_t>(timing), outcomes_of(in));
            ASSERT_TRUE(job.run_in_any_order()) << about(in);
            expect_all_ended(*director, in);
            outcomes.insert(job.outcome());
            auto const again = director_of(in);
            SimulatedJob replay(*again, 0, outcomes_of(in));
            replay.feed(job);
            ASSERT_EQ(replay.outcome(), job.outcome()) << about(in);
        }
        differ += outcomes.size() > 1 ? 1 : 0;
    }
    EXPECT_GT(differ, k_instances / 4);
}

// The rows of the reference simulation: trials on as many trainers as shards, promotion ASHA, three in flight each.
TEST(VirtualTime, CostsNoTimeWithOneLapOfLookahead) {
    for (int const trainers : {8, 16})
        for (double const spread : {0.0, 0.5})
            for (double const error : {0.05, 0.2}) {
                auto const out = compare({Decider::asha, trainers, 15 * trainers, 9, spread, error, 3 * trainers}, 1, 3);
                std::cout << trainers << " trainers, spread " << spread << ", error " << error << ": makespan "
                          << out.makespan << ", utilisation " << out.utilisation << " of " << out.by_arrival << "\n";
                EXPECT_LE(out.makespan, 1.03);
            }
}

TEST(VirtualTime, KeepsTrainersAsBusyAsArrivalOrder) {
    for (int const trainers : {8, 16})
        for (double const spread : {0.0, 0.6})
            for (auto const procedure : {Decider::asha, Decider::dice, Decider::median, Decider::pbt}) {
                bool const population = procedure == Decider::pbt;
                Case const in{procedure, trainers, (population ? 2 : 15) * trainers, population ? 40 : 9, spread};
                auto const out = compare(in, 1, 3);
                std::cout << trainers << " trainers, spread " << spread << ", procedure " << static_cast<int>(procedure)
                          << ": utilisation " << out.utilisation << " of " << out.by_arrival << "\n";
                EXPECT_GE(out.utilisation, 0.97);
            }
}

}  // namespace virtual_time_test
}  // namespace hopscotch
