// SPDX-License-Identifier: Apache-2.0
// What `planned` is compared with: one epoch in which a free trainer takes any trial that has not visited it. Simulation
// only; no experiment can ask for these rules. Every trainer has one shard.
//   random  Cerebro's Algorithm 1 (Nakandala et al., PVLDB 13, 2020): a free trainer takes a random trial
//   lrtf    the trial with the most work left in the epoch; of several free trainers the one with the most work left chooses
//   ring    MADlib: groups of as many trials as trainers move on together, after a barrier
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/rng.hpp"

namespace hopscotch {

enum class ShopRule { random, lrtf, ring };

struct ShopTask {
    std::size_t trial = 0, trainer = 0;
    double start = 0, end = 0;
};

class OpenShop {
public:
    // cost[trial][trainer]: of a unit.
    explicit OpenShop(std::vector<std::vector<double>> cost) : cost_(std::move(cost)), trainers_(cost_.front().size()) {}

    double bound() const {
        double out = 0;
        for (auto const& row : cost_) out = std::max(out, std::accumulate(row.begin(), row.end(), 0.0));
        for (std::size_t w = 0; w < trainers_; ++w) out = std::max(out, load(w));
        return out;
    }

    std::vector<ShopTask> schedule(ShopRule rule, Rng& rng) const {
        return rule == ShopRule::ring ? in_a_ring(rng) : as_trainers_get_free(rule, rng);
    }

    static double makespan(std::vector<ShopTask> const& tasks) {
        double out = 0;
        for (auto const& task : tasks) out = std::max(out, task.end);
        return out;
    }

private:
    double load(std::size_t trainer) const {
        double out = 0;
        for (auto const& row : cost_) out += row[trainer];
        return out;
    }

    std::vector<std::size_t> shuffled(std::size_t n, Rng& rng) const {
        std::vector<std::size_t> out(n);
        std::iota(out.begin(), out.end(), std::size_t{0});
        rng.shuffle(std::span(out));
        return out;
    }

    std::vector<ShopTask> in_a_ring(Rng& rng) const {
        auto const order = shuffled(cost_.size(), rng);
        std::vector<ShopTask> out;
        double now = 0;
        for (std::size_t first = 0; first < order.size(); first += trainers_)
            for (std::size_t round = 0; round < trainers_; ++round) {
                double end = now;
                for (std::size_t k = 0; k < trainers_ && first + k < order.size(); ++k) {
                    auto const trial = order[first + k], trainer = (k + round) % trainers_;
                    out.push_back({trial, trainer, now, now + cost_[trial][trainer]});
                    end = std::max(end, out.back().end);
                }
                now = end;
            }
        return out;
    }

    struct State {
        std::vector<double> trial_free, trainer_free, trial_left, trainer_left;
        std::vector<std::vector<char>> done;
        double now = 0;
        std::vector<ShopTask> tasks = {};
    };

    State beginning() const {
        State out{std::vector<double>(cost_.size()), std::vector<double>(trainers_), {}, {}, {}};
        for (auto const& row : cost_) out.trial_left.push_back(std::accumulate(row.begin(), row.end(), 0.0));
        for (std::size_t w = 0; w < trainers_; ++w) out.trainer_left.push_back(load(w));
        out.done.assign(cost_.size(), std::vector<char>(trainers_, 0));
        return out;
    }

    std::vector<ShopTask> as_trainers_get_free(ShopRule rule, Rng& rng) const {
        auto at = beginning();
        while (at.tasks.size() < cost_.size() * trainers_) {
            auto trainers = shuffled(trainers_, rng);
            if (rule == ShopRule::lrtf)
                std::ranges::stable_sort(trainers, std::greater(), [&](auto w) { return at.trainer_left[w]; });
            for (auto const w : trainers)
                if (at.trainer_free[w] <= at.now) start(w, rule, rng, at);
            double next = std::numeric_limits<double>::infinity();
            for (auto const free : at.trainer_free)
                if (free > at.now) next = std::min(next, free);
            at.now = next;
        }
        return std::move(at.tasks);
    }

    // A trial of the trainer's choice, if one is there.
    void start(std::size_t w, ShopRule rule, Rng& rng, State& at) const {
        std::size_t best = cost_.size();
        for (auto const m : shuffled(cost_.size(), rng)) {
            if (at.done[m][w] || at.trial_free[m] > at.now) continue;
            if (best < cost_.size() && (rule == ShopRule::random || at.trial_left[m] <= at.trial_left[best])) continue;
            best = m;
        }
        if (best == cost_.size()) return;
        double const cost = cost_[best][w];
        at.tasks.push_back({best, w, at.now, at.now + cost});
        at.trial_free[best] = at.trainer_free[w] = at.now + cost;
        at.trial_left[best] -= cost;
        at.trainer_left[w] -= cost;
        at.done[best][w] = 1;
    }

    std::vector<std::vector<double>> cost_;
    std::size_t trainers_;
};

}  // namespace hopscotch
