// SPDX-License-Identifier: Apache-2.0
// Trainers and a driver whose calls wait. The kernel of an NCCL sum spins until all trainers of the group have launched
// theirs. A memory call returns once no kernel spins on any GPU of its process (NVIDIA/nccl#744). Whatever trainers the roll
// call and the choice of collectives let through must end, in any order of their calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "experiment/config.hpp"
#include "experiment/strategy_traits.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/together/collectives.hpp"

namespace hopscotch {
namespace waiting_driver_test {

enum class Call { sum, memory };
using Program = std::vector<Call>;

struct Arrangement {
    bool threads = false;  // of one process; else each trainer is a process
    std::map<Rank, HostDevice> trainers;
    std::vector<Program> programs;  // by trainer
};

Collectives collectives_of(Arrangement const& arrangement) {
    StrategyConfig strategy;
    strategy.name = "allreduce";
    RunConfig run;
    run.gpu.deterministic = false;
    return choose_collectives(strategy, run, arrangement.trainers).used;
}

class Driver {
public:
    explicit Driver(Arrangement const& arrangement)
        : arrangement_(arrangement),
          spins_(collectives_of(arrangement) == Collectives::nccl),
          at_(arrangement.programs.size()),
          launched_(arrangement.programs.size()) {}

    // Lets the trainers go on in a random order. False: some never end.
    bool all_end(std::mt19937& numbers) {
        for (auto able = who_can_go_on(); !able.empty(); able = who_can_go_on()) {
            auto const trainer = able[std::uniform_int_distribution<std::size_t>(0, able.size() - 1)(numbers)];
            if (program(trainer)[at_[trainer]++] == Call::sum) ++launched_[trainer];
        }
        for (std::size_t k = 0; k < at_.size(); ++k)
            if (at_[k] < program(k).size()) return false;
        return true;
    }

private:
    Program const& program(std::size_t trainer) const { return arrangement_.programs[trainer]; }

    // Its last sum lacks the term of another trainer.
    bool is_spinning(std::size_t trainer) const {
        return spins_ && launched_[trainer] > *std::min_element(launched_.begin(), launched_.end());
    }

    bool can_go_on(std::size_t trainer) const {
        if (at_[trainer] == program(trainer).size()) return false;
        if (program(trainer)[at_[trainer]] == Call::sum) return !is_spinning(trainer);  // one stream, one sum after another
        for (std::size_t k = 0; k < at_.size(); ++k)
            if ((arrangement_.threads || k == trainer) && is_spinning(k)) return false;
        return true;
    }

    std::vector<std::size_t> who_can_go_on() const {
        std::vector<std::size_t> out;
        for (std::size_t k = 0; k < at_.size(); ++k)
            if (can_go_on(k)) out.push_back(k);
        return out;
    }

    Arrangement const& arrangement_;
    bool spins_;
    std::vector<std::size_t> at_, launched_;
};

HostDevice gpu(int number) { return {"a", {"cuda:0", "NVIDIA H200", "GPU-" + std::to_string(number), 1, "CUDA 13.0"}}; }

int orders_that_end(Arrangement const& arrangement, std::mt19937& numbers, int orders) {
    int out = 0;
    for (int i = 0; i < orders; ++i) out += Driver(arrangement).all_end(numbers) ? 1 : 0;
    return out;
}

// While the first spins in its sum, the second waits for that sum's end with a memory call, before its own part of the sum.
TEST(WaitingDriver, ThreadsWithAGpuEachWaitForEachOtherAndAreRefused) {
    std::mt19937 numbers(1);
    Arrangement two{true, {{Rank(1), gpu(1)}, {Rank(2), gpu(2)}}, {{Call::sum}, {Call::memory, Call::sum}}};
    auto const ended = orders_that_end(two, numbers, 100);
    EXPECT_GT(ended, 0) << "in some orders all goes well";
    EXPECT_LT(ended, 100);
    EXPECT_NE(against_threads(two.trainers), "");
    two.threads = false;
    EXPECT_EQ(orders_that_end(two, numbers, 100), 100);
}

Arrangement random_arrangement(std::mt19937& numbers) {
    auto const from_to = [&](int least, int most) { return std::uniform_int_distribution(least, most)(numbers); };
    Arrangement out;
    out.threads = from_to(0, 1) == 1;
    auto const trainers = from_to(2, 6), gpus = from_to(1, 8), sums = from_to(1, 5);
    for (int k = 0; k < trainers; ++k) {
        out.trainers[Rank(k + 1)] = gpu(from_to(0, 2) > 0 ? k : from_to(1, gpus));
        auto& program = out.programs.emplace_back();
        for (int sum = 0; sum < sums; ++sum) {
            program.insert(program.end(), static_cast<std::size_t>(from_to(0, 2)), Call::memory);
            program.push_back(Call::sum);
        }
    }
    return out;
}

TEST(WaitingDriver, WhateverIsLetThroughEnds) {
    std::mt19937 numbers(2);
    int let_through = 0, with_nccl = 0, refused = 0, stuck = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const arrangement = random_arrangement(numbers);
        bool const is_refused = arrangement.threads && !against_threads(arrangement.trainers).empty();
        auto const ended = orders_that_end(arrangement, numbers, 20);
        ++(is_refused ? refused : let_through);
        if (is_refused && ended < 20) ++stuck;
        if (is_refused) continue;
        EXPECT_EQ(ended, 20) << "arrangement " << i;
        if (collectives_of(arrangement) == Collectives::nccl) ++with_nccl;
    }
    EXPECT_GT(with_nccl, 50);
    EXPECT_GT(stuck, 50) << "of " << refused << ": those that are refused do wait for ever";
}

}  // namespace waiting_driver_test
}  // namespace hopscotch
