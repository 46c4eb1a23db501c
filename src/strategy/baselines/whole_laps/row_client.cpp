// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/row_client.hpp"

#include <fmt/format.h>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "experiment/config.hpp"
#include "strategy/baselines/whole_laps/row_messages.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/common/timed_phase.hpp"
#include "strategy/trainer/job_ended.hpp"

namespace hopscotch {
namespace {

constexpr double k_settle_s = 1;

}  // namespace

RowClient::RowClient(Resources const& resources, std::function<void(Incoming)> set_aside)
    : courier_(resources.courier),
      owners_(resources.owners),
      stall_s_(resources.experiment.run.limits.stall_s),
      first_(static_cast<Ticket>(resources.owners.version) << 40U),
      next_(first_),
      set_aside_(std::move(set_aside)) {}

RowClient::Ticket RowClient::ask(RowsWanted wanted) {
    wanted.ticket = next_++;
    courier_.send(rank_of(owners_.of(wanted.shard)), MessageKind::rows_wanted, encode(wanted));
    asked_[wanted.ticket].shard = wanted.shard;
    return wanted.ticket;
}

Buffer RowClient::take(Ticket ticket) {
    auto& asked = asked_.at(ticket);
    while (!asked.rows) {  // rows that have arrived need no wait
        auto message = courier_.receive(0);
        if (!message) break;
        sort(std::move(*message));
    }
    if (!asked.rows) wait_for(asked);
    auto rows = std::move(asked.rows);
    asked_.erase(ticket);
    return rows;
}

void RowClient::wait_for(Asked& asked) {
    TimedPhase const waiting(courier_.activity(), Phase::rows, waited_s_);
    auto const deadline = monotonic_s() + stall_s_;
    while (!asked.rows) {
        if (auto message = courier_.receive(0.1)) sort(std::move(*message));
        if (courier_.activity().leave) throw JobEnded{};
        if (courier_.activity().lost > owners_.lost.size()) throw Paused{};  // the job is about to restart with new owners
        if (!asked.rows && monotonic_s() > deadline)
            throw CommError(fmt::format("rank {} sent no rows of shard {} for {:.0f} s; run.stall_s sets this limit",
                                        rank_of(owners_.of(asked.shard)).value, asked.shard.value, stall_s_));
    }
}

void RowClient::sort(Incoming message) {
    if (message.kind == MessageKind::rows) return keep(std::move(message));
    set_aside_(std::move(message));
}

void RowClient::keep(Incoming message) {
    auto const ticket = decode<Ticket>(message.body);
    if (ticket < first_) return;  // asked for before a trainer was lost
    auto const found = asked_.find(ticket);
    require(found != asked_.end(), "rows came without a request");
    if (found->second.wanted)
        found->second.rows = std::move(message.state);
    else
        asked_.erase(found);
}

void RowClient::drop(Ticket ticket) {
    auto const found = asked_.find(ticket);
    if (found == asked_.end()) return;
    if (found->second.rows)
        asked_.erase(found);
    else
        found->second.wanted = false;
}

void RowClient::settle() {
    std::erase_if(asked_, [](auto const& entry) { return static_cast<bool>(entry.second.rows); });
    for (auto& [ticket, asked] : asked_) asked.wanted = false;
    if (courier_.activity().lost > owners_.lost.size()) return;  // some of the rows never come
    auto const deadline = monotonic_s() + k_settle_s;
    while (!asked_.empty() && monotonic_s() < deadline)
        if (auto message = courier_.receive(0.05)) sort(std::move(*message));
}

}  // namespace hopscotch
