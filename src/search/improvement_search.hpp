// SPDX-License-Identifier: Apache-2.0
// Finds the configuration with the largest expected improvement: a local search from some of many random points, which
// turns from continuous keys (gradients) to keys with values (each value is tried) and back until nothing changes.
#pragma once
#include <optional>

#include "search/cube.hpp"
#include "search/gaussian_process.hpp"

namespace hopscotch {

class ImprovementSearch {
public:
    // best: the value to improve on, higher is better. prior_weight: the improvement is multiplied by this power of the
    // density of the priors (Hvarfner et al., ICLR 2022).
    struct Aim {
        double best, prior_weight;
    };
    // is_new: whether a configuration may be proposed. The cube and the process must outlive the object.
    ImprovementSearch(Cube const& cube, GaussianProcess const& process, Aim aim,
                      std::function<bool(Assignment const&)> is_new)
        : cube_(cube), process_(process), aim_(aim), is_new_(std::move(is_new)) {}

    // near: the best known point, where one of the searches starts. None: no new configuration was met.
    std::optional<Assignment> find(Eigen::VectorXd const& near, Uniform const& uniform);

private:
    struct Found {
        Eigen::VectorXd at;  // of all keys, absent ones too
        double value;
        bool is_new = false;
    };

    Eigen::VectorXd seen_at(Eigen::VectorXd const& point) const;  // what the process sees of it: absent keys rest
    Eigen::VectorXd values_at(std::vector<Eigen::VectorXd> const& points);
    std::vector<Found> starts(Eigen::VectorXd const& near, Uniform const& uniform);
    void climb(Found& from);
    bool ascend(Found& from);                         // along gradients; true: higher
    bool try_values(Found& from, Eigen::Index side);  // true: another value is higher
    bool accept(Found& from, Eigen::VectorXd at, double value) const;

    Cube const& cube_;
    GaussianProcess const& process_;
    Aim aim_;
    std::function<bool(Assignment const&)> is_new_;
    std::ptrdiff_t left_ = 0;  // points that may still be compared
};

}  // namespace hopscotch
