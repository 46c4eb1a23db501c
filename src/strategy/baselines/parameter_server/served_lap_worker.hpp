// SPDX-License-Identifier: Apache-2.0
// The worker's side of a lap with parameter servers: pushes the parts of each gradient as they become final, and writes the
// parameters that come back into the state.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "strategy/baselines/parameter_server/parts.hpp"

namespace hopscotch {

class Courier;
class SharedLap;
struct Incoming;
struct ServedLap;

class ServedLapWorker {
public:
    // The servers of the parts, and this worker's index.
    struct Seat {
        std::vector<ServedRange> parts;
        std::vector<Rank> servers;
        int self = 0;
    };
    ServedLapWorker(Courier& courier, SharedLap& mine, ServedLap const& lap, Seat seat);

    // One update: sends the gradient to the servers. Then every part has to come back.
    void push_step(std::int64_t step);
    void ask();  // instead, if this worker has no rows in the lap

    // A message from the servers. slots: to the trial's first worker only.
    void take(Incoming message);
    bool waits() const { return awaited_ > 0 || awaited_ends_ > 0; }
    void await_ends();  // from now on: slots, and the order of arrivals

    std::vector<std::int64_t> const& staleness() const { return staleness_; }
    std::vector<std::vector<std::uint16_t>> take_log() { return std::move(log_); }
    std::string servers_awaited() const;  // for errors

private:
    void push(std::size_t part, std::int64_t step);
    std::span<float> parameters();
    float* floats();
    void take_parameters(Incoming const& message);
    void take_end(Incoming const& message);

    Courier& courier_;
    SharedLap& mine_;
    ServedLap const& lap_;
    Seat seat_;
    std::vector<std::size_t> missing_;  // floats of the gradient that are not final yet, by part
    std::vector<bool> here_;            // parts that have come back
    std::size_t awaited_ = 0, awaited_ends_ = 0, ends_ = 0;
    std::int64_t step_staleness_ = 0;  // the largest of its parts
    std::vector<std::int64_t> staleness_;
    std::vector<std::vector<std::uint16_t>> log_;
};

}  // namespace hopscotch
