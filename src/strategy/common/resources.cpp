// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/resources.hpp"

#include "experiment/config.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

TrainerId home_of(Lap const& lap, Resources const& resources) {
    auto const& strategy = resources.experiment.strategy;
    auto const visits = static_cast<int>(resources.owners.owner.size()) / strategy.group_size;
    auto const held_out = held_out_of(lap.assignment, resources.experiment.search.copies.folds);
    auto const first = policy_named(strategy.policy).next({lap.trial, 0, visits, held_out, lap.route});
    return resources.owners.trains({lap.trial, 0}, 0, ShardId(first.value * strategy.group_size));
}

}  // namespace hopscotch
