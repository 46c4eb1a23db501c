// SPDX-License-Identifier: Apache-2.0
#include "comm/thread_world.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {
namespace {

using Done = std::shared_ptr<std::atomic<bool>>;

struct Sending {
    Rank from;
    int tag = 0;
    ByteView bytes;
    Done done;
};

struct Receiving {
    Rank from;
    int tag = 0;
    MutableBytes into;
    Done done;
};

struct Mailbox {
    std::mutex mutex;
    std::list<Sending> sends;
    std::list<Receiving> receives;
    std::mutex bell_mutex;  // never taken under the other one
    std::function<void()> bell;

    void ring() {
        std::lock_guard const lock(bell_mutex);
        if (bell) bell();
    }
};

void deliver(Sending const& send, Receiving const& receive) {
    require(send.bytes.size() <= receive.into.size(), "message longer than its receive buffer");
    if (!send.bytes.empty()) std::memcpy(receive.into.data(), send.bytes.data(), send.bytes.size());
    receive.done->store(true, std::memory_order_release);
    send.done->store(true, std::memory_order_release);
}

}  // namespace

class ThreadHub {
public:
    explicit ThreadHub(int size) : boxes(static_cast<std::size_t>(size)) {}
    std::vector<Mailbox> boxes;
    std::atomic<bool> aborted = false;
};

namespace {

class ThreadWorld : public World {
public:
    ThreadWorld(std::shared_ptr<ThreadHub> hub, Rank rank) : hub_(std::move(hub)), rank_(rank) {}

    Rank rank() const override { return rank_; }
    int size() const override { return static_cast<int>(hub_->boxes.size()); }
    std::string name() const override { return "threads"; }
    int number_on_host() const override { return rank_.value - 1; }
    int trainers_on_host() const override { return size() - 1; }

    Request send(Rank to, int tag, ByteView bytes) override {
        alive();
        auto const request = add();
        auto& box = hub_->boxes[to.index()];
        {
            std::lock_guard const lock(box.mutex);
            Sending const sending{rank_, tag, bytes, requests_[request.slot]};
            auto const match = std::find_if(box.receives.begin(), box.receives.end(),
                                            [&](Receiving const& r) { return r.from == rank_ && r.tag == tag; });
            if (match == box.receives.end()) {
                box.sends.push_back(sending);
            } else {
                deliver(sending, *match);
                box.receives.erase(match);
            }
        }
        box.ring();
        return request;
    }

    Request receive(Rank from, int tag, MutableBytes into) override {
        alive();
        auto const request = add();
        auto& box = hub_->boxes[rank_.index()];
        {
            std::lock_guard const lock(box.mutex);
            Receiving const receiving{from, tag, into, requests_[request.slot]};
            auto const match = std::find_if(box.sends.begin(), box.sends.end(),
                                            [&](Sending const& s) { return s.from == from && s.tag == tag; });
            if (match == box.sends.end()) {
                box.receives.push_back(receiving);
                return request;
            }
            deliver(*match, receiving);
            box.sends.erase(match);
        }
        hub_->boxes[from.index()].ring();
        return request;
    }

    bool done(Request request) override {
        alive();
        auto& flag = requests_[request.slot];
        if (!flag->load(std::memory_order_acquire)) return false;
        flag = nullptr;
        free_.push_back(request.slot);
        return true;
    }

    void cancel(Request request) override {
        auto const flag = std::exchange(requests_[request.slot], nullptr);
        for (auto& box : hub_->boxes) {
            std::lock_guard const lock(box.mutex);
            std::erase_if(box.sends, [&](Sending const& sending) { return sending.done == flag; });
            std::erase_if(box.receives, [&](Receiving const& receiving) { return receiving.done == flag; });
        }
        free_.push_back(request.slot);
    }

    std::optional<Arrival> probe(int tag) override {
        alive();
        auto& box = hub_->boxes[rank_.index()];
        std::lock_guard const lock(box.mutex);
        for (auto const& send : box.sends)
            if (send.tag == tag) return Arrival{send.from, send.bytes.size()};
        return std::nullopt;
    }

    bool set_bell(std::function<void()> bell) override {
        auto& box = hub_->boxes[rank_.index()];
        std::lock_guard const lock(box.bell_mutex);
        box.bell = std::move(bell);
        return true;
    }

    [[noreturn]] void vanish() override { throw CommError("the job goes on without this rank"); }

    [[noreturn]] void abort(int) override {
        hub_->aborted = true;
        throw CommError("the job was aborted");
    }

private:
    void alive() const {
        if (hub_->aborted) throw CommError("the job was aborted by another rank");
    }
    Request add() {
        auto done = std::make_shared<std::atomic<bool>>(false);
        if (free_.empty()) {
            requests_.push_back(std::move(done));
            return {requests_.size() - 1};
        }
        auto const slot = free_.back();
        free_.pop_back();
        requests_[slot] = std::move(done);
        return {slot};
    }

    std::shared_ptr<ThreadHub> hub_;
    Rank rank_;
    std::vector<Done> requests_;
    std::vector<std::size_t> free_;
};

}  // namespace

std::shared_ptr<ThreadHub> make_thread_hub(int size) { return std::make_shared<ThreadHub>(size); }

std::unique_ptr<World> make_thread_world(std::shared_ptr<ThreadHub> hub, Rank rank) {
    return std::make_unique<ThreadWorld>(std::move(hub), rank);
}

void run_thread_ranks(int size, std::function<void(World&)> const& body) {
    auto const hub = make_thread_hub(size);
    std::mutex mutex;
    std::exception_ptr first;
    auto const rank_main = [&](int rank) {
        auto const world = make_thread_world(hub, Rank(rank));
        try {
            body(*world);
        } catch (...) {
            std::lock_guard const lock(mutex);
            if (!hub->aborted.exchange(true) || !first) first = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 1; rank < size; ++rank) threads.emplace_back(rank_main, rank);
    rank_main(0);
    for (auto& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
}

}  // namespace hopscotch
