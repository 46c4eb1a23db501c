// SPDX-License-Identifier: Apache-2.0
// Shared by plug-ins and TorchScript files: a module that owns its tensors becomes a Network by re-pointing them into the
// state. Tensors outside the state would not hop and not be hashed, so each module is checked before it may train.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensor/network/network.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;  // handles: set_data() re-points the module's own

// A module of the user, in C++ or TorchScript.
class OwnModule {
public:
    enum class Mode { training, evaluation };

    virtual ~OwnModule() = default;
    virtual NamedTensors parameters() const = 0;
    virtual NamedTensors buffers() const = 0;
    virtual void set(Mode mode) = 0;
    virtual at::Tensor forward(at::Tensor const& x, at::Generator* noise) = 0;  // noise: null in evaluation
    virtual double multiply_adds() const = 0;                                   // 0: as many as parameters
    virtual bool draws_from_torch() const = 0;
    virtual std::vector<NetworkMetric> metrics() const { return {}; }
};

// Makes one, with initial values from torch's own generator. Null when it complained. The text of an exception is reported
// at /model/file.
using MakeOwnModule = std::function<std::unique_ptr<OwnModule>(Problems&)>;

// Makes a module and checks that it can train on this data, but only once in a process for the same model and data.
std::unique_ptr<Network> make_own_network(ModelConfig const& model, DataSchema const& data, MakeOwnModule make,
                                          Problems& problems);

}  // namespace hopscotch
