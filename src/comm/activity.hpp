// SPDX-License-Identifier: Apache-2.0
// The work of a rank's own thread, for heartbeats, errors and stalls: a thread that waits for others is not to blame.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hopscotch {

enum class Phase : std::uint8_t { compute, exchange, parameters, rows, validation };
constexpr char const* name_of(Phase phase) {
    switch (phase) {
        case Phase::exchange: return "waiting for the other trainers";
        case Phase::parameters: return "waiting for parameters";
        case Phase::rows: return "waiting for rows of another trainer";
        case Phase::validation: return "validating";
        case Phase::compute: break;
    }
    return "computing";
}

// The rank's own thread writes the first four lines; the rank's courier reads them for the heartbeat. The courier writes the
// others, and the rank's own thread reads them.
struct Activity {
    std::atomic<std::uint64_t> batches = 0;
    std::atomic<double> flops = 0;  // of the units that it has finished
    std::atomic<std::int32_t> trial = -1, epoch = 0, shard = -1;
    std::atomic<Phase> phase = Phase::compute;
    std::atomic<bool> leave = false;  // rank 0 has sent Shutdown, or the courier has failed
    // Rank 0 has sent Pause: the trainer stops at the next batch. The trainer's loop also sets this when it takes the
    // message; each attempt begins with false.
    std::atomic<bool> pause = false;
    std::atomic<std::size_t> lost = 0;  // the number of ranks that rank 0 has reported as lost
};

}  // namespace hopscotch
