// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of the experiment file, with the arguments of all models.
#pragma once
#include "core/json.hpp"

namespace hopscotch {

Json whole_schema();

}  // namespace hopscotch
