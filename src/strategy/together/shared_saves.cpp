// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/shared_saves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/fault.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/together/group.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/state_keeper.hpp"

namespace hopscotch {
namespace {

constexpr double k_most_s_between_looks = 1;

}  // namespace

// At least ten looks between two saves.
std::int64_t SharedSaves::steps_to_look() const {
    auto const seconds = std::min(k_most_s_between_looks, resources_.checkpoints.every_s / 10);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps_per_s_ * seconds));
}

std::int64_t SharedSaves::steps_to_look(TrialId trial) {
    if (std::exchange(timed_, trial) != trial) steps_per_s_ = 0;  // others may be a thousand times slower
    return steps_to_look();
}

void SharedSaves::begin(std::int64_t steps, std::int64_t steps_to_look) {
    next_look_ = steps + steps_to_look;
    first_step_ = steps;
    started_s_ = monotonic_s();
}

void SharedSaves::look(SharedLap& mine, Journey& journey, std::int64_t steps) {
    if (!keeper_.saves() || steps < next_look_) return;
    fault_point("group.look");
    journey.saved.here = false;
    auto const taken_s = std::max(1e-6, monotonic_s() - started_s_);
    steps_per_s_ = static_cast<double>(steps - first_step_) / taken_s;
    Look look;
    bool const paused = resources_.courier.activity().pause;
    if (group_.self() == 0) look = {keeper_.is_due(journey), paused, steps_to_look()};
    auto const what = fmt::format("a look at the clock in {}", place_of(mine.lap(), steps));
    look = decode<Look>(group_.share(encode(look), what).front());
    next_look_ = steps + look.steps;
    if (look.save) save(mine, journey, steps);
    if (look.leave) throw Paused{};
}

void SharedSaves::save(SharedLap& mine, Journey& journey, std::int64_t steps) {
    auto const all = group_.share(encode(mine.place(own_)), fmt::format("a checkpoint in {}", place_of(mine.lap(), steps)),
                                  Group::To::first);
    std::vector<MemberPlace> places;
    for (auto const& each : all) places.push_back(decode<MemberPlace>(each));
    if (group_.self() != 0 || std::ranges::any_of(places, &MemberPlace::failed)) return;
    journey.unit.batches = steps;
    journey.parts = encode(places);
    keeper_.save(journey, mine.state());
}

}  // namespace hopscotch
