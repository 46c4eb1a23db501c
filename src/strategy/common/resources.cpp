// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/resources.hpp"

namespace hopscotch {

TrainerId home_of(Lap const& lap, Resources const& resources) {
    auto const shards = static_cast<int>(resources.owners.owner.size());
    return resources.owners.of(
        planned_shard(lap.trial, 0, shards, held_out_of(lap.assignment, resources.experiment.search.folds)));
}

}  // namespace hopscotch
