// SPDX-License-Identifier: Apache-2.0
// Configurations as points of a cube, with one side for each key that has several values: numbers from 0 to 1, as Optuna
// scales them, and indices of lists. Keys of `when` need a parent's value; without it they rest at k_absent, or in the
// middle of their numbers.
#pragma once
#include <Eigen/Core>
#include <vector>

#include "search/axis.hpp"
#include "search/draw.hpp"

namespace hopscotch {

class Cube {
public:
    static constexpr double k_absent = -1;  // of a list

    struct Side {
        Parameter const* parameter;
        Axis axis;
        std::size_t values;  // 0: continuous
        bool is_category() const { return axis.categories > 0; }
        double rest() const { return is_category() ? k_absent : 0.5; }  // where the key is absent
    };

    explicit Cube(Space const& space);  // it must outlive the cube

    std::vector<Side> const& sides() const { return sides_; }
    Eigen::Index size() const { return static_cast<Eigen::Index>(sides_.size()); }
    Side const& side(Eigen::Index index) const { return sides_[static_cast<std::size_t>(index)]; }
    bool has_conditions() const { return has_conditions_; }  // not every point has all keys

    double place_of(Side const& side, std::size_t value) const;  // of the value with this index
    std::size_t value_at(Side const& side, double place) const;  // the nearest one

    // On values; also of keys that are absent.
    enum class Density { even, prior };  // prior: of the keys that have one
    Eigen::VectorXd draw(Uniform const& uniform, Density density = Density::even) const;
    Eigen::VectorXd point_of(Assignment const& assignment) const;
    std::vector<bool> present_at(Eigen::VectorXd const& point) const;  // of the sides: the conditions of `when` hold
    Eigen::VectorXd with_absent_at_rest(Eigen::VectorXd const& point) const;
    Assignment assignment_at(Eigen::VectorXd const& point) const;

    bool has_priors() const { return has_priors_; }
    Eigen::VectorXd guess() const;  // the priors' numbers; the middle of the others
    // The logarithm of the density of the priors at a point (1: as likely as without them), of the keys that are present.
    double log_prior(Eigen::VectorXd const& point) const;
    Eigen::VectorXd log_prior_slopes(Eigen::VectorXd const& point) const;  // of numbers that are present; else 0

private:
    Space const& space_;
    std::vector<Side> sides_;
    std::vector<Eigen::Index> side_of_;  // of each parameter; -1: it has one value
    std::vector<bool> is_compared_;      // of each parameter: in a condition of `when`
    Json value_of_parameter(std::size_t index, Eigen::VectorXd const& point) const;
    bool has_conditions_ = false, has_priors_ = false;
};

}  // namespace hopscotch
