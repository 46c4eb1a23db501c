// SPDX-License-Identifier: Apache-2.0
// The choice between two ways to add up gradients or weights in a group: through host memory by the courier, or from GPU to
// GPU by NCCL.
#pragma once
#include <map>
#include <string>

#include "experiment/strategy_config.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/devices.hpp"

namespace hopscotch {

struct Experiment;
struct RunConfig;

struct CollectivesChoice {
    Collectives used = Collectives::mpi;  // mpi or nccl
    std::string why;                      // `auto` gave mpi although there are GPUs: the reason
};

// Whether the strategy has such sums: allreduce, model_averaging.
bool has_collectives(StrategyConfig const& strategy);

// True if the choice depends on the trainers' GPUs; else the experiment alone decides for mpi. Throws ConfigError with the
// reason if strategy.collectives demands nccl and another setting rules it out.
bool collectives_depend_on_devices(StrategyConfig const& strategy, RunConfig const& run);

// For the trainers that train together. Throws ConfigError with the reason if strategy.collectives demands nccl and these
// trainers cannot use it.
CollectivesChoice choose_collectives(StrategyConfig const& strategy, RunConfig const& run,
                                     std::map<Rank, HostDevice> const& group);

// The same from the Hellos of all trainers of a job: the trainers that own shards train together.
CollectivesChoice choose_collectives(Experiment const& experiment, OwnerTable const& owners,
                                     std::map<Rank, HostDevice> const& trainers);

}  // namespace hopscotch
