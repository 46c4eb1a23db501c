// SPDX-License-Identifier: Apache-2.0
// Checks a module before its tensors are re-pointed into a state: names, types, and a forward pass that fits the data.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "tensor/own/own_network.hpp"

namespace hopscotch {

struct OwnTensors {
    NamedTensors parameters, buffers;
};

// Every tensor once, under its first name. A parameter that requires no gradient is a buffer.
OwnTensors tensors_of(OwnModule const& module);

struct OwnDescription {
    std::vector<ParameterSpec> parameters;
    std::vector<BufferSpec> buffers;
    double multiply_adds = 0;
    bool draws_from_torch = false;
    std::vector<NetworkMetric> metrics;
};

// Runs the module forward on two rows of zeros, training and evaluating, and twice on other rows. Throws ConfigError if
// something does not fit.
OwnDescription described(OwnModule& module, DataSchema const& data);

// Seeds torch's own generators: the CPU's, and the device's if that is another.
void seed_torch(at::Device device, std::uint64_t key);

// The text of the exception in one line, without LibTorch's stack traces.
std::string reason_of(std::exception const& error);

}  // namespace hopscotch
