// SPDX-License-Identifier: Apache-2.0
// Dominance, fronts and hypervolumes, each beside its definition.
#include "search/front.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/rng.hpp"
#include "search/ranking.hpp"

namespace hopscotch {
namespace front_test {

using Indices = std::vector<std::size_t>;

// On few different values, so that there are many ties.
std::vector<Point> random_points(Rng& rng, std::size_t objectives, std::uint32_t most) {
    auto const values = 2 + rng.below(8);
    bool const constrained = rng.below(3) == 0;
    std::vector<Point> points(rng.below(most));
    for (auto& point : points) {
        for (std::size_t i = 0; i < objectives; ++i) point.losses[i] = rng.below(values);
        if (constrained) point.violation = rng.below(3);
        if (rng.below(20) == 0) point = k_worst_point;
    }
    return points;
}

TEST(Front, AccuracyAgainstSize) {
    std::vector<Point> points;
    for (auto const& [accuracy, size] : {std::pair(.9, 100), {.95, 200}, {.8, 300}, {.95, 250}, {.99, 900}, {.7, 50}})
        points.push_back({{-accuracy, double(size)}});
    EXPECT_EQ(pareto_front(points), (Indices{4, 1, 0, 5}));
    EXPECT_EQ(front_numbers(points), (Indices{0, 0, 2, 1, 0, 0}));
    points[4].violation = 1;
    EXPECT_EQ(pareto_front(points), (Indices{1, 0, 5})) << "it misses a bound";
}

TEST(Front, EqualsAreAllThereAndWhatIsNotFiniteIsNot) {
    double const nan = std::nan("");
    std::vector<Point> const points{{{1, 1}}, {{nan, 0}}, {{1, 1}}, {{1, 2}}, {{2, -k_worst}}, {{0, 3}}, {{0, 3}}};
    EXPECT_EQ(pareto_front(points), (Indices{5, 6, 0, 2}));
    EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Front, APointIsInTheFrontThatItsDominatorsLeave) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {7}));
        auto const points = random_points(rng, 1 + seed % 3, 40);
        auto const numbers = front_numbers(points);
        ASSERT_EQ(numbers.size(), points.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            std::size_t expected = 0;
            for (std::size_t j = 0; j < points.size(); ++j)
                if (dominates(points[j], points[i])) expected = std::max(expected, numbers[j] + 1);
            ASSERT_EQ(numbers[i], expected) << "seed " << seed << " point " << i;
        }
    }
}

double squared_distance(Point const& a, Point const& b, std::vector<Point> const& front) {
    double sum = 0;
    for (std::size_t k = 0; k < k_most_objectives; ++k) {
        auto const key = [&](Point const& each) { return each.losses[k]; };
        auto const [low, high] = std::ranges::minmax(front, {}, key);
        if (key(high) > key(low)) sum += std::pow((key(a) - key(b)) / (key(high) - key(low)), 2);
    }
    return sum;
}

// Each is the farthest from those before it, and the first is the best in the first objective.
void expect_spread(std::vector<Point> const& front, std::string const& about) {
    if (front.empty() || has_failed(front.front())) return;
    EXPECT_EQ(front.front().losses[0], std::ranges::min(front, {}, [](auto& each) { return each.losses[0]; }).losses[0]);
    for (std::size_t at = 1; at < front.size(); ++at) {
        std::vector<double> gaps;
        for (std::size_t i = at; i < front.size(); ++i) {
            double gap = 1e300;
            for (std::size_t j = 0; j < at; ++j) gap = std::min(gap, squared_distance(front[i], front[j], front));
            gaps.push_back(gap);
        }
        ASSERT_GE(gaps.front(), std::ranges::max(gaps) - 1e-12) << about << " at " << at;
    }
}

TEST(Front, RanksGoFrontByFrontAndSpreadWithin) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {8}));
        auto const points = random_points(rng, 2 + seed % 2, 40);
        auto const numbers = front_numbers(points);
        auto const order = by_rank(points);
        ASSERT_EQ(std::set(order.begin(), order.end()).size(), points.size()) << "each once";
        std::vector<std::vector<Point>> fronts;
        for (std::size_t i = 0; i < order.size(); ++i) {
            ASSERT_TRUE(i == 0 || numbers[order[i - 1]] <= numbers[order[i]]) << "seed " << seed;
            fronts.resize(numbers[order[i]] + 1);
            fronts.back().push_back(points[order[i]]);
        }
        for (auto const& front : fronts) expect_spread(front, "seed " + std::to_string(seed));
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Front, OfALargeFrontTheRestFollowsByIndex) {
    std::vector<Point> points;
    for (int i = 0; i < 300; ++i) points.push_back({{double(i), double(300 - i)}});
    auto const order = by_rank(points);
    ASSERT_EQ(order.size(), 300U);
    EXPECT_EQ(Indices(order.begin(), order.begin() + 3), (Indices{0, 299, 149}));
    EXPECT_TRUE(std::is_sorted(order.begin() + 100, order.end()));
}

// Cells of whole numbers, counted one by one.
double counted(std::vector<Losses> const& points, int side, std::size_t objectives) {
    int out = 0;
    for (int x = 0; x < side; ++x)
        for (int y = 0; y < side; ++y)
            for (int z = 0; z < (objectives == 3 ? side : 1); ++z)
                out += std::ranges::any_of(points, [&](Losses const& p) { return p[0] <= x && p[1] <= y && p[2] <= z; });
    return out;
}

