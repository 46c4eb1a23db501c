// SPDX-License-Identifier: Apache-2.0
// The routes of trials that a search proposes on the way.
#include <gtest/gtest.h>

#include "direct/simulated_job.hpp"
#include "direct/toy_searches.hpp"
#include "schedule/routes.hpp"

namespace hopscotch {
namespace search_routes_test {

// A search that proposes on the way: the others are those of lower ids.
TEST(Routes, OnTheWayATrialIsComparedWithTheTrialsBefore) {
    DirectorOptions options{toy_cost, 4, 0, 1, DecideBy::virtual_time};
    options.routes = k_blind_routes;
    auto search = std::make_unique<ToyAsha>(40, 3, 9);
    search->cost = [](std::int64_t about) { return about == 2 || about == 20 ? 100.0 : 1.0; };
    auto const director = make_director(toy_experiment(9), std::move(search), options);
    SimulatedTrials::Bad const none;
    SimulatedJob job(*director, 1, none);
    ASSERT_TRUE(job.run_on(4, 2, [](LapId const&, int step) { return step == 4 ? 0.0 : 1.0; }));
    ASSERT_EQ(director->trials().size(), 40U);
    for (auto const& view : director->trials()) {
        EXPECT_GE(view.route.first.value, 0);
        EXPECT_EQ(view.route.direction == Direction::backward, view.id == TrialId(20))
            << view.id.value << " (of trial 2 no one knows whether it is long)";
    }
}

}  // namespace search_routes_test
}  // namespace hopscotch
