// SPDX-License-Identifier: Apache-2.0
#include "comm/announcement.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <deque>

#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr int k_announcement_tag = 31001;
constexpr std::array k_dedicated{std::byte{0}}, k_shared{std::byte{1}}, k_preparing{std::byte{2}};

// Any MPI sends one byte at once. A process that is gone does not receive the byte; its silence will show the loss.
void finish(World& world, Request request) {
    for (int looks = 0; looks < 1000 && !world.done(request); ++looks)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

SignsOfLife::SignsOfLife(World& world, double every_s) : thread_([this, &world, every_s] { show(world, every_s); }) {}

SignsOfLife::~SignsOfLife() {
    {
        std::lock_guard const lock(mutex_);
        ending_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

void SignsOfLife::show(World& world, double every_s) {
    std::deque<Request> sent;
    std::unique_lock lock(mutex_);
    try {
        while (!ended_.wait_for(lock, std::chrono::duration<double>(every_s), [this] { return ending_; })) {
            std::erase_if(sent, [&](Request request) { return world.done(request); });
            for (int rank = 1; rank < world.size(); ++rank)
                sent.push_back(world.send(Rank(rank), k_announcement_tag, k_preparing));
        }
        for (auto const request : sent) finish(world, request);
    } catch (CommError const&) {  // a process is gone: the roll call will name it
    }
}

void announce(World& world, bool shared) {
    std::deque<Request> sent;
    for (int rank = 1; rank < world.size(); ++rank)
        sent.push_back(world.send(Rank(rank), k_announcement_tag, shared ? k_shared : k_dedicated));
    for (auto const request : sent) finish(world, request);
}

bool await_announcement(World& world, double deadline_s) {
    std::array<std::byte, 1> said = k_preparing;
    while (said == k_preparing) {
        auto const deadline = monotonic_s() + deadline_s;
        auto const request = world.receive(Rank(0), k_announcement_tag, said);
        while (!world.done(request)) {
            if (monotonic_s() > deadline)
                throw CommError(
                    fmt::format("rank 0 has been silent for {:.0f} s (it is gone, stopped or cut off)", deadline_s));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return said == k_shared;
}

}  // namespace hopscotch