TEST(Front, HypervolumesAreThoseOfTheirCells) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {9}));
        std::size_t const objectives = 2 + seed % 2;
        int const side = 1 + static_cast<int>(rng.below(7));
        std::vector<Losses> points;
        for (auto const& point : random_points(rng, objectives, 20)) points.push_back(point.losses);
        Losses reference{double(side), double(side), objectives == 3 ? double(side) : 1};
        ASSERT_DOUBLE_EQ(hypervolume(points, reference), counted(points, side, objectives)) << "seed " << seed;
    }
}

std::vector<Losses> two_objectives() {
    return {{.55, .71}, {.29, .51}, {.89, .9},  {.68, .59}, {.05, .44}, {.03, .46},
            {.65, .28}, {.68, .59}, {.02, .56}, {.26, .42}, {.28, .69}, {.44, .16}};
}

std::vector<Losses> three_objectives() {
    return {{.54, .78, .31}, {.22, .39, .94}, {.98, .67, .9},  {.86, .59, .28}, {.65, .56, .36}, {.23, .41, .47},
            {.27, .29, .46}, {.86, .59, .28}, {.28, .45, .21}, {.2, .51, .09},  {.48, .36, .71}, {.75, .69, .69}};
}

Indices subset(std::vector<Losses> const& points, std::size_t count, std::size_t objectives) {
    auto out = hypervolume_subset(points, count, objectives);
    std::ranges::sort(out);
    return out;
}

// Of Optuna 5.0.0: compute_hypervolume, _solve_hssp with _get_reference_point.
TEST(Front, OptunasHypervolumesAndSubsets) {
    EXPECT_NEAR(hypervolume(two_objectives(), {1, 1, 1}), .7076, 1e-12);
    EXPECT_NEAR(hypervolume(three_objectives(), {1, 1, 1}), .456484, 1e-12);
    EXPECT_EQ(subset(two_objectives(), 1, 2), (Indices{4}));
    EXPECT_EQ(subset(two_objectives(), 3, 2), (Indices{4, 8, 11}));
    EXPECT_EQ(subset(two_objectives(), 5, 2), (Indices{4, 5, 8, 9, 11}));
    EXPECT_EQ(subset(three_objectives(), 1, 3), (Indices{9}));
    EXPECT_EQ(subset(three_objectives(), 3, 3), (Indices{6, 8, 9}));
    EXPECT_EQ(subset(three_objectives(), 5, 3), (Indices{1, 5, 6, 8, 9}));
}

TEST(Front, ASubsetOfCopiesIsFilledUp) {
    EXPECT_EQ(subset({{1, 2}, {1, 2}, {2, 1}, {1, 2}}, 3, 2), (Indices{0, 1, 2}));
    EXPECT_EQ(subset({{k_worst, 2}, {1, k_worst}}, 1, 2).size(), 1U) << "no reference is worse";
}

TEST(Front, TheKneeIsNearTheBestOfAll) {
    EXPECT_EQ(knee({{0, 100}, {.1, 20}, {.5, 10}, {1, 0}}), 1U);
    EXPECT_EQ(knee({{3, 3}}), 0U);
}

TEST(Front, TheShareOfTheBoxIsThatBetweenBestAndWorst) {
    std::vector<Losses> const all{{0, 10}, {5, 5}, {10, 0}, {10, 10}, {k_worst, 0}};
    EXPECT_DOUBLE_EQ(hypervolume_share(all, {{5, 5}}), .25);
    EXPECT_DOUBLE_EQ(hypervolume_share(all, {{0, 0}}), 1);
    EXPECT_DOUBLE_EQ(hypervolume_share({{1, 3}, {2, 3}}, {{1, 3}}), 1) << "equal in one objective";
    EXPECT_EQ(hypervolume_share({}, {}), 0);
}

// Trials that come later never move a trial before those that dominate it.
TEST(Ranking, WhoIsAheadForGoodStaysAhead) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {10}));
        std::size_t const objectives = 1 + seed % 3;
        auto const points = random_points(rng, objectives, 30);
        Ranking ranking(objectives);
        std::vector<std::size_t> ahead;  // by trial, on its arrival
        for (std::size_t i = 0; i < points.size(); ++i) {
            auto const place = ranking.insert(TrialId(i), points[i]);
            ASSERT_EQ(ranking[place].trial, TrialId(i));
            ahead.push_back(ranking.ahead_for_good(place));
            ASSERT_LE(ahead.back(), place) << "seed " << seed;
            for (std::size_t at = 0; at < ranking.size(); ++at)
                ASSERT_GE(at, ahead[ranking[at].trial.index()]) << "seed " << seed << " trial " << ranking[at].trial.value;
        }
    }
}

// Whoever comes first: the order is a function of the points and the ids.
TEST(Ranking, TheOrderOfArrivalDoesNotCount) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Rng rng(stream_key(seed, Purpose::search, {11}));
        std::size_t const objectives = 1 + seed % 3;
        auto const points = random_points(rng, objectives, 30);
        Indices order(points.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        Ranking forwards(objectives), shuffled(objectives);
        for (auto const i : order) forwards.insert(TrialId(i), points[i]);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[rng.below(static_cast<std::uint32_t>(i))]);
        for (auto const i : order) shuffled.insert(TrialId(i), points[i]);
        for (std::size_t at = 0; at < points.size(); ++at) ASSERT_EQ(forwards[at].trial, shuffled[at].trial) << seed;
    }
}

}  // namespace front_test
}  // namespace hopscotch
