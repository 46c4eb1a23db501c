// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "model/trial/torch_library.hpp"

namespace hopscotch {

// With the bits that Step::update gives the same range of a whole state.
std::unique_ptr<TorchPartUpdate> make_part_update(TrainConfig const& train, TorchLibrary::Part part);

}  // namespace hopscotch
