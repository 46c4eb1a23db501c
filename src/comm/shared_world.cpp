// SPDX-License-Identifier: Apache-2.0
#include "comm/shared_world.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr int k_announcement_tag = 31001;

}  // namespace

void announce(World& world, bool shared) {
    std::array const said{shared ? std::byte{1} : std::byte{0}};
    for (int rank = 1; rank < world.size(); ++rank) {
        auto const request = world.send(Rank(rank), k_announcement_tag, said);
        // A byte is on its way at once in any MPI; a process that is gone takes none, which its silence will tell.
        for (int looks = 0; looks < 1000 && !world.done(request); ++looks)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool await_announcement(World& world, double deadline_s) {
    auto const deadline = monotonic_s() + deadline_s;
    std::array<std::byte, 1> said{};
    auto const request = world.receive(Rank(0), k_announcement_tag, said);
    while (!world.done(request)) {
        if (monotonic_s() > deadline)
            throw CommError(fmt::format("rank 0 has been silent for {:.0f} s (it is gone, stopped or cut off)", deadline_s));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return said.front() != std::byte{0};
}

Request SharedWorld::send(Rank to, int tag, ByteView bytes) {
    if (to == apart_.here) return {2 * apart_.world.send(apart_.there, tag, bytes).slot + 1};
    return {2 * first_.send(to, tag, bytes).slot};
}

Request SharedWorld::receive(Rank from, int tag, MutableBytes into) {
    if (from == apart_.here) return {2 * apart_.world.receive(apart_.there, tag, into).slot + 1};
    return {2 * first_.receive(from, tag, into).slot};
}

bool SharedWorld::done(Request request) { return of(request).done({request.slot / 2}); }
void SharedWorld::cancel(Request request) { of(request).cancel({request.slot / 2}); }

std::optional<Arrival> SharedWorld::probe(int tag) {
    if (auto const arrival = first_.probe(tag)) return arrival;
    auto arrival = apart_.world.probe(tag);
    if (arrival) arrival->from = apart_.here;
    return arrival;
}

// Both worlds are asked, and so acknowledge what they know: until then MPI receives from no rank there. All ranks of the
// other world but one are known here by the first world.
std::vector<Rank> SharedWorld::failed() {
    auto out = first_.failed();
    for (auto const rank : apart_.world.failed())
        if (rank == apart_.there) out.push_back(apart_.here);
    return out;
}

// The job may go on without this rank's process, or without the trainer beside the scheduler: then the process stays.
void SharedWorld::vanish() {
    if (self_.rank.value != size_ - 1) first_.vanish();
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void SharedWorld::abort(int exit_code) {
    first_.abort(exit_code);
    std::_Exit(exit_code);
}

SharedJob::SharedJob(MpiWorld& processes) : beside_(processes) {
    Rank const last(processes.size());
    int const size = processes.size() + 1, here = processes.processes_on_host();
    SharedWorld::Self const self{processes.rank(), processes.processes_before_on_host(), here};
    if (processes.rank() != Rank(0)) {
        world_ = std::make_unique<SharedWorld>(processes, SharedWorld::Apart{beside_, Rank(0), last}, self, size);
        return;
    }
    world_ = std::make_unique<SharedWorld>(processes, SharedWorld::Apart{*scheduler_end_, Rank(1), last}, self, size);
    trainer_ = std::make_unique<SharedWorld>(beside_, SharedWorld::Apart{*trainer_end_, Rank(0), Rank(0)},
                                             SharedWorld::Self{last, 0, here}, size);
}

}  // namespace hopscotch
