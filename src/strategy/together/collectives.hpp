// SPDX-License-Identifier: Apache-2.0
// How the trainers of a group add up their gradients or weights: through host memory by the courier, or from GPU to GPU by
// NCCL.
#pragma once
#include <map>
#include <string>

#include "experiment/config.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/devices.hpp"

namespace hopscotch {

struct CollectivesChoice {
    Collectives used = Collectives::mpi;  // mpi or nccl
    std::string why;                      // auto, mpi, and there are GPUs: what keeps them from NCCL
};

// Whether the strategy has such sums: allreduce, model_averaging.
bool has_collectives(StrategyConfig const& strategy);

// Whether the experiment alone leaves the choice to what the trainers have: else it is mpi. Throws ConfigError that says why
// if strategy.collectives demands nccl and something else in the experiment rules it out.
bool collectives_depend_on_devices(StrategyConfig const& strategy, RunConfig const& run);

// For the trainers that train together. Throws ConfigError that says why if strategy.collectives demands nccl and it cannot
// be.
CollectivesChoice choose_collectives(StrategyConfig const& strategy, RunConfig const& run,
                                     std::map<Rank, HostDevice> const& group);

// The same of all trainers of a job that have said Hello: those that own shards train together.
CollectivesChoice choose_collectives(Experiment const& experiment, OwnerTable const& owners,
                                     std::map<Rank, HostDevice> const& trainers);

}  // namespace hopscotch
