// SPDX-License-Identifier: Apache-2.0
// Trials with several objectives: which is better, and by how much a set of them covers. PURE. Losses: lower is better.
#pragma once
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

using Losses = std::array<double, k_most_objectives>;  // of fewer objectives: 0 in the other places

struct Point {
    Losses losses = {};
    double violation = 0;  // by how much constraints are missed; 0: they are met
    bool operator==(Point const&) const = default;
};

inline constexpr double k_worst = std::numeric_limits<double>::infinity();  // the loss of a failed or diverged trial
inline constexpr Point k_worst_point{{k_worst, k_worst, k_worst}, k_worst};
inline bool has_failed(Point const& point) { return point.losses[0] == k_worst; }

// At least as good in every objective, and better in one. A point that violates constraints less dominates one that violates
// them more (Deb et al., NSGA-II, 2002).
bool dominates(Point const& a, Point const& b);

// By point, from 0: no point dominates those of front 0, even if all violate constraints; without them none dominates those
// of front 1; and so on.
std::vector<std::size_t> front_numbers(std::vector<Point> const& points);

// The indices of each front, ascending.
std::vector<std::vector<std::size_t>> fronts_of(std::vector<Point> const& points);
std::vector<Losses> losses_of(std::vector<Point> const& points, std::vector<std::size_t> const& indices);

// Indices, best first: by front, and within a front by an epsilon-net: each is the farthest from those before it, so the
// first ones are spread over the front (MO-ASHA; Schmucker et al., arXiv 2106.12639). The best in the first objective leads.
// Equals by index.
std::vector<std::size_t> by_rank(std::vector<Point> const& points);

// Of front 0, by the first objective, best first; equals by index. Points with a value that is not finite are left out.
std::vector<std::size_t> pareto_front(std::vector<Point> const& points);

// The volume between the points and a reference that is worse. reference: 1 in places without an objective.
double hypervolume(std::vector<Losses> points, Losses const& reference);

// The share that `points` cover of the box between the best and the worst values of `all`. An objective in which all are
// equal counts as a whole side. all: what is not finite is left out.
double hypervolume_share(std::vector<Losses> const& all, std::vector<Losses> const& points);

// Indices of `count` points with a large hypervolume: the one that adds most is chosen again and again, of equals the one
// with the smallest losses (greedy subset selection, with the reference point of Optuna 5).
std::vector<std::size_t> hypervolume_subset(std::vector<Losses> const& points, std::size_t count, std::size_t objectives);

// The compromise: the index of the point nearest to the best values, where each objective counts from its best to its worst
// value among the points. points: not empty, finite.
std::size_t knee(std::vector<Losses> const& points);

}  // namespace hopscotch
