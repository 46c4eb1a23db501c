// SPDX-License-Identifier: Apache-2.0
// Rank 0's message pump: takes the trainers' messages (records of laps, saved files, errors), and finds trainers without
// progress.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "strategy/common/stall_watch.hpp"

namespace hopscotch {

class Courier;
class Dispatcher;
class LapSink;
enum class MessageKind : std::uint16_t;
struct Incoming;
struct Lost;

// A trainer is lost, but the job may go on without it (Peers::survive_losses).
class TrainerLost : public CommError {
public:
    explicit TrainerLost(Lost const& lost);
    Rank rank;
};

// A state was damaged on its way. Its trial must continue from a checkpoint.
class StateDamaged : public CommError {
public:
    using CommError::CommError;
};

// Throws if the message reports an error: CommError with the text of a trainer that failed, TrainerLost, StateDamaged.
void throw_bad_news(Incoming const& message);

class Pump {
public:
    // The dispatcher hears what its own workers say.
    Pump(Courier& courier, std::vector<std::string> hosts, double stall_s, Dispatcher& dispatcher);

    // One message into the sink, if one arrives in time. Throws as throw_bad_news(), and CommError that names rank, host,
    // trial, unit and seconds if a trainer finishes no batch for stall_s.
    void take(LapSink& sink, double timeout_s);
    int busy_trainers() const;
    double flops_done() const;  // of units, by all trainers

    // All living trainers stop at their next batch, and write every state that has no file of its present place. Returns
    // after deadline_s at the latest: true if all trainers have done both. Messages meanwhile reach the sink.
    bool pause(LapSink& sink, double deadline_s);

    // Waits until all living trainers have obeyed all messages so far, and their answers have reached the sink. Then no
    // trainer trains a lap of a trial that was forgotten. Stops waiting if enough() is true.
    void settle(LapSink& sink, std::function<bool()> const& enough);

private:
    void check_stalls();
    bool hear_from_all(MessageKind kind, LapSink& sink, double until_s);
    void hear(Rank from, MessageKind kind, int round);

    Courier& courier_;
    std::vector<std::string> hosts_;
    double stall_s_, next_tick_s_ = 0, next_check_ = 0;
    Dispatcher& dispatcher_;
    StallWatch watch_;
    int round_ = 0;                                        // of pauses
    std::map<MessageKind, std::set<std::int32_t>> heard_;  // answers of this round (paused, all_saved), by rank
};

}  // namespace hopscotch
