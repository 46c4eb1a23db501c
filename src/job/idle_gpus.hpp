// SPDX-License-Identifier: Apache-2.0
// A batch job may hold GPUs, while its CPU build cannot use them.
#pragma once
#include <string>

namespace hopscotch {

// device: run.device. "problem (why); cure"; empty: this build uses GPUs, the user wants none, or the environment names
// none.
std::string idle_gpus(std::string const& device);

}  // namespace hopscotch
