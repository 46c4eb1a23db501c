// SPDX-License-Identifier: Apache-2.0
// The roll call of a job: rank 0 welcomes the living trainers and hears who they are.
#pragma once
#include "comm/courier.hpp"
#include "job/prepared_run.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/roll_call.hpp"

namespace hopscotch {

// Tells the trainers what `prepared` says, and puts into it what they answer: their hosts, whether one has a GPU, and how
// they add up gradients. Where hosts have only the files of their own shards, owners by speed or replicas cannot be: then
// shards are dealt out equally, with a warning. Throws ConfigError when the trainers cannot train this experiment, and
// CommError.
RollCall call_living_trainers(PreparedRun& prepared, Courier& courier, int incarnation);

}  // namespace hopscotch
