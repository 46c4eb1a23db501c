// SPDX-License-Identifier: Apache-2.0
// How work on a trainer is cut off when rank 0 says so.
#pragma once

namespace hopscotch {

// Thrown in the middle of a unit: rank 0 has ended the job. Paused: the job goes on, and the state has been saved.
struct JobEnded {};
struct Paused : JobEnded {};

}  // namespace hopscotch
