// SPDX-License-Identifier: Apache-2.0
// The exceptions that cut off a trainer's work when rank 0 ends or pauses the job.
#pragma once

namespace hopscotch {

// Thrown in the middle of a unit: rank 0 has ended the job. Paused: the job goes on, and the state has been saved.
struct JobEnded {};
struct Paused : JobEnded {};

}  // namespace hopscotch
