// SPDX-License-Identifier: Apache-2.0
// A trainer's half of a strategy: trains the laps that rank 0's Dispatcher sends. The two halves of all ranks are made from
// the same experiment.
#pragma once
#include <optional>

namespace hopscotch {

struct Welcome;

class Worker {
public:
    virtual ~Worker() = default;

    // Serves laps until rank 0 sends Shutdown (then the result is empty), or until rank 0 sends a new Welcome after a loss.
    // Throws CommError if rank 0 is silent or a transfer fails.
    virtual std::optional<Welcome> serve() = 0;
};

}  // namespace hopscotch
