// SPDX-License-Identifier: Apache-2.0
#include "report/importance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace hopscotch {
namespace {

constexpr double k_top_share = 0.1, k_least_density = 1e-12;
constexpr int k_most_cells = 50;

using CellCounts = std::vector<double>;  // by cell

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Of the range of a key.
struct CellGrid {
    double low = 0, high = 1;
    bool log = false;
    int cells = k_most_cells;

    std::size_t cell_of(double value) const {
        double const x = log ? std::log(value) : value, from = log ? std::log(low) : low, to = log ? std::log(high) : high;
        if (cells < 2 || !(to > from)) return 0;
        double const cell = std::ceil((x - from) / ((to - from) / (cells - 1)) - 0.5);
        return static_cast<std::size_t>(std::clamp(std::isfinite(cell) ? cell : 0, 0.0, cells - 1.0));
    }
};

CellGrid grid_of(KeyColumn const& key) {
    CellGrid out{key.low, key.high, key.log && key.low > 0, k_most_cells};
    double const step = key.step.value_or(key.whole ? 1 : 0);
    double cells = k_most_cells;
    if (out.log && key.whole)
        cells = std::ceil(std::log2(key.high - key.low + 1)) + 1;
    else if (!out.log && step > 0)
        cells = std::round((key.high - key.low) / step) + 1;
    out.cells = static_cast<int>(std::clamp(std::isfinite(cells) ? cells : 1, 1.0, static_cast<double>(k_most_cells)));
    return out;
}

// Scott's rule with the spread of the middle half, over cells.
double width_of_kernels(CellCounts const& counts, double total) {
    double mean = 0, squares = 0;
    for (std::size_t g = 0; g < counts.size(); ++g) mean += counts[g] * static_cast<double>(g) / total;
    for (std::size_t g = 0; g < counts.size(); ++g) squares += counts[g] * std::pow(static_cast<double>(g) - mean, 2);
    double const deviation = std::sqrt(squares / std::max(1.0, total - 1));
    auto const first_where = [&](auto const& reached) {
        double below = 0;
        for (std::size_t g = 0; g < counts.size(); ++g) {
            below += counts[g];
            if (reached(below)) return static_cast<double>(g);
        }
        return static_cast<double>(counts.size() - 1);
    };
    double const quarter = std::floor(total / 4), three = std::floor(3 * total / 4);
    double const low = first_where([&](double below) { return below >= quarter && below > 0; });
    double const high = first_where([&](double below) { return below > three; });
    double const spread = std::min((high - low) / 1.34, deviation);
    return std::max(1.059 * spread * std::pow(total, -0.2), 0.5 / 1.64);
}

// A Gaussian on each cell that has trials, and a wide one of the weight of one trial; each cut off at the ends of the range.
CellCounts numeric_density(CellCounts const& counts) {
    double const total = std::accumulate(counts.begin(), counts.end(), 0.0), n = static_cast<double>(counts.size());
    CellCounts out(counts.size());
    auto const add = [&](double centre, double sigma, double weight) {
        double const all = normal_below((n - 0.5 - centre) / sigma) - normal_below((-0.5 - centre) / sigma);
        for (std::size_t g = 0; g < out.size(); ++g) {
            double const x = static_cast<double>(g) - centre;
            out[g] += weight * (normal_below((x + 0.5) / sigma) - normal_below((x - 0.5) / sigma)) / all;
        }
    };
    double const sigma = width_of_kernels(counts, total);
    for (std::size_t g = 0; g < counts.size(); ++g)
        if (counts[g] > 0) add(static_cast<double>(g), sigma, counts[g] / (total + 1));
    add((n - 1) / 2, n, 1 / (total + 1));
    return out;
}

// A kernel: 1 / (cells + 1) trials at every cell, and one trial at its own cell.
CellCounts category_density(CellCounts const& counts) {
    double const total = std::accumulate(counts.begin(), counts.end(), 0.0), n = static_cast<double>(counts.size());
    double occupied = 0;
    for (double const count : counts) occupied += count > 0 ? 1 : 0;
    double const base = 1 / (occupied + 1), sum = 1 + n * base;
    CellCounts out(counts.size());
    for (std::size_t g = 0; g < out.size(); ++g)
        out[g] = (counts[g] * (1 + base) / sum + (total - counts[g]) * base / sum + 1 / n) / (total + 1);
    return out;
}

// The groups in which a key is active, counted by cell: all of them, and the best.
struct CountedKey {
    CellCounts all, best;
    double count = 0, best_count = 0;
};

CountedKey count_key(KeyColumn const& key, std::vector<int> const& rank, int last_best) {
    auto const grid = grid_of(key);
    auto const cells = key.numeric ? static_cast<std::size_t>(grid.cells) : key.categories.size();
    CountedKey out{CellCounts(cells), CellCounts(cells)};
    for (std::size_t i = 0; i < rank.size(); ++i) {
        if (rank[i] < 0 || !key.values[i]) continue;
        auto const cell = key.numeric ? grid.cell_of(*key.values[i]) : static_cast<std::size_t>(*key.values[i]);
        ++out.all[cell];
        ++out.count;
        out.best[cell] += rank[i] <= last_best ? 1 : 0;
        out.best_count += rank[i] <= last_best ? 1 : 0;
    }
    return out;
}

double divergence(KeyColumn const& key, CountedKey const& counted) {
    auto const density = key.numeric ? numeric_density : category_density;
    auto const all = density(counted.all), best = density(counted.best);
    double out = 0;
    for (std::size_t g = 0; g < all.size(); ++g) {
        double const p = all[g] + k_least_density, q = best[g] + k_least_density;
        out += p * std::pow(q / p - 1, 2);
    }
    return out;
}

}  // namespace

std::vector<double> importance_of(std::vector<KeyColumn> const& keys, std::vector<int> const& rank) {
    std::vector<int> counting;
    std::ranges::copy_if(rank, std::back_inserter(counting), [](int r) { return r >= 0; });
    if (counting.size() < 2 || keys.empty()) return {};
    std::ranges::sort(counting);
    double const n = static_cast<double>(counting.size());
    int const last_best = counting[static_cast<std::size_t>(std::ceil(k_top_share * n)) - 1];
    double const best = static_cast<double>(std::ranges::upper_bound(counting, last_best) - counting.begin());
    std::vector<double> out;
    for (auto const& key : keys) {
        auto const counted = count_key(key, rank, last_best);
        double value = 0;
        if (counted.count >= 2 && counted.best_count > 0)
            value = std::pow(counted.best_count / best, 2) / (counted.count / n) * divergence(key, counted);
        out.push_back(value * std::pow(best / n, 2));
    }
    double const sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (auto& value : out) value = sum > 0 ? value / sum : 1 / static_cast<double>(out.size());
    return out;
}

}  // namespace hopscotch
