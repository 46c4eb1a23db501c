// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/resources.hpp"

#include "experiment/config.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

TrainerId home_of(Lap const& lap, Resources const& resources) {
    auto const shards = static_cast<int>(resources.owners.owner.size());
    auto const& policy = policy_named(resources.experiment.strategy.policy);
    auto const held_out = held_out_of(lap.assignment, resources.experiment.search.folds);
    return resources.owners.trains({lap.trial, 0}, 0, policy.next({lap.trial, 0, shards, held_out, lap.route}));
}

}  // namespace hopscotch
