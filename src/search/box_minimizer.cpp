// SPDX-License-Identifier: Apache-2.0
#include "search/box_minimizer.hpp"

#include <cmath>
#include <deque>

namespace hopscotch {
namespace {

using Eigen::VectorXd;

constexpr std::size_t k_memory = 10;
constexpr int k_halvings = 30;
constexpr double k_enough_decrease = 1e-4;  // Armijo

// 1 for the coordinates that may move: not at a bound that the descent presses against.
VectorXd free_coordinates(VectorXd const& x, VectorXd const& gradient, Box const& box) {
    VectorXd out(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i)
        out[i] = (x[i] <= box.low[i] && gradient[i] > 0) || (x[i] >= box.high[i] && gradient[i] < 0) ? 0 : 1;
    return out;
}

// The last steps, and how the gradient changed on them.
class Curvature {
public:
    void add(VectorXd step, VectorXd change) {
        double const curvature = step.dot(change);
        if (!(curvature > 1e-12 * step.norm() * change.norm())) return;  // not convex here
        pairs_.push_back({std::move(step), std::move(change), 1 / curvature});
        if (pairs_.size() > k_memory) pairs_.pop_front();
    }
    void clear() { pairs_.clear(); }

    // The two loops: an estimate of the inverse Hessian times the gradient, against its direction.
    VectorXd descent(VectorXd const& gradient, VectorXd const& is_free) const {
        VectorXd out = -gradient.cwiseProduct(is_free);
        std::vector<double> shares(pairs_.size());
        for (std::size_t i = pairs_.size(); i-- > 0;) {
            shares[i] = pairs_[i].inverse * pairs_[i].step.dot(out);
            out -= shares[i] * pairs_[i].change;
        }
        if (!pairs_.empty()) out /= pairs_.back().inverse * pairs_.back().change.squaredNorm();
        for (std::size_t i = 0; i < pairs_.size(); ++i)
            out += (shares[i] - pairs_[i].inverse * pairs_[i].change.dot(out)) * pairs_[i].step;
        return out.cwiseProduct(is_free);
    }

private:
    struct Pair {
        VectorXd step, change;
        double inverse;
    };
    std::deque<Pair> pairs_;
};

struct State {
    VectorXd x, gradient;
    double value;
};

// The first point of the path that is low enough. False: there is none.
bool advance(Smooth const& function, Box const& box, VectorXd const& direction, double length, State& state) {
    for (int i = 0; i < k_halvings; ++i, length /= 2) {
        State next{(state.x + length * direction).cwiseMax(box.low).cwiseMin(box.high), state.gradient, 0};
        VectorXd const step = next.x - state.x;
        if (step.isZero(0)) return false;
        next.value = function(next.x, next.gradient);
        if (!std::isfinite(next.value) || next.value > state.value + k_enough_decrease * state.gradient.dot(step)) continue;
        state = std::move(next);
        return true;
    }
    return false;
}

}  // namespace

Minimum minimize(Smooth const& function, VectorXd start, Box const& box, Effort const& effort) {
    State state{std::move(start), {}, 0};
    state.gradient.resize(state.x.size());
    state.value = function(state.x, state.gradient);
    Curvature curvature;
    bool is_new = true;  // no curvature is known
    for (int i = 0; i < effort.steps; ++i) {
        auto const is_free = free_coordinates(state.x, state.gradient, box);
        VectorXd const steepest = state.gradient.cwiseProduct(is_free);
        double const largest = steepest.size() > 0 ? steepest.cwiseAbs().maxCoeff() : 0;
        if (!(largest > effort.small_gradient)) break;
        VectorXd direction = is_new ? VectorXd(-steepest) : curvature.descent(state.gradient, is_free);
        if (!(direction.dot(steepest) < 0)) direction = -steepest;
        auto const before = state;
        if (!advance(function, box, direction, is_new ? std::min(1.0, 1 / steepest.norm()) : 1.0, state)) {
            if (is_new) break;
            curvature.clear();
            is_new = true;
            continue;
        }
        curvature.add(state.x - before.x, state.gradient - before.gradient);
        is_new = false;
        if (before.value - state.value <= 1e-12 * (1 + std::abs(state.value))) break;
    }
    return {std::move(state.x), state.value};
}

}  // namespace hopscotch
