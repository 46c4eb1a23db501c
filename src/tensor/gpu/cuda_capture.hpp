// SPDX-License-Identifier: Apache-2.0
// Captures CUDA graphs with torch's own means. Of a CUDA build.
#pragma once
#include <ATen/core/Generator.h>

#include <memory>

#include "tensor/gpu/step_graphs.hpp"

namespace hopscotch {

// noise: the generator that captured work draws from besides torch's own. Graphs read its seed anew at every replay.
std::unique_ptr<GraphCapturer> make_cuda_capturer(at::Device device, at::Generator const& noise);

}  // namespace hopscotch
