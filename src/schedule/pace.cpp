// SPDX-License-Identifier: Apache-2.0
#include "schedule/pace.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopscotch {
namespace {

constexpr std::size_t k_window = 48;       // latest laps that count
constexpr std::size_t k_least_laps = 3;    // that must have visited a trainer
constexpr std::size_t k_units_a_lap = 64;  // of laps with more, some are left out
constexpr int k_rounds = 8;                // of the median polish
constexpr double k_worth = 1.1;            // a gain below this is noise
constexpr double k_times_cost = 2;         // a move must gain this many times its cost

double median_of(std::vector<double> values) {
    if (values.empty()) return 0;
    auto const middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

}  // namespace

// Sorting a thousand units takes longer than rank 0 has for a lap; every sixteenth lap of that size is enough.
void Pace::add(LapRecord const& lap, double unit_cost, double since_unix_s) {
    if (skip_ > 0) {
        --skip_;
        return;
    }
    skip_ = lap.units.size() / k_units_a_lap;
    Row row;
    std::vector<UnitRecord const*> units;  // by trainer
    for (auto const& unit : lap.units)
        if (unit.rows > 0 && unit.seconds > 0 && unit.start_unix_s >= since_unix_s) units.push_back(&unit);
    row.flops = static_cast<double>(units.size()) * unit_cost;
    std::ranges::stable_sort(units, {}, [](UnitRecord const* unit) { return unit->trainer; });
    for (auto first = units.begin(); first != units.end();) {
        Cell cell{(*first)->trainer};
        std::vector<double> a_row;  // seconds
        for (; first != units.end() && (*first)->trainer == cell.trainer; ++first) {
            a_row.push_back((*first)->seconds / static_cast<double>((*first)->rows));
            cell.seconds += (*first)->seconds;
        }
        cell.log_s = std::log(median_of(std::move(a_row)));
        row.cells.push_back(cell);
    }
    if (row.cells.empty()) return;
    laps_.push_back(std::move(row));
    if (laps_.size() > k_window) laps_.pop_front();
}

// Median polish (Tukey 1977): log seconds of a row = that of its lap + that of its trainer. A disturbed trainer in one lap,
// or a trainer that visits only some laps, does not change the rest.
std::optional<std::vector<double>> Pace::speed(int trainers) const {
    std::vector<std::vector<std::pair<std::size_t, double>>> visits(static_cast<std::size_t>(trainers));
    for (std::size_t lap = 0; lap < laps_.size(); ++lap)
        for (auto const& [trainer, log_s, sum] : laps_[lap].cells)
            if (trainer.index() < visits.size()) visits[trainer.index()].emplace_back(lap, log_s);
    if (std::ranges::count_if(visits, [](auto const& mine) { return mine.size() >= k_least_laps; }) < 2) return std::nullopt;
    if (std::ranges::any_of(visits, [](auto const& mine) { return !mine.empty() && mine.size() < k_least_laps; }))
        return std::nullopt;
    std::vector<double> of_lap(laps_.size()), slow(visits.size());
    for (int round = 0; round < k_rounds; ++round) {
        for (std::size_t lap = 0; lap < laps_.size(); ++lap) {
            std::vector<double> rest;
            for (auto const& [trainer, log_s, sum] : laps_[lap].cells)
                if (trainer.index() < slow.size()) rest.push_back(log_s - slow[trainer.index()]);
            of_lap[lap] = median_of(std::move(rest));
        }
        for (std::size_t w = 0; w < visits.size(); ++w) {
            std::vector<double> rest;
            for (auto const& [lap, log_s] : visits[w]) rest.push_back(log_s - of_lap[lap]);
            slow[w] = median_of(std::move(rest));
        }
    }
    auto const least = *std::ranges::min_element(slow);
    for (auto& each : slow) each = std::exp(least - each);
    return slow;
}

double Pace::seconds(double flops, std::vector<double> const& speed) const {
    double seconds = 0, all = 0;
    for (auto const& lap : laps_) {
        for (auto const& cell : lap.cells)
            if (cell.trainer.index() < speed.size()) seconds += cell.seconds * speed[cell.trainer.index()];
        all += lap.flops;
    }
    return all > 0 ? flops * seconds / all : 0;
}

std::optional<BetterOwners> better_owners(OwnerTable const& now, Move const& move, std::vector<double> const& speed,
                                          WorkLeft const& left) {
    BetterOwners out{move.to};
    auto const total = std::accumulate(speed.begin(), speed.end(), 0.0);
    auto const seconds = [&](OwnerTable const& table) {
        return std::max(left.longest, stretch(table, speed) * left.seconds / total);
    };
    out.seconds = seconds(out.table);
    out.seconds_before = seconds(now);
    if (out.seconds_before < k_worth * out.seconds) return std::nullopt;
    if (out.seconds_before - out.seconds < k_times_cost * move.cost_s) return std::nullopt;
    out.table.version = now.version + 1;
    out.table.lost = now.lost;
    return out;
}

}  // namespace hopscotch
