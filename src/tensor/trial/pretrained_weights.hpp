// SPDX-License-Identifier: Apache-2.0
// Tensors of model.init_from that no trial changes: on the device once, for all models of a trainer.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "model/state/safetensors.hpp"
#include "model/trial/workspace.hpp"

namespace hopscotch {

class PretrainedWeights {
public:
    // Throws DataError as SafetensorsFile::open.
    PretrainedWeights(std::string const& path, Workspace::Impl& workspace);

    // zeros: of a tensor that the file lacks. Throws DataError if it is there and cannot be read.
    enum class Missing { is_an_error, zeros };
    at::Tensor get(std::string const& name, std::vector<std::int64_t> const& shape, Element element,
                   Missing missing = Missing::is_an_error) const;

    // The path, and the facts that tell a file from an earlier file of the same path.
    static std::string identity_of(std::string const& path);

private:
    std::string identity_;
    SafetensorsFile file_;
    Workspace::Impl& workspace_;
};

}  // namespace hopscotch
