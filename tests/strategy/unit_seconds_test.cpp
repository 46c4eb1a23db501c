// SPDX-License-Identifier: Apache-2.0
// The seconds of a unit and its CPU seconds begin and end together: to make the model and to bind the state is part of both.
#include <ctime>

#include "job_harness.hpp"

namespace hopscotch {
namespace unit_seconds_test {

using namespace testing;

constexpr double k_work_s = 0.03;

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A network that takes time to make.
TrialModel made_with_work(TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
    for (auto const begun = cpu_s(); cpu_s() < begun + k_work_s;) {
    }
    return make_trial_model(config, manifest, workspace);
}

LapRecord first_lap(std::string const& strategy) {
    JobResult job;
    run_thread_ranks(2, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, k_test_build, made_with_work);
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", 2, 31).string(), 12, strategy);
        described.set("train.epochs", 1);
        job = run_as_scheduler(world, read_document(described), 2, {{}});
    });
    return job.laps.at({TrialId(0), 0});
}

TEST(UnitSeconds, CoverTheirCpuSeconds) {
    for (auto const* const strategy : {"mop", "task_parallel", "sequential"}) {
        SCOPED_TRACE(strategy);
        auto const lap = first_lap(strategy);
        ASSERT_EQ(lap.units.size(), 2U) << lap.reason;
        // Strategies of whole laps make the first state, and the model for it, before the lap's units.
        if (strategy == std::string("mop")) {
            EXPECT_GE(lap.units.front().cpu_s, k_work_s);
        }
        for (auto const& unit : lap.units) EXPECT_LE(unit.cpu_s, unit.seconds + 1e-6);  // the clocks' resolution
    }
}

}  // namespace unit_seconds_test
}  // namespace hopscotch
