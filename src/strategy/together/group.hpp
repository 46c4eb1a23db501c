// SPDX-License-Identifier: Apache-2.0
// The trainers that train a trial together, as one of them sees them: collectives in flight while it computes, and small
// messages in which all tell all. Every member makes the same calls in the same order.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/all_reduce.hpp"
#include "strategy/common/strategy.hpp"

namespace hopscotch {

class Group {
public:
    // set_aside: takes messages that arrive while this member waits for others and that are about something else.
    Group(Resources const& resources, std::function<void(Incoming)> set_aside);

    int size() const { return ranks_.size(); }
    int self() const { return ranks_.self; }  // -1: this trainer is none of them
    RankGroup const& ranks() const { return ranks_; }
    std::vector<TrainerId> const& trainers() const { return trainers_; }

    // Start; values must stay where they are until wait().
    std::shared_ptr<Exchange> sum(AllReduce algorithm, std::span<float> values, std::string what);
    std::shared_ptr<Exchange> broadcast(MutableBytes bytes, std::string what);  // the first member's

    // Until they are done. Throws JobEnded when rank 0 has ended the job.
    void wait(std::vector<std::shared_ptr<Exchange>> const& exchanges);

    // Work that is nothing but a wait for this GPU and, through it, for others; how long for whom nobody can tell.
    void wait_for_device(std::function<void()> const& work);

    // Every member's bytes, in their order; with To::first only the first member gets them, the others nothing. what: for
    // errors.
    enum class To { all, first };
    std::vector<Bytes> share(Bytes mine, std::string const& what, To to = To::all);

    // A member that is ahead has told before this one asks: such a message (MessageKind::share) is kept.
    void keep(Incoming const& message);

    // run.inject's delay of each synchronisation.
    void delay_if_injected();

    // Seconds waited for others since the last call.
    double take_exposed_s() { return std::exchange(exposed_s_, 0); }
    void add_exposed_s(double seconds) { exposed_s_ += seconds; }

private:
    std::shared_ptr<Exchange> start(Exchange::Plan plan, std::string what);

    Courier& courier_;
    std::vector<TrainerId> trainers_;
    RankGroup ranks_;
    std::function<void(Incoming)> set_aside_;
    double stall_s_, sync_delay_s_;
    std::uint64_t next_exchange_ = 0, next_share_ = 0;
    std::map<std::uint64_t, std::map<Rank, Bytes>> shared_;  // what has come, by sequence: some are ahead
    double exposed_s_ = 0;
};

}  // namespace hopscotch
