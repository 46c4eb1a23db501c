// SPDX-License-Identifier: Apache-2.0
// Rank 0's half of a strategy: sends laps to trainers, and tells trainers about trials. It never decides which laps to
// train. The other half is the Worker of each trainer, made from the same row of the table (strategy_table.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "strategy/common/resources.hpp"

namespace hopscotch {

struct Incoming;
struct Lap;
struct LapId;
struct LapRecord;
enum class MessageKind : std::uint16_t;

// All functions are local.
class Dispatcher {
public:
    explicit Dispatcher(Resources resources) : resources_(std::move(resources)) {}
    virtual ~Dispatcher() = default;
    Dispatcher(Dispatcher const&) = delete;
    Dispatcher& operator=(Dispatcher const&) = delete;

    // Queues the lap and returns at once. The lap's record reaches the sink of the run later, in any order.
    virtual void execute(Lap const& lap) = 0;

    // To be called for each record, after the laps that the record released have been executed.
    virtual void lap_done(LapRecord const&) {}

    // A message of this strategy's workers that means nothing to the pump.
    virtual void hear(Incoming const&) {}

    // About every 0.1 s.
    virtual void tick() {}

    // The trial has ended: all trainers drop everything that they hold of the trial.
    virtual void forget(TrialId trial);

    // The trial's present lap ends with the unit under way, as stopped; the lap's record says so. Has no effect if no lap of
    // the trial is under way, or if trainers train the lap together.
    void leave(TrialId trial, std::string const& why);

    // The trainer that holds the trial's state at the end of this lap writes the state to a file, and saved() reports the
    // file. If the trainer has already continued from there, no file is written.
    void keep_end(LapId const& lap);

    // The trainer that validated the snapshot of a trial's best epoch sends it. LapSink::fetched gets the snapshot.
    void fetch_best(LapId const& lap, TrainerId home);

    // The trainer that validated the snapshot scores it on the test shards. The record reaches LapSink::scored.
    void score_best(Lap const& lap, TrainerId home);
    // The same trainer analyses the snapshot's errors on the validation rows, not for language. LapSink::analysed gets
    // ErrorAnalysis as JSON text; "": not known.
    void analyse_best(Lap const& lap, TrainerId home);

protected:
    void send_lap(TrainerId trainer, Lap const& lap);
    Resources const& resources() const { return resources_; }

private:
    void tell_all(MessageKind kind, Bytes const& body);

    Resources resources_;
};

// Sends each lap to the home of its trial.
std::unique_ptr<Dispatcher> make_home_dispatcher(Resources resources);

}  // namespace hopscotch
