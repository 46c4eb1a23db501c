// SPDX-License-Identifier: Apache-2.0
// One trainer that owns every shard trains one lap after another, in the order of their release. No hops and no queue: the
// plain reference that every other strategy's bits are compared with.
#pragma once
#include <memory>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

std::unique_ptr<Strategy> make_sequential(Resources resources);

}  // namespace hopscotch
