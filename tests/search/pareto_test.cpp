// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rng.hpp"
#include "search/pareto.hpp"

namespace hopscotch {
namespace pareto_test {

constexpr std::array<Mode, 2> k_modes[] = {
    {Mode::max, Mode::min}, {Mode::min, Mode::max}, {Mode::min, Mode::min}, {Mode::max, Mode::max}};

bool is_in(std::vector<std::size_t> const& front, std::size_t i) {
    return std::find(front.begin(), front.end(), i) != front.end();
}

TEST(Pareto, AccuracyAgainstSize) {
    std::vector<TwoValues> const points{{0.9, 100}, {0.95, 200}, {0.8, 300}, {0.95, 250}, {0.99, 900}, {0.7, 50}};
    EXPECT_EQ(pareto_front(points, {Mode::max, Mode::min}), (std::vector<std::size_t>{4, 1, 0, 5}));
}

TEST(Pareto, EqualsAreAllThereAndWhatIsNotFiniteIsNot) {
    double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    std::vector<TwoValues> const points{{1, 1}, {nan, 0}, {1, 1}, {1, 2}, {2, -infinity}, {0, 3}, {0, 3}};
    EXPECT_EQ(pareto_front(points, {Mode::max, Mode::max}), (std::vector<std::size_t>{3, 5, 6}));
    EXPECT_EQ(pareto_front(points, {Mode::min, Mode::min}), (std::vector<std::size_t>{5, 6, 0, 2}));
    EXPECT_TRUE(pareto_front({}, {Mode::min, Mode::min}).empty());
}

// On few different values, so that there are many ties.
TEST(Pareto, NoMemberIsDominatedAndEveryOtherIsDominatedByAMember) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {7}));
        auto const modes = k_modes[seed % 4];
        auto const values = 2 + rng.below(8);
        std::vector<TwoValues> points(rng.below(30));
        for (auto& point : points)
            for (auto& value : point) value = rng.below(20) == 0 ? std::nan("") : rng.below(values);
        auto const front = pareto_front(points, modes);
        for (std::size_t i = 0; i < points.size(); ++i) {
            bool const finite = std::isfinite(points[i][0]) && std::isfinite(points[i][1]);
            bool const beaten = std::any_of(front.begin(), front.end(),
                                            [&](std::size_t k) { return dominates(points[k], points[i], modes); });
            EXPECT_EQ(is_in(front, i), finite && !beaten) << "seed " << seed << " point " << i;
        }
        for (std::size_t k = 1; k < front.size(); ++k) {
            auto const a = points[front[k - 1]][0], b = points[front[k]][0];
            EXPECT_TRUE(modes[0] == Mode::max ? a >= b : a <= b) << "not by the first value";
        }
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

}  // namespace pareto_test
}  // namespace hopscotch
