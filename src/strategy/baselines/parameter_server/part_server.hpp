// SPDX-License-Identifier: Apache-2.0
// The server of a rank, a thread of its own: takes gradients of its parts, answers with parameters (served_part.hpp has the
// rule), and sends slots to the first worker when a lap is complete. Its data belong to its thread. Its exceptions reach
// rank 0 as Fatal.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/messages.hpp"
#include "comm/rank_group.hpp"
#include "core/ids.hpp"
#include "strategy/baselines/parameter_server/served_part.hpp"

namespace hopscotch {

class Courier;
struct GradientPart;
struct ServeOrder;

class PartServer {
public:
    // Starts the thread. workers: in the order of sums; the first worker keeps whole states.
    PartServer(Courier& courier, RankGroup workers);
    ~PartServer();

    // Any thread. A lap begins. fresh: the parts, in the trial's first lap here. Earlier gradients of the lap are kept.
    struct Begin {
        TrialId trial;
        int epoch = 0;
        std::shared_ptr<ServedLap const> lap;
        std::map<int, ServedPart> fresh;
    };
    void begin(Begin begin);

private:
    struct Served {
        int epoch = -1;
        std::shared_ptr<ServedLap const> lap;
        std::map<int, ServedPart> parts;
    };
    void run() noexcept;
    void handle(Incoming message);
    void obey(ServeOrder const& order);
    void take(Incoming message);
    void answer(GradientPart const& about, ServedPart const& part, std::vector<ServedPart::Answer> const& answers);
    void end(GradientPart const& about, ServedPart const& part);
    void tell_who_waits();
    void say_fatal(std::string const& text);

    Courier& courier_;
    RankGroup workers_;
    std::mutex mutex_;  // of begins_
    std::deque<Begin> begins_;
    std::map<TrialId, Served> trials_;
    std::vector<Incoming> early_;  // for laps that have not begun here
    double told_s_ = 0;
    bool news_ = false;  // a gradient has come since
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace hopscotch
