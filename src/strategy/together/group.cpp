// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/all_reduce.hpp"
#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/exchange.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "experiment/config.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/common/timed_phase.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/trainer/job_ended.hpp"

namespace hopscotch {
Group::Group(Resources const& resources, std::vector<TrainerId> trainers, std::function<void(Incoming)> set_aside)
    : courier_(resources.courier),
      trainers_(std::move(trainers)),
      set_aside_(std::move(set_aside)),
      stall_s_(resources.experiment.run.limits.stall_s),
      sync_delay_s_(resources.experiment.run.inject.sync_s) {
    ranks_.self = -1;
    for (auto const trainer : trainers_) {
        if (rank_of(trainer) == courier_.world().rank()) ranks_.self = ranks_.size();
        ranks_.ranks.push_back(rank_of(trainer));
    }
}

namespace {

std::shared_ptr<Exchange> exchange_of(Exchange::Plan plan, std::string what, std::uint64_t sequence) {
    plan.what = std::move(what);
    return std::make_shared<Exchange>(std::move(plan), sequence);
}

}  // namespace

std::shared_ptr<Exchange> Group::start(std::shared_ptr<Exchange> exchange) {
    courier_.start(exchange);
    return exchange;
}

std::shared_ptr<Exchange> Group::sum(AllReduce algorithm, std::span<float> values, std::string what) {
    return start(exchange_of(all_reduce(algorithm, ranks_, values, courier_.pool()), std::move(what), next_exchange_++));
}

std::shared_ptr<Exchange> Group::broadcast(MutableBytes bytes, std::string what) {
    return start(exchange_of(hopscotch::broadcast(ranks_, bytes), std::move(what), next_exchange_++));
}

void Group::wait(std::vector<std::shared_ptr<Exchange>> const& exchanges) {
    TimedPhase const waiting(courier_.activity(), Phase::exchange, exposed_s_);
    for (auto const& exchange : exchanges)
        if (!courier_.finish(*exchange)) throw JobEnded{};
}

void Group::wait_for_device(std::function<void()> const& work) {
    double unmeasured_s = 0;
    TimedPhase const waiting(courier_.activity(), Phase::exchange, unmeasured_s);
    work();
}

void Group::delay_if_injected() {
    if (sync_delay_s_ == 0) return;
    TimedPhase const waiting(courier_.activity(), Phase::exchange, exposed_s_);
    auto const end = monotonic_s() + sync_delay_s_;
    while (monotonic_s() < end) {
        if (courier_.activity().leave) throw JobEnded{};
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.05, std::max(0.0, end - monotonic_s()))));
    }
}

void Group::keep(Incoming const& message) {
    auto share = decode<Share>(message.body);
    shared_[share.sequence][message.from] = std::move(share.body);
}

std::vector<Bytes> Group::share(Bytes mine, std::string const& what, To to) {
    TimedPhase const waiting(courier_.activity(), Phase::exchange, exposed_s_);
    auto const sequence = next_share_++;
    bool const tells_all = to == To::all;
    for (auto const rank : ranks_.ranks)
        if (rank != courier_.world().rank() && (tells_all || rank == ranks_.ranks.front()))
            courier_.send(rank, MessageKind::share, encode(Share{sequence, mine}));
    if (!tells_all && self() != 0) return {};
    auto& come = shared_[sequence];
    come[courier_.world().rank()] = std::move(mine);
    auto const deadline = monotonic_s() + stall_s_;
    while (static_cast<int>(come.size()) < size()) {
        auto message = courier_.receive(0.1);
        if (courier_.activity().leave) {
            if (message) set_aside_(std::move(*message));
            throw JobEnded{};
        }
        if (!message && monotonic_s() > deadline && courier_.peers().job_still_s() > stall_s_)
            throw CommError(fmt::format("{}: only {} of {} trainers answered within {:.0f} s; run.stall_s sets this limit",
                                        what, come.size(), size(), stall_s_));
        if (!message) continue;
        if (message->kind != MessageKind::share) {
            set_aside_(std::move(*message));
            continue;
        }
        keep(*message);
    }
    std::vector<Bytes> out;
    for (auto const rank : ranks_.ranks) out.push_back(std::move(come[rank]));
    shared_.erase(sequence);
    return out;
}

}  // namespace hopscotch
