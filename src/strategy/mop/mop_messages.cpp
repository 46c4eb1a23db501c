// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/mop_messages.hpp"

#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

// The shards of a lap so far. Those held out have no record; they come last, in the order of the route.
std::vector<ShardId> visited(Journey const& journey, TrialRunner const& runner) {
    std::vector<ShardId> out;
    for (auto const& unit : journey.record.units) out.push_back(unit.shard);
    auto const& lap = journey.lap;
    for (int step = static_cast<int>(std::ssize(out)); step < journey.step; ++step)
        out.push_back(planned_shard(lap.trial, step, runner.shards(), runner.held_out(lap), lap.route));
    return out;
}

}  // namespace

Turn turn_of(Turn::What what, Journey const& journey, TrialRunner const& runner) {
    auto const& lap = journey.lap;
    Turn turn;
    turn.what = what;
    turn.lap.id = lap.id();
    if (what == Turn::What::waits) {
        turn.lap.remaining = lap.remaining_cost - journey.step * lap.unit_cost;
        turn.lap.at = runner.self();
        turn.lap.route = lap.route;
        turn.lap.held_out = runner.held_out(lap);
        turn.lap.visited = visited(journey, runner);
        turn.lap.bound = journey.shard;
        turn.lap.repeats = lap.repeats;
    } else if (std::ssize(journey.record.units) == journey.step) {  // else it was evaluated on a shard held out
        turn.rows = journey.record.units.back().rows;
        turn.seconds = journey.record.units.back().seconds;
    }
    return turn;
}

}  // namespace hopscotch
