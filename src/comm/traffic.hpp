// SPDX-License-Identifier: Apache-2.0
// The purposes of bytes on the network; each has a counter of its own.
#pragma once

namespace hopscotch {

// state: trials' states; gradient: gradients, and parameters that travel without a state; data: rows of shards, and the best
// model on its way to rank 0; control: everything else.
enum class Traffic { state, gradient, data, control };
inline constexpr int k_traffics = 4;

}  // namespace hopscotch
