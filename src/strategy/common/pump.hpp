// SPDX-License-Identifier: Apache-2.0
// Rank 0's message pump: takes the trainers' messages (records of laps, saved files, errors), and finds trainers without
// progress.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "strategy/common/setback.hpp"
#include "strategy/common/stall_watch.hpp"

namespace hopscotch {

class Courier;
class Dispatcher;
class LapSink;
enum class MessageKind : std::uint16_t;
struct Incoming;

// The setback that the message reports, if it does. Throws CommError with the text of a trainer that failed.
std::optional<Setback> setback_in(Incoming const& message);

class Pump {
public:
    // The dispatcher hears its own workers' messages.
    Pump(Courier& courier, std::vector<std::string> hosts, double stall_s, std::unique_ptr<Dispatcher> dispatcher);
    ~Pump();

    Courier& courier() const { return courier_; }
    Dispatcher& dispatcher() const { return *dispatcher_; }

    // One message into the sink, if one arrives in time; a setback is returned instead. Throws CommError with the text of a
    // trainer that failed, or with rank, host, trial, unit and seconds if a trainer finishes no batch for stall_s.
    [[nodiscard]] std::optional<Setback> take(LapSink& sink, double timeout_s);
    int busy_trainers() const;
    double flops_done() const;  // of units, by all trainers

    // The end of a wait for all living trainers. all: each has answered. A setback ends the wait.
    struct Answers {
        bool all = false;
        std::optional<Setback> setback;
    };

    // All living trainers stop at their next batch, and write every state that has no file of its present place. Returns
    // after deadline_s at the latest. Messages meanwhile reach the sink.
    Answers pause(LapSink& sink, double deadline_s);

    // Waits until all living trainers have obeyed all messages so far, and their answers have reached the sink. Then no
    // trainer trains a lap of a trial that was forgotten. Stops waiting if enough() is true.
    Answers settle(LapSink& sink, std::function<bool()> const& enough);

private:
    void check_stalls();
    Answers hear_from_all(MessageKind kind, LapSink& sink, std::function<bool()> const& enough);
    void give(LapSink& sink, Incoming message);
    void hear(Rank from, MessageKind kind, int round);

    Courier& courier_;
    std::vector<std::string> hosts_;
    double stall_s_, next_tick_s_ = 0, next_check_ = 0;
    std::unique_ptr<Dispatcher> dispatcher_;
    StallWatch watch_;
    int round_ = 0;                                        // of pauses
    std::map<MessageKind, std::set<std::int32_t>> heard_;  // answers of this round (paused, all_saved), by rank
};

}  // namespace hopscotch
