// SPDX-License-Identifier: Apache-2.0
// The groups of mop (strategy.group_size G): G trainers train a unit together, step by step, each on its own shard of a
// bundle. The first member of a group is the trainer that the rest of mop knows: queue, states and hops are its own. Two
// members, trial 7, bundle 1 = shards 2 and 3:
//   first:  UnitCall(trial 7, shard 2)   state ->    ready?   steps on shard 2   hashes compared     pushes the state on
//   second:                           -> state       ready?   steps on shard 3   hashes compared     waits for the next call
// Bits are a function of the experiment and G, since an update adds up the members' gradients in their order.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "core/ids.hpp"

namespace hopscotch {

class BufferMean;
class CourierSum;
class Group;
class SharedLap;
class SharedSaves;
class StateKeeper;
struct Incoming;
struct Journey;
struct UnitCall;
struct WorkerResources;

// Whether this trainer is in a group, and whether it is the first member.
bool has_group(WorkerResources const& resources);
bool leads_group(WorkerResources const& resources);

class UnitGroup {
public:
    // set_aside: as of Group. The trainer must own a shard.
    UnitGroup(WorkerResources const& resources, StateKeeper& keeper, std::function<void(Incoming)> set_aside);
    ~UnitGroup();

    void keep(Incoming const& share);

    // The first member: trains the rest of the unit at journey.step, as TrialRunner::run_unit. Throws JobEnded, CommError,
    // and Paused after the unit's place was saved.
    void lead(Journey& journey, Buffer& state);
    // Validates after the last unit: LapRecord::valid, or the reason why not. Throws JobEnded, CommError.
    void lead_validation(Journey& journey, Buffer& state);
    // Another member, once for each call of the first.
    void follow(UnitCall const& call);

private:
    void call_members(UnitCall const& call);
    void get_state(UnitCall const& call);
    void train(UnitCall const& call, Journey& journey);
    std::string open(UnitCall const& call, std::optional<SharedLap>& mine);  // returns why it cannot be; empty: it can
    std::string first_complaint(UnitCall const& call, std::string const& mine);
    std::vector<ShardId> bundle_of(UnitCall const& call) const;

    WorkerResources const& resources_;
    std::unique_ptr<Group> group_;
    std::unique_ptr<CourierSum> sum_;
    std::unique_ptr<BufferMean> buffers_;
    std::unique_ptr<SharedSaves> saves_;
    Buffer state_;  // of the unit under way: exchanges that a shutdown cuts off still point here
};

}  // namespace hopscotch
