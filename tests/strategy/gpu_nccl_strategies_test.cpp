// SPDX-License-Identifier: Apache-2.0
// allreduce and model_averaging on a real GPU through NCCL, as a group of one: what stays on the device trains as what goes
// through the host does.
#include <cmath>

#include "group_oracle.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch {
namespace gpu_nccl_strategies_test {

using namespace testing;

JobResult train(char const* collectives, Settings const& settings) {
    JobResult out;
    run_thread_ranks(2, [&](World& world) {
        if (world.rank() != Rank(0)) return trainer_main(world, k_test_build);
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", 5, 31).string(), 12, "allreduce");
        described.set("run.device", "cuda");
        described.set("run.deterministic", false);
        for (auto const& [path, value] : settings) described.set(path, value);
        described.set("strategy.collectives", collectives);
        out = run_as_scheduler(world, read_document(described), 5, two_trials());
    });
    return out;
}

TEST(GpuNccl, TrainsAsThroughTheHost) {
    try {
        resolve_device("cuda", 0);
    } catch (ConfigError const& error) {
        GTEST_SKIP() << error.what();
    }
    // With an outer optimizer a trainer alone takes means, too.
    auto const averaging = parse_json_or_throw(
        R"({"name": "model_averaging", "every": 2, "momentum": "averaged", "outer": {"lr": 0.7}})", "test");
    std::vector<Settings> const cases{{},
                                      {{"strategy.bucket_mb", 1e-4}, {"train.optimizer.momentum", 0.9}},
                                      {{"run.cuda_graphs", false}},
                                      {{"strategy", averaging}, {"train.optimizer.momentum", 0.9}}};
    for (auto const& settings : cases) {
        auto const host = train("mpi", settings), device = train("nccl", settings);
        for (auto const& [key, lap] : host.laps) {
            auto const& found = device.laps.at(key);
            ASSERT_EQ(found.outcome, Outcome::finished) << found.reason;
            EXPECT_NEAR(found.valid.loss, lap.valid.loss, 1e-3 * lap.valid.loss);
        }
    }
}

}  // namespace gpu_nccl_strategies_test
}  // namespace hopscotch
