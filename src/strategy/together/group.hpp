// SPDX-License-Identifier: Apache-2.0
// The trainers that train a trial together, as one member sees them: collectives in flight while the member computes, and
// small messages from all to all. Every member makes the same calls in the same order.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/rank_group.hpp"
#include "core/byte_view.hpp"
#include "core/ids.hpp"

namespace hopscotch {

class Courier;
class Exchange;
struct Incoming;
struct Resources;

class Group {
public:
    // set_aside: takes all other messages that arrive while this member waits for the group.
    Group(Resources const& resources, std::vector<TrainerId> trainers, std::function<void(Incoming)> set_aside);

    int size() const { return ranks_.size(); }
    int self() const { return ranks_.self; }  // -1: this trainer is not a member
    RankGroup const& ranks() const { return ranks_; }
    std::vector<TrainerId> const& trainers() const { return trainers_; }

    // Start; values must stay where they are until wait().
    std::shared_ptr<Exchange> sum(AllReduce algorithm, std::span<float> values, std::string what);
    std::shared_ptr<Exchange> broadcast(MutableBytes bytes, std::string what);  // the first member's

    // Waits for the end of the exchanges. Throws JobEnded when rank 0 has ended the job.
    void wait(std::vector<std::shared_ptr<Exchange>> const& exchanges);

    // Work that only waits for this GPU and, through the GPU, for others. The shares of the two waits are not known.
    void wait_for_device(std::function<void()> const& work);

    // The bytes of every member, in the order of members; with To::first only for the first member. what: for errors.
    enum class To { all, first };
    std::vector<Bytes> share(Bytes mine, std::string const& what, To to = To::all);

    // A member that is ahead sends its message (MessageKind::share) before this one asks: the message is kept.
    void keep(Incoming const& message);

    // run.inject's delay of each synchronisation.
    void delay_if_injected();

    // Seconds waited for others since the last call.
    double take_exposed_s() { return std::exchange(exposed_s_, 0); }
    void add_exposed_s(double seconds) { exposed_s_ += seconds; }

private:
    std::shared_ptr<Exchange> start(std::shared_ptr<Exchange> exchange);

    Courier& courier_;
    std::vector<TrainerId> trainers_;
    RankGroup ranks_;
    std::function<void(Incoming)> set_aside_;
    double stall_s_, sync_delay_s_;
    std::uint64_t next_exchange_ = 0, next_share_ = 0;
    std::map<std::uint64_t, std::map<Rank, Bytes>> shared_;  // messages so far, by sequence: some members are ahead
    double exposed_s_ = 0;
};

}  // namespace hopscotch
