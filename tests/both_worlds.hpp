// SPDX-License-Identifier: Apache-2.0
// One suite, two worlds: under mpirun the ranks are the processes, without it threads.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/mpi_world.hpp"
#include "comm/thread_world.hpp"
#include "long_suite.hpp"
#include "select_files.hpp"

namespace hopscotch::testing {

inline std::unique_ptr<MpiWorld>& mpi_world() {
    static std::unique_ptr<MpiWorld> world;
    return world;
}

// All ranks have closed their couriers: from here on a message belongs to what comes next.
inline void barrier(World& world) {
    constexpr int tag = 31000;
    std::vector<std::byte> nothing(1);
    std::vector<Request> requests;
    for (int rank = 0; rank < world.size(); ++rank) {
        if (Rank(rank) == world.rank()) continue;
        requests.push_back(world.receive(Rank(rank), tag, nothing));
        requests.push_back(world.send(Rank(rank), tag, nothing));
    }
    for (auto const request : requests)
        while (!world.done(request)) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// Runs body on every rank: on the processes of the mpirun, or on `threads` threads.
inline void on_every_rank(int threads, std::function<void(World&)> const& body) {
    if (mpi_world())
        body(*mpi_world());
    else
        run_thread_ranks(threads, body);
}

// Ranks that are processes wait much for each other: under mpirun the default suite tries the first of the cases only.
template <typename Case>
std::vector<Case> few_on_ranks(std::vector<Case> cases, std::size_t few) {
    if (mpi_world() && !long_suite() && cases.size() > few) cases.erase(cases.begin() + static_cast<long>(few), cases.end());
    return cases;
}

inline int both_worlds_main(int argc, char** argv) {
    if (launched_by_mpi()) mpi_world() = std::make_unique<MpiWorld>();
    ::testing::InitGoogleTest(&argc, argv);
    select_files(argc, argv);
    if (mpi_world() && mpi_world()->rank() != Rank(0))
        delete ::testing::UnitTest::GetInstance()->listeners().Release(
            ::testing::UnitTest::GetInstance()->listeners().default_result_printer());
    int result = 1;
    try {
        result = RUN_ALL_TESTS();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "rank %d: %s\n", mpi_world() ? mpi_world()->rank().value : 0, error.what());
        if (mpi_world()) mpi_world()->abort(1);
    }
    if (mpi_world()) mpi_world()->finish();
    return result;
}

}  // namespace hopscotch::testing
