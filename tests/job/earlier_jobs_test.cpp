// SPDX-License-Identifier: Apache-2.0
// What a job takes over from the jobs before it.
#include "job/earlier_jobs.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {
namespace earlier_jobs_test {

// A job may be prepared several times: each time that shards move.
TEST(EarlierJobs, KeepBinarySumsHoweverOftenTheyArePrepared) {
    Problems problems("e.json");
    auto experiment = read_experiment(
        R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"},
            "space": {"train.optimizer.lr": {"type": "float", "low": 0.1, "high": 0.7, "step": 0.1}}})",
        {}, problems);
    ASSERT_TRUE(problems.empty()) << problems.text();
    Journal binary, decimal;
    binary.released.push_back({.trial = TrialId(2), .assignment = {{"train.optimizer.lr", 0.30000000000000004}}});
    decimal.released.push_back({.trial = TrialId(2), .assignment = {{"train.optimizer.lr", 0.3}}});
    for (int time = 0; time < 3; ++time) {
        experiment.step_values = step_values_of(experiment, binary);
        EXPECT_EQ(experiment.step_values, StepValues::binary) << time;
    }
    for (int time = 0; time < 3; ++time) {
        experiment.step_values = step_values_of(experiment, decimal);
        EXPECT_EQ(experiment.step_values, StepValues::decimal) << time;
    }
}

}  // namespace earlier_jobs_test
}  // namespace hopscotch
