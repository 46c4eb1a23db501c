// SPDX-License-Identifier: Apache-2.0
#include "comm/courier.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "comm/codec.hpp"
#include "comm/exchange.hpp"
#include "comm/peers.hpp"
#include "comm/process.hpp"
#include "comm/transfers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::uint64_t k_small_bytes =
    1 << 16;                  // of an exchange that its own thread finishes before another thread could wake
constexpr int k_spins = 200;  // looks at an exchange before the first sleep: a small message is there by then

CourierOptions with_clock(CourierOptions options) {
    if (!options.clock) options.clock = monotonic_s;
    return options;
}

// A thread in finish(), until it returns or throws.
class Helping {
public:
    Helping(std::atomic<int>& helpers, std::atomic<double>& left_s, std::function<double()> const& clock)
        : helpers_(helpers), left_s_(left_s), clock_(clock) {
        ++helpers_;
    }
    ~Helping() {
        --helpers_;
        left_s_ = clock_();
    }
    Helping(Helping const&) = delete;
    Helping& operator=(Helping const&) = delete;

private:
    std::atomic<int>& helpers_;
    std::atomic<double>& left_s_;
    std::function<double()> const& clock_;
};

}  // namespace

Courier::Courier(World& world, CourierOptions options)
    : world_(world),
      options_(with_clock(std::move(options))),
      peers_(std::make_unique<Peers>(world.rank(), world.size(), options_.deadline_s, options_.clock)),
      transfers_(make_transfers()),
      exchanges_(std::make_unique<Exchanges>()),
      processes_(std::make_unique<PeerProcesses>(this_process())) {
    has_bell_ = world.set_bell([this] {
        {
            std::lock_guard const lock(mutex_);
            rung_ = true;
        }
        if (helpers_ == 0) wake_courier_.notify_one();  // else they look themselves
    });
    thread_ = std::thread([this] { run(); });
}

Courier::~Courier() {
    stopping_ = true;
    wake_courier_.notify_one();
    if (thread_.joinable()) thread_.join();
    world_.set_bell({});
    for (auto* list : {&sends_, &arrivals_})
        for (auto& pending : *list) let_go(std::move(pending));
}

std::unique_ptr<Transfers> Courier::make_transfers() {
    Carrier carrier{.world = world_,
                    .peers = *peers_,
                    .pool = pool_,
                    .piece_bytes = options_.piece_bytes,
                    .post = [this](Rank to, MessageKind kind, Bytes const& body) { post(to, kind, body); },
                    .deliver = [this](Incoming incoming) { deliver(std::move(incoming)); },
                    .count = [this](Traffic kind, std::size_t bytes) { sent_[static_cast<std::size_t>(kind)] += bytes; },
                    .look_soon = [this] { look_soon(); }};
    return std::make_unique<Transfers>(std::move(carrier));
}

void Courier::look_soon() {
    {
        std::lock_guard const lock(mutex_);
        rung_ = true;
    }
    wake_courier_.notify_one();
}

void Courier::send(Rank to, MessageKind kind, Bytes body) {
    if (to == world_.rank()) return deliver({to, kind, std::move(body), {}});
    {
        std::lock_guard const lock(mutex_);
        outbox_.push_back({to, kind, std::move(body)});
    }
    wake_courier_.notify_one();
}

void Courier::push(Rank to, Bytes header, Buffer state, MessageKind kind) {
    if (to == world_.rank()) return deliver({to, kind, std::move(header), std::move(state)});
    {
        std::lock_guard const lock(mutex_);
        pushes_.push_back({to, kind, std::move(header), std::move(state)});
    }
    wake_courier_.notify_one();
}

void Courier::start(std::shared_ptr<Exchange> exchange) {
    bool const small = exchange->bytes() <= k_small_bytes;
    {
        std::lock_guard const engine(engine_);
        exchanges_->start(std::move(exchange), world_, options_.clock());
    }
    if (!small) wake_courier_.notify_one();
}

bool Courier::finish(Exchange const& exchange) {
    thread_local bool const precise = prctl(PR_SET_TIMERSLACK, 1000) == 0;  // as in loop()
    static_cast<void>(precise);
    {
        Helping const helping(helpers_, helped_s_, options_.clock);
        int looks = 0;
        while (!exchange.finished() && !activity_.leave) {
            if (std::unique_lock const engine(engine_, std::try_to_lock); engine)
                if (exchanges_->progress(world_, options_.clock(), sent_.data())) looks = 0;
            if (++looks > k_spins) std::this_thread::sleep_for(std::chrono::microseconds(looks > 2 * k_spins ? 100 : 20));
        }
    }
    if (exchange.finished()) return true;
    std::lock_guard const lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return false;
}

std::optional<Incoming> Courier::receive(double timeout_s, Desk desk) {
    std::unique_lock lock(mutex_);
    auto& box = inbox(desk);
    auto const ready = [&] { return !box.empty() || failure_; };
    if (box.empty() && rung_) wake_courier_.notify_one();  // it rang while this thread was in finish()
    if (timeout_s > 0) wake_owner_.wait_for(lock, std::chrono::duration<double>(timeout_s), ready);
    if (!box.empty()) {
        auto first = std::move(box.front());
        box.pop_front();
        return first;
    }
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
}

bool Courier::pushes_delivered() {
    std::lock_guard const engine(engine_);
    std::lock_guard const lock(mutex_);
    return pushes_.empty() && transfers_->nothing_leaves();
}

void Courier::give_up(Rank rank, std::string const& why) {
    if (peers_->give_up(rank)) deliver({rank, MessageKind::lost, encode(Lost{rank, why}), {}});
}

void Courier::bury(Rank rank) {
    std::lock_guard const engine(engine_);
    if (!peers_->is_buried(rank)) post(rank, MessageKind::lost, encode(Lost{rank, ""}));  // in case it wakes
    bury_now(rank);
}

// Under the engine's lock.
void Courier::bury_now(Rank rank) {
    if (!peers_->bury(rank)) return;
    world_.lose(rank);
    transfers_->bury(rank);
    for (auto* list : {&sends_, &arrivals_}) {
        for (auto& pending : *list)
            if (pending.peer == rank) let_go(std::move(pending));
        std::erase_if(*list, [&](Pending const& pending) { return pending.peer == rank; });
    }
}

void Courier::let_go(Pending pending) { world_.keep(std::make_shared<Pending>(std::move(pending))); }

// A trainer hears from rank 0 that another one is lost, or that it is itself taken for lost.
void Courier::on_lost(Lost const& lost) {
    if (lost.rank == world_.rank()) world_.vanish();
    bury_now(lost.rank);
    ++activity_.lost;
}

void Courier::leave_quietly() {
    peers_->stop_watching();
    stop_beating();
}

void Courier::stop_beating() {
    std::lock_guard const lock(mutex_);
    quiet_ = true;
}

void Courier::close() {
    {
        std::lock_guard const engine(engine_);
        exchanges_->abandon(world_);
        if (activity_.leave) abandon_peers();
    }
    {
        std::lock_guard const lock(mutex_);
        closing_ = true;
    }
    wake_courier_.notify_one();
    thread_.join();
    std::lock_guard const lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

// After rank 0's shutdown, rank 0 still receives from this rank, but other ranks may have left and receive nothing.
void Courier::abandon_peers() {
    alone_ = true;
    transfers_->abandon();
    for (auto& pending : sends_) {
        if (pending.peer == Rank(0)) continue;
        world_.cancel(pending.request);
        let_go(std::move(pending));
    }
    std::erase_if(sends_, [](Pending const& pending) { return pending.peer != Rank(0); });
}

}  // namespace hopscotch
