// SPDX-License-Identifier: Apache-2.0
// Finds trainers without progress. A trainer that computes must finish a batch within stall_s. A trainer that waits for
// others may wait as long as some trainer works, and stall_s beyond: trainers that meet change from work to the exchange at
// different moments. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hopscotch {

// A trainer's last heartbeat. idle: it has no unit. works: it computes or validates, else it waits.
struct TrainerSign {
    bool lost = false, idle = true, works = false;
    std::uint64_t batches = 0;
};

class StallWatch {
public:
    StallWatch(std::size_t trainers, double stall_s, double now_s);

    struct Stall {
        std::size_t trainer = 0;
        double seconds = 0;  // without a batch
        bool hangs = false;  // in its own work; else it waits for others
    };
    std::optional<Stall> look(std::span<TrainerSign const> trainers, double now_s);

private:
    struct Progress {
        std::uint64_t batches = 0;
        double since_s = 0;
    };
    double stall_s_, worked_s_;  // worked: when a trainer was last seen at work
    std::vector<Progress> progress_;
};

}  // namespace hopscotch
