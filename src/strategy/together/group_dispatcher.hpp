// SPDX-License-Identifier: Apache-2.0
// Rank 0's half of the strategies whose trainers train a lap together: laps go to the first trainer of the group, which
// passes them on (group_trainer.hpp).
#pragma once
#include <memory>

namespace hopscotch {

class Dispatcher;
struct Resources;

std::unique_ptr<Dispatcher> make_group_dispatcher(Resources resources);

}  // namespace hopscotch
