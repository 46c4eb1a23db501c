// SPDX-License-Identifier: Apache-2.0
// Checkpoints inside a lap that all train together: one file with the state of the first trainer, the place of each trainer,
// and each one's own part of the state: buffers (batch statistics of its rows), slots of optimizers that are not averaged.
#include <fmt/format.h>

#include <algorithm>

#include "comm/codec.hpp"
#include "core/clock.hpp"
#include "core/fault.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/trainer/job_ended.hpp"

namespace hopscotch {
namespace {

constexpr double k_most_s_between_looks = 1;

}  // namespace

// At least ten looks between two saves.
std::int64_t GroupTrainer::steps_to_look() const {
    auto const seconds = std::min(k_most_s_between_looks, resources().checkpoints.every_s / 10);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps_per_s_ * seconds));
}

void GroupTrainer::look_at_clock(SharedLap& mine, Journey& journey, std::int64_t steps) {
    if (!keeper().saves() || steps < next_look_) return;
    fault_point("group.look");
    journey.saved = false;
    auto const taken_s = std::max(1e-6, monotonic_s() - lap_started_s_);
    steps_per_s_ = static_cast<double>(steps - first_step_) / taken_s;
    Look look;
    if (is_root()) look = {keeper().is_due(journey), paused(), steps_to_look()};
    look =
        decode<Look>(group_.share(encode(look), fmt::format("a look at the clock in {}", place(mine.lap(), steps))).front());
    next_look_ = steps + look.steps;
    if (look.save) save_lap(mine, journey, steps);
    if (look.leave) throw Paused{};
}

void GroupTrainer::save_lap(SharedLap& mine, Journey& journey, std::int64_t steps) {
    auto const all = group_.share(encode(mine.place(own())), fmt::format("a checkpoint in {}", place(mine.lap(), steps)),
                                  Group::To::first);
    std::vector<MemberPlace> places;
    for (auto const& each : all) places.push_back(decode<MemberPlace>(each));
    if (!is_root() || std::ranges::any_of(places, &MemberPlace::failed)) return;
    journey.batches = steps;
    journey.parts = encode(places);
    keeper().save(journey, mine.state());
}

}  // namespace hopscotch
