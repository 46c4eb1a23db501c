// SPDX-License-Identifier: Apache-2.0
// Trains a lap of parameter_server again, in one thread, in the order of the servers' log (rundir/server_log.hpp): the same
// workers and the same rule of the parts, with a loop instead of messages. The bits must be those of the run.
#pragma once
#include <memory>
#include <vector>

#include "experiment/config.hpp"
#include "schedule/visit.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

class BufferPool;
class ServedPart;
struct Lap;
struct LapRecord;
struct ServedLap;

// One trial, all its laps in order.
class ServerReplay {
public:
    // Ignores run.inject, which changes no bit.
    ServerReplay(Experiment experiment, OwnerTable owners, ModelFactory const& factory = make_trial_model);
    ~ServerReplay();

    // The state hash at the end of training. recorded: the lap's record, for the effect of validation on schedules.
    // Throws DataError if the log is not of this lap.
    std::uint64_t train(Lap const& lap, std::vector<std::vector<std::uint16_t>> const& log, LapRecord const& recorded);

private:
    struct Worker;
    void begin(Lap const& lap);
    void follow(std::vector<std::vector<std::uint16_t>> const& log);
    bool take(std::size_t part, int k);
    void compute(int k);
    void end();
    Worker& worker(int k) { return *workers_[static_cast<std::size_t>(k)]; }

    Experiment experiment_;
    OwnerTable owners_;
    std::shared_ptr<BufferPool> pool_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<ServedPart> parts_;
    std::shared_ptr<ServedLap> lap_;
};

}  // namespace hopscotch
