// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: for runs without a launcher, and for the fast half of the test suites. Sends match
// receives as in MPI: same source and tag, in order. The bytes of a send are copied when its receive is posted.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "comm/world.hpp"

namespace hopscotch {

class ThreadHub;  // shared by the ranks

std::shared_ptr<ThreadHub> make_thread_hub(int size);
std::unique_ptr<World> make_thread_world(std::shared_ptr<ThreadHub> hub, Rank rank);

// Runs body(world) on size threads (rank 0 on the calling one) and joins them. If a rank throws, the others get CommError
// from their next call, and the first exception is thrown here.
void run_thread_ranks(int size, std::function<void(World&)> const& body);

}  // namespace hopscotch
