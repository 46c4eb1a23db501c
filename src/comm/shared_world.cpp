// SPDX-License-Identifier: Apache-2.0
#include "comm/shared_world.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace hopscotch {

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

// Asks both worlds: the call acknowledges failures, and until then MPI receives from no rank of that world. The first world
// knows all ranks of the other world but one.
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
