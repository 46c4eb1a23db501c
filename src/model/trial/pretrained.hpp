// SPDX-License-Identifier: Apache-2.0
// Transfer learning: the parameters and buffers of a network that come from a safetensors file (model.init_from), and the
// parameters that are frozen (model.freeze).
#pragma once
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

struct LeanModel;
struct ModelConfig;
class Problems;

// Of a network and its frozen start.
struct NetworkSpecs {
    std::vector<ParameterSpec> parameters;
    std::vector<BufferSpec> buffers;
    std::string head;  // the module whose parameters are for these outputs alone ("fc."); empty: there is none
};

NetworkSpecs specs_of(LeanModel const& model);

std::string module_of(std::string const& tensor);  // "fc." of "fc.weight"

// By parameter: matches a pattern of model.freeze (* stands for any text).
std::vector<bool> frozen_parameters(ModelConfig const& model, std::vector<ParameterSpec> const& parameters);

// The names that are read from the file, in order. Mismatches (missing, unexpected, other shape) are listed as problems at
// /model/init_from unless model.init_mode allows them, and so are patterns of model.freeze that match nothing, everything,
// or a parameter that does not come from the file.
std::vector<std::string> pretrained_names(ModelConfig const& model, NetworkSpecs const& network, Problems& problems);

// The same; throws ConfigError.
std::vector<std::string> accepted_pretrained(ModelConfig const& model, NetworkSpecs const& network);

// Writes these values into a state, those of parameters into their averaged ones, too.
void load_pretrained(std::string const& file, std::vector<std::string> const& names, StateLayout const& layout,
                     MutableBytes state);

}  // namespace hopscotch
