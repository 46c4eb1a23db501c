// SPDX-License-Identifier: Apache-2.0
// The kernels of batch norm as plain loops over the same blocks, threads and pieces: the bits that a GPU must have.
#pragma once
#include "tensor/gpu/norm_pass.hpp"

namespace hopscotch::testing {

void run_norm_loops(NormForward const& pass);
void run_norm_loops(NormBackward const& pass);

}  // namespace hopscotch::testing
