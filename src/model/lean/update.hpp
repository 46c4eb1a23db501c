// SPDX-License-Identifier: Apache-2.0
// The update of the lean step: one pass over flat parameters, gradient and slots. Needs AVX2.
#pragma once
#include "model/gpu/update_element.hpp"

namespace hopscotch {

void update_all(FlatUpdate const& update, UpdateNow const& now);

}  // namespace hopscotch
