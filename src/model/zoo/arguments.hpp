// SPDX-License-Identifier: Apache-2.0
// Shared by the makers of networks, to read arguments and to check shapes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "experiment/model_keys.hpp"

namespace hopscotch {

// Reads the arguments of a model, which stand in its section.
struct ArgumentReader : ObjectReader {
    ArgumentReader(ModelConfig const& model, Problems& problems) : ObjectReader(model.arguments, "/model", problems) {
        stand_beside(k_model_keys);
    }
};

Check<double> fraction();  // [0, 1)

// "64" or "1x8x8"
std::string shape_text(std::vector<std::int64_t> const& shape);

// The size of the vocabulary of data whose rows are tokens (one number in `categories`); 0 if they are not.
std::int64_t vocabulary(DataSchema const& data);

void complain_of_data(ModelConfig const& model, std::string const& why, Problems& problems);  // at /model/name

}  // namespace hopscotch
