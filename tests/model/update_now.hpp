// SPDX-License-Identifier: Apache-2.0
// An update of which no number is 0 or 1. Includes the lean step alone: lean_bits is compiled by itself.
#pragma once
#include "model/lean/update.hpp"

namespace hopscotch {

inline UpdateNow some_update() {
    UpdateNow out;
    out.numbers = {.weight_decay = 0.01F,
                   .momentum = 0.9F,
                   .epsilon = 1e-8F,
                   .beta1 = 0.9F,
                   .beta1_rest = 0.1F,
                   .beta2 = 0.999F,
                   .beta2_rest = 0.001F,
                   .alpha = 0.99F,
                   .alpha_rest = 0.01F,
                   .averaged_rest = 0.05F};
    out.entry = {.lr = 0.01F, .correction1 = 0.1F, .correction2_root = 0.0316F};
    return out;
}

}  // namespace hopscotch
