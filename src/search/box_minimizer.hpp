// SPDX-License-Identifier: Apache-2.0
// Minimizes a smooth function in a box: L-BFGS (Nocedal and Wright, 2006, algorithm 7.4) on the coordinates that are not
// pressed against a bound, with a backtracking search along the projected path. A local minimum, found without chance.
#pragma once
#include <Eigen/Core>
#include <functional>

namespace hopscotch {

struct Box {
    Eigen::VectorXd low, high;
};

struct Minimum {
    Eigen::VectorXd at;
    double value = 0;
};

// Sets the gradient, which has the size of the point. A value that is not finite: the step was too long.
using Smooth = std::function<double(Eigen::VectorXd const&, Eigen::VectorXd& gradient)>;

struct Effort {
    int steps = 100;
    double small_gradient = 1e-5;  // of its largest part that does not press against a bound: done
};

// start: in the box, with a finite value.
Minimum minimize(Smooth const& function, Eigen::VectorXd start, Box const& box, Effort const& effort);

}  // namespace hopscotch
