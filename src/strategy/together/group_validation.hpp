// SPDX-License-Identifier: Apache-2.0
// Validation by all members of a group: each evaluates its range of the batches, and the sums are merged in the order of
// members. So scores are a function of the number of members, as the update of a step is.
#pragma once
#include "core/byte_view.hpp"

namespace hopscotch {

class Group;
struct Lap;
struct LapRecord;
struct WorkerResources;

// Every member calls this with the same state. Sets the validation of the record, and the outcome if the validation fails on
// one of the members. Throws JobEnded, CommError.
void validate_together(Group& group, WorkerResources const& resources, Lap const& lap, MutableBytes state,
                       LapRecord& record);

}  // namespace hopscotch
