// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: a run without a launcher, and the fast half of the test suites. Sends match receives as
// in MPI: same source and tag, in order, and a send's bytes are taken when its receive is posted.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "comm/world.hpp"

namespace hopscotch {

class ThreadHub;  // what the ranks share

std::shared_ptr<ThreadHub> make_thread_hub(int size);
std::unique_ptr<World> make_thread_world(std::shared_ptr<ThreadHub> hub, Rank rank);

// Runs body(world) on size threads (rank 0 on the calling one) and joins them. If a rank throws, the others get CommError
// from their next call, and the first exception is thrown here.
void run_thread_ranks(int size, std::function<void(World&)> const& body);

}  // namespace hopscotch
