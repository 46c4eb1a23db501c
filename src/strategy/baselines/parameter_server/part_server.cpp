// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/part_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "strategy/baselines/parameter_server/server_messages.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {
namespace {

constexpr double k_between_news_s = 1;

Buffer copy_of(std::vector<std::span<float const>> const& ranges, BufferPool& pool) {
    std::size_t floats = 0;
    for (auto const& range : ranges) floats += range.size();
    auto out = pool.acquire(floats * sizeof(float));
    auto* to = reinterpret_cast<float*>(out.bytes().data());
    for (auto const& range : ranges) to = std::ranges::copy(range, to).out;
    return out;
}

}  // namespace

PartServer::PartServer(Courier& courier, RankGroup workers) : courier_(courier), workers_(std::move(workers)) {
    thread_ = std::thread([this] { run(); });
}

PartServer::~PartServer() {
    stopping_ = true;
    courier_.send(courier_.world().rank(), MessageKind::serve, encode(ServeOrder{ServeOrder::What::quit, {}}));
    thread_.join();
}

void PartServer::begin(Begin begin) {
    auto const trial = begin.trial;
    {
        std::lock_guard const lock(mutex_);
        begins_.push_back(std::move(begin));
    }
    courier_.send(courier_.world().rank(), MessageKind::serve, encode(ServeOrder{ServeOrder::What::begin, trial}));
}

void PartServer::run() noexcept {
    try {
        while (!stopping_) {
            auto message = courier_.receive(k_between_news_s / 2, Desk::service);
            if (courier_.activity().leave) continue;  // the job ends: no rank waits for an answer
            if (message) handle(std::move(*message));
            tell_who_waits();
        }
    } catch (std::exception const& error) {
        if (!stopping_) say_fatal(error.what());
    }
}

// Rank 0 ends the job. The rank's own thread waits for parameters meanwhile, or for nothing.
void PartServer::say_fatal(std::string const& text) {
    courier_.send(
        Rank(0), MessageKind::fatal,
        encode(Fatal{fmt::format("rank {} ({}): parameter server: {}", courier_.world().rank().value, host_name(), text)}));
}

void PartServer::handle(Incoming message) {
    if (message.kind == MessageKind::serve) return obey(decode<ServeOrder>(message.body));
    require(message.kind == MessageKind::gradient || message.kind == MessageKind::pull,
            fmt::format("unexpected message \"{}\" for a parameter server", name_of(message.kind)));
    take(std::move(message));
}

void PartServer::obey(ServeOrder const& order) {
    if (order.what == ServeOrder::What::forget) {
        trials_.erase(order.trial);
        return;
    }
    std::deque<Begin> begins;
    {
        std::lock_guard const lock(mutex_);
        begins.swap(begins_);
    }
    for (auto& begin : begins) {
        auto& served = trials_[begin.trial];
        served.parts.merge(begin.fresh);
        served.epoch = begin.epoch;
        served.lap = begin.lap;
        for (auto& [index, part] : served.parts) part.begin(begin.lap);
    }
    for (auto& message : std::exchange(early_, {})) take(std::move(message));
}

void PartServer::take(Incoming message) {
    auto const about = decode<GradientPart>(message.body);
    auto const served = trials_.find(about.trial);
    if (served == trials_.end() || served->second.epoch != about.epoch) {
        early_.push_back(std::move(message));
        return;
    }
    auto const found = served->second.parts.find(about.part);
    require(found != served->second.parts.end(),
            fmt::format("part {} of trial {} is not on this server", about.part, about.trial.value));
    auto& part = found->second;
    news_ = true;
    bool const was_complete = part.complete();
    answer(about, part,
           about.step < 0 ? part.ask(about.worker) : part.take(about.worker, about.step, std::move(message.state)));
    if (part.complete() && !was_complete) end(about, part);
}

void PartServer::answer(GradientPart const& about, ServedPart const& part, std::vector<ServedPart::Answer> const& answers) {
    for (auto const& answer : answers)
        courier_.push(workers_.ranks[static_cast<std::size_t>(answer.worker)],
                      encode(ParametersPart{about.trial, about.epoch, about.part, answer.step, answer.staleness}),
                      copy_of({part.values().parameters()}, courier_.pool()), MessageKind::parameters);
}

void PartServer::end(GradientPart const& about, ServedPart const& part) {
    bool const timed = trials_.at(about.trial).lap->config.server.mode != ServerMode::sync;
    std::vector<std::span<float const>> slots;
    for (int kind = 0; kind < part.values().slots(); ++kind) slots.push_back(part.values().slot(kind));
    if (slots.empty() && !timed) return;
    auto header = encode(PartEnd{about.trial, about.epoch, about.part, timed ? part.order() : std::vector<std::uint16_t>{}});
    auto const root = workers_.ranks.front();
    if (slots.empty()) return courier_.send(root, MessageKind::slots, std::move(header));
    courier_.push(root, std::move(header), copy_of(slots, courier_.pool()), MessageKind::slots);
}

// A fast worker may wait for a whole lap of a slow one: a sign of life keeps the wait from looking like a stall.
void PartServer::tell_who_waits() {
    auto const now = monotonic_s();
    if (!news_ || now < told_s_ + k_between_news_s) return;
    told_s_ = now;
    news_ = false;
    for (auto const& [trial, served] : trials_) {
        bool const waits = std::ranges::any_of(served.parts, [](auto const& part) { return part.second.somebody_waits(); });
        for (auto const rank : workers_.ranks)
            if (waits) courier_.send(rank, MessageKind::parameters, encode(ParametersPart{trial, served.epoch, -1, 0, 0}));
    }
}

}  // namespace hopscotch
