// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/dense.hpp"

#include <fmt/format.h>

#include "model/lean/elements.hpp"
#include "model/zoo/arguments.hpp"

namespace hopscotch {

DenseSpec logistic_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    ArgumentReader(model, problems).finish();
    return {.widths = {elements(data.shape), data.outputs}, .names = {"linear"}};
}

DenseSpec mlp_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    DenseSpec out;
    std::vector<std::int64_t> hidden{64};
    std::string activation = "relu";
    ArgumentReader reader(model, problems);
    reader.read({"hidden", "Width of every hidden layer."}, hidden, at_least(1));
    reader.read({"activation", "The activation behind every hidden layer."}, activation, one_of({"relu", "tanh"}));
    reader.read({"dropout", "Dropout after every hidden layer."}, out.dropout, fraction());
    reader.read({"batch_norm", "Batch norm before every activation."}, out.batch_norm);
    reader.finish();
    if (activation == "tanh") out.activation = Activation::tanh;
    out.widths = {elements(data.shape)};
    out.widths.insert(out.widths.end(), hidden.begin(), hidden.end());
    out.widths.push_back(data.outputs);
    for (std::size_t i = 0; i <= hidden.size(); ++i) out.names.push_back(fmt::format("layers.{}", i));
    return out;
}

}  // namespace hopscotch
