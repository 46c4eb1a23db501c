// SPDX-License-Identifier: Apache-2.0
// The roll call of a job: rank 0 welcomes the living trainers and reads their answers.
#pragma once
#include "comm/courier.hpp"
#include "job/prepared_run.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/roll_call.hpp"

namespace hopscotch {

// Sends the contents of `prepared` to the trainers, and puts their answers into it: their hosts, whether one has a GPU, and
// how they add up gradients. If hosts have only the files of their own shards, owners by speed and replicas are not
// possible: then shards are dealt out equally, with a warning. Throws ConfigError when the trainers cannot train this
// experiment, and CommError.
RollCall call_living_trainers(PreparedRun& prepared, Courier& courier, int incarnation);

}  // namespace hopscotch
