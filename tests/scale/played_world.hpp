// SPDX-License-Identifier: Apache-2.0
// A world for rank 0 alone: its trainers are played. They answer every message of the protocol of mop at once, train
// nothing, and report laps at a given rate. So one thread is a thousand trainers, and what is measured is rank 0: its real
// courier, director, recorder and run directory.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "comm/codec.hpp"
#include "comm/messages.hpp"
#include "comm/world.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/roll_call_messages.hpp"

namespace hopscotch {

struct Cast {
    int trainers = 1000;
    double laps_per_s = 1e9;       // offered to rank 0, over all trainers
    double checkpoints_per_s = 0;  // written by all trainers together: ends of laps, in real files
    std::int64_t lose_after = 0;   // laps until one trainer dies; 0: none does
};

class PlayedWorld : public World {
public:
    // lap_taken(n): when the nth record of a lap is given to rank 0, in the courier's thread.
    PlayedWorld(Cast const& cast, std::function<void(std::int64_t)> lap_taken);

    Rank rank() const override { return Rank(0); }
    int size() const override { return cast_.trainers + 1; }
    std::string name() const override { return "played"; }
    int number_on_host() const override { return 0; }
    int trainers_on_host() const override { return 1; }
    Request send(Rank to, int tag, ByteView bytes) override;
    Request receive(Rank from, int tag, MutableBytes into) override;
    bool done(Request) override { return true; }
    void cancel(Request) override {}
    std::optional<Arrival> probe(int tag) override;
    std::vector<Rank> failed() override { return failed_; }
    [[noreturn]] void vanish() override;
    [[noreturn]] void abort(int exit_code) override;

    std::int64_t laps() const { return finished_; }                     // that rank 0 was given
    std::optional<double> lost_s() const { return lost_s_; }            // monotonic: when the trainer died
    std::optional<double> first_lap_s() const { return first_lap_s_; }  // when the first lap came to a trainer
    std::optional<double> back_s() const { return back_s_; }            // when one came after that loss

private:
    struct Message {
        Rank from;
        Bytes bytes;
    };
    struct Trainer {
        std::deque<Lap> laps;
        std::map<TrialId, int> done;  // epochs of its trials
        std::uint64_t finished = 0;
        bool paused = false;
    };

    void hear(Rank at, MessageKind kind, ByteView body);
    void accept(Rank at, Lap lap);
    void say(Rank from, MessageKind kind, Bytes const& body);
    void say_hello(Rank from);
    void save_all(Rank at, Save const& asked);
    void save(Rank at, TrialId trial);
    void say_goodbye(Rank from);
    void push_best(Rank from, LapId const& asked);
    void beat(double now);
    void work(double now);
    bool finish_next();
    LapRecord record_of(Rank at, Lap const& lap) const;
    void kill(Rank rank);

    Cast cast_;
    std::function<void(std::int64_t)> lap_taken_;
    Welcome welcome_;
    std::vector<Trainer> trainers_;  // by rank; the first is empty
    std::deque<Rank> busy_;          // a rank for each lap that waits, in order
    std::deque<Message> messages_;   // to rank 0
    std::vector<Rank> failed_;
    Bytes best_;
    std::uint64_t next_push_ = 1;
    std::int64_t finished_ = 0, saved_ = 0;
    double began_s_ = 0, next_beat_s_ = 0, next_lap_s_ = 0, next_save_s_ = 0;
    std::optional<double> lost_s_, first_lap_s_, back_s_;
};

// What a trial's state hashes to behind that epoch, whoever trained it.
std::uint64_t played_hash(TrialId trial, int epoch);

}  // namespace hopscotch
