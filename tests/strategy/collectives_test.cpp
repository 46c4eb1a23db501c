// SPDX-License-Identifier: Apache-2.0
// When gradients go from GPU to GPU: every rule by itself.
#include "strategy/together/collectives.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace collectives_test {

using Group = std::map<Rank, HostDevice>;

HostDevice gpu(std::string uuid, std::string host = "a") {
    return {std::move(host), {"cuda:0", "NVIDIA H200", std::move(uuid), 1, "CUDA 13.0"}};
}
HostDevice cpu() { return {"b", {"cpu", "", "", 0, "CUDA 13.0"}}; }

struct Wanted {
    StrategyConfig strategy;
    RunConfig run;
    Group group{{Rank(1), gpu("GPU-1")}, {Rank(2), gpu("GPU-2", "b")}};
};

Wanted fit() {
    Wanted out;
    out.strategy.name = "allreduce";
    out.run.gpu.deterministic = false;
    return out;
}

CollectivesChoice choice(Wanted const& wanted) { return choose_collectives(wanted.strategy, wanted.run, wanted.group); }

TEST(Collectives, AreNcclWhereAllHolds) {
    EXPECT_EQ(choice(fit()).used, Collectives::nccl);
    EXPECT_EQ(choice(fit()).why, "");
    EXPECT_TRUE(collectives_depend_on_devices(fit().strategy, fit().run));
}

// Each breaks one rule; auto falls back and says why, nccl is refused for the same reason.
TEST(Collectives, FallBackForEachReason) {
    std::vector<std::pair<std::string, std::function<void(Wanted&)>>> const breaks{
        {"strategy.algorithm", [](Wanted& w) { w.strategy.reduce.algorithm = ReduceAlgorithm::deterministic; }},
        {"strategy.via", [](Wanted& w) { w.strategy.averaging.via = AverageVia::master; }},
        {"strategy.batch_norm", [](Wanted& w) { w.strategy.batch_norm = NormStatistics::sync; }},
        {"run.deterministic", [](Wanted& w) { w.run.gpu.deterministic = true; }},
        {"rank 2 (b) has no GPU", [](Wanted& w) { w.group[Rank(2)] = cpu(); }},
        {"ranks 1 and 2 share one GPU (GPU-1)", [](Wanted& w) { w.group[Rank(2)] = gpu("GPU-1"); }},
    };
    for (auto const& [why, breaks_it] : breaks) {
        auto wanted = fit();
        breaks_it(wanted);
        EXPECT_EQ(choice(wanted).used, Collectives::mpi) << why;
        EXPECT_NE(choice(wanted).why.find(why), std::string::npos) << choice(wanted).why;
        wanted.strategy.reduce.collectives = Collectives::nccl;
        try {
            choice(wanted);
            FAIL() << why;
        } catch (ConfigError const& error) {
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
    }
}

TEST(Collectives, WhatTheExperimentRulesOutNeedsNoDevices) {
    auto wanted = fit();
    wanted.run.gpu.deterministic = true;
    EXPECT_FALSE(collectives_depend_on_devices(wanted.strategy, wanted.run));
    wanted.strategy.reduce.collectives = Collectives::nccl;
    EXPECT_THROW(collectives_depend_on_devices(wanted.strategy, wanted.run), ConfigError);
    wanted.strategy.reduce.collectives = Collectives::mpi;
    EXPECT_FALSE(collectives_depend_on_devices(wanted.strategy, wanted.run));
}

TEST(Collectives, AreNoTopicWithoutGpusOrWithOneTrainer) {
    auto wanted = fit();
    wanted.group = {{Rank(1), cpu()}, {Rank(2), cpu()}};
    EXPECT_EQ(choice(wanted).used, Collectives::mpi);
    EXPECT_EQ(choice(wanted).why, "");
    wanted.group = {{Rank(1), gpu("GPU-1")}};
    EXPECT_EQ(choice(wanted).used, Collectives::mpi) << "there is nothing to add up";
    EXPECT_EQ(choice(wanted).why, "");
    wanted.strategy.reduce.collectives = Collectives::nccl;
    EXPECT_EQ(choice(wanted).used, Collectives::nccl);
}

TEST(Collectives, AreOfStrategiesThatAddUpAmongAll) {
    for (auto const& name : strategy_names()) {
        if (has_setting(name, "collectives")) continue;
        auto wanted = fit();
        wanted.strategy.name = name;
        EXPECT_EQ(choice(wanted).used, Collectives::mpi);
        EXPECT_EQ(choice(wanted).why, "");
    }
    auto wanted = fit();
    for (std::string const name : {"model_averaging", "allreduce"}) {
        wanted.strategy.name = name;
        EXPECT_EQ(choice(wanted).used, Collectives::nccl);
    }
}

TEST(Collectives, MpiIsMpi) {
    auto wanted = fit();
    wanted.strategy.reduce.collectives = Collectives::mpi;
    EXPECT_EQ(choice(wanted).used, Collectives::mpi);
    EXPECT_EQ(choice(wanted).why, "") << "it was asked for";
}

// Trainers without shards are none of the group.
TEST(Collectives, OnlyWhoOwnsShardsCounts) {
    Experiment experiment;
    experiment.strategy.name = "allreduce";
    experiment.run.gpu.deterministic = false;
    auto const owners = make_owners(2, 2, 1);
    auto all = fit().group;
    EXPECT_EQ(choose_collectives(experiment, owners, all).used, Collectives::nccl);
    all[Rank(3)] = cpu();
    EXPECT_EQ(choose_collectives(experiment, owners, all).used, Collectives::nccl);
    all[Rank(2)] = cpu();
    EXPECT_EQ(choose_collectives(experiment, owners, all).used, Collectives::mpi);
}

}  // namespace collectives_test
}  // namespace hopscotch
