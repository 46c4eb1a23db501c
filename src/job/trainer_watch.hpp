// SPDX-License-Identifier: Apache-2.0
// The present work of each trainer, and its recent load, from its heartbeats.
#pragma once
#include <cstdint>
#include <vector>

#include "view/run_view.hpp"

namespace hopscotch {

class Peers;

class TrainerWatch {
public:
    explicit TrainerWatch(int trainers) : seen_(static_cast<std::size_t>(trainers)) {}

    std::vector<TrainerNow> look(Peers const& peers, double now_s);  // call it about twice a second

private:
    struct Seen {
        double busy = 0;
        std::uint64_t batches = 0;
        double batches_per_s = 0;
    };
    std::vector<Seen> seen_;
    double last_s_ = 0;
    std::int64_t looks_ = 0;
};

}  // namespace hopscotch
