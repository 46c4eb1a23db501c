// SPDX-License-Identifier: Apache-2.0
// The oracle of small schedules: the shortest of all.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

namespace hopscotch {

// The shortest makespan of all schedules, by branch and bound; for a few units. Some shortest schedule is active: the next
// unit to start is one that can start before the first end of all others (Giffler and Thompson 1960).
class ShortestShop {
public:
    explicit ShortestShop(std::vector<std::vector<double>> cost)
        : cost_(std::move(cost)),
          done_(cost_.size(), std::vector<char>(cost_.front().size(), 0)),
          trial_(cost_.size()),
          trainer_(cost_.front().size()) {}

    double makespan() {
        search(cost_.size() * trainer_.size(), 0);
        return best_;
    }

private:
    double bound() const {
        double out = 0;
        for (std::size_t m = 0; m < trial_.size(); ++m) {
            double left = trial_[m];
            for (std::size_t w = 0; w < trainer_.size(); ++w) left += done_[m][w] ? 0 : cost_[m][w];
            out = std::max(out, left);
        }
        for (std::size_t w = 0; w < trainer_.size(); ++w) {
            double left = trainer_[w];
            for (std::size_t m = 0; m < trial_.size(); ++m) left += done_[m][w] ? 0 : cost_[m][w];
            out = std::max(out, left);
        }
        return out;
    }

    double begin(std::size_t m, std::size_t w) const { return std::max(trial_[m], trainer_[w]); }

    void search(std::size_t left, double end) {
        if (left == 0) best_ = std::min(best_, end);
        if (left == 0 || bound() >= best_ - 1e-9) return;
        double first_end = std::numeric_limits<double>::infinity();
        for (std::size_t m = 0; m < trial_.size(); ++m)
            for (std::size_t w = 0; w < trainer_.size(); ++w)
                if (!done_[m][w]) first_end = std::min(first_end, begin(m, w) + cost_[m][w]);
        for (std::size_t m = 0; m < trial_.size(); ++m)
            for (std::size_t w = 0; w < trainer_.size(); ++w)
                if (!done_[m][w] && begin(m, w) < first_end) try_unit(m, w, left, end);
    }

    void try_unit(std::size_t m, std::size_t w, std::size_t left, double end) {
        auto const trial = trial_[m], trainer = trainer_[w];
        trial_[m] = trainer_[w] = begin(m, w) + cost_[m][w];
        done_[m][w] = 1;
        search(left - 1, std::max(end, trial_[m]));
        done_[m][w] = 0;
        trial_[m] = trial, trainer_[w] = trainer;
    }

    std::vector<std::vector<double>> cost_;
    std::vector<std::vector<char>> done_;
    std::vector<double> trial_, trainer_;  // free from then on
    double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace hopscotch
