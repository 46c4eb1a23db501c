// SPDX-License-Identifier: Apache-2.0
// The first values of a state, from one stream of random numbers.
#pragma once
#include <cstdint>

#include "core/byte_view.hpp"

namespace hopscotch {

struct LayoutRequest;
struct StateLayout;

// Zeros the whole block (padding too), then draws every parameter of the state in order from the stream `key` and writes the
// buffers; an EMA slot starts as its parameter. The values do not depend on the number of threads.
void initialise_state(MutableBytes state, StateLayout const& layout, LayoutRequest const& request, std::uint64_t key,
                      int threads = 1);

}  // namespace hopscotch
