// SPDX-License-Identifier: Apache-2.0
// Every procedure that decides, under the director: the same decisions for any trainers, any timing, failures and crashes.
#include <gtest/gtest.h>

#include "direct/every_procedure.hpp"
#include "direct/simulated_job.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace procedures_test {

std::vector<std::string> const k_procedures =
    every_procedure_and({R"("procedure": "pbt", "population": 12, "interval": 1)",
                         R"("procedure": "asha", "trials": 1000, "budget": {"epochs": 60})",
                         R"("procedure": "asha", "trials": 12, "eta": 2, "repeats": 3, "objective": "best")",
                         R"("procedure": "asha", "trials": 12, "variant": "stop", "folds": 2)",
                         R"("procedure": "hyperband", "repeats": 2, "folds": 2, "in_flight": 3)",
                         R"("procedure": "asha", "trials": 30, "variant": "stop", "objectives": ["val_loss", "val_accuracy"],
                             "subject_to": {"val_accuracy": {"above": 0.5}})",
                         R"("procedure": "hyperband", "repeats": 2, "objectives": ["val_loss", "val_accuracy"])",
                         R"("procedure": "tpe", "trials": 24, "startup": 6, "objectives": ["val_loss", "val_accuracy"])",
                         R"("procedure": "best_after", "trials": 24, "objectives": ["val_loss", "val_accuracy"],
                             "budget": {"patience": 9})",
                         R"("procedure": "median", "trials": 12, "repeats": 2, "budget": {"epochs": 100})",
                         R"("procedure": "tpe", "trials": 12, "startup": 6, "repeats": 2)",
                         R"("procedure": "random", "trials": 9, "repeats": 4, "race": true)",
                         R"("procedure": "gp", "trials": 9, "startup": 3, "folds": 3, "race": true)",
                         R"("procedure": "asha", "trials": 14, "eta": 2, "repeats": 3, "race": true, "objective": "best")",
                         R"("procedure": "hyperband", "repeats": 2, "folds": 2, "race": true, "in_flight": 3)",
                         R"("procedure": "random", "trials": 9, "repeats": 6, "race": true, "budget": {"epochs": 140})",
                         R"("procedure": "random", "trials": 1000, "budget": {"patience": 8})",
                         R"("procedure": "random", "trials": 1000, "budget": {"target": 0.01})",
                         R"("procedure": "tpe", "trials": 1000, "startup": 6, "budget": {"target": 0.005, "patience": 12})",
                         R"("procedure": "asha", "trials": 1000, "budget": {"patience": 10})",
                         R"("procedure": "hyperband", "budget": {"target": 0.01})",
                         R"("procedure": "pbt", "population": 12, "interval": 2, "budget": {"target": 0.01})"});

Experiment experiment_of(std::string const& procedure, std::string const& more) {
    Problems problems("f.json");
    auto out =
        read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": 9)" +
                            more + R"(}, "search": {"metric": "val_loss", )" + procedure +
                            R"(}, "space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true},
                            "train.optimizer.momentum": {"type": "float", "low": 0.1, "high": 0.9}}})",
                        {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

double cost_of(TrialView const& trial) { return 1 + 3 * trial.config->train.optimizer.momentum; }

SimulatedJob::Bad outcomes(double share) {
    return [share](LapId const& lap) {
        double const dice = Rng(stream_key(1, Purpose::synthetic, {lap.trial.value, lap.epoch})).uniform();
        if (dice >= share) return Outcome::finished;
        return dice < share / 2 ? Outcome::diverged : Outcome::stopped;
    };
}

TEST(Procedures, DecideTheSameForAnyTrainersTimingsAndCrashes) {
    for (auto const& procedure : k_procedures)
        for (double const share : {0.0, 0.1})
            for (std::string const more : {"", R"(, "early_stopping": {"patience": 2})"}) {
                if (!more.empty() && procedure.find("pbt") != procedure.npos) continue;
                auto const experiment = experiment_of(procedure, more);
                auto const director = [&](DecideBy by) {
                    return make_director(experiment, make_search(experiment), {cost_of, 4, 0, 1, by});
                };
                auto const about = procedure + more + (share > 0 ? " with failures" : "");
                auto const whole = director(DecideBy::virtual_time);
                SimulatedJob expected(*whole, 1, outcomes(share));
                ASSERT_TRUE(expected.run_in_any_order()) << about << " hangs";
                EXPECT_LT(whole->trials().size(), 1000U) << about << ": nothing has ended it";
                for (auto const& view : whole->trials())
                    EXPECT_TRUE(has_ended(view.status)) << about << " " << view.id.value;
                for (int trainers = 1; trainers <= 4; ++trainers) {
                    Rng timing(static_cast<std::uint64_t>(trainers));
                    auto const cost = [&](LapId const&, int) { return std::exp(2 * timing.normal()); };
                    auto const killed = director(DecideBy::virtual_time), resumed = director(DecideBy::virtual_time);
                    SimulatedJob before(*killed, 2, outcomes(share)), after(*resumed, 3, outcomes(share));
                    ASSERT_TRUE(
                        before.run_on(4, trainers, cost, timing.below(static_cast<std::uint32_t>(expected.trained.size()))));
                    after.go_on_from(before);
                    ASSERT_TRUE(after.run_on(4, 5 - trainers, cost)) << about << " hangs";
                    ASSERT_EQ(after.outcome(), expected.outcome()) << about;
                }
                auto const by_arrival = director(DecideBy::arrival);
                SimulatedJob arrival(*by_arrival, 1, outcomes(share));
                ASSERT_TRUE(arrival.run_in_any_order()) << about << " hangs by arrival";
            }
}

}  // namespace procedures_test
}  // namespace hopscotch
