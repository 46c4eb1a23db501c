// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/sequential.hpp"

#include "strategy/baselines/whole_laps/whole_laps.hpp"

namespace hopscotch {

std::unique_ptr<Worker> make_sequential_worker(WorkerResources const& resources) {
    return std::make_unique<WholeLaps>(resources);
}

}  // namespace hopscotch
