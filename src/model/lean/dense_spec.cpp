// SPDX-License-Identifier: Apache-2.0
#include "model/lean/dense_spec.hpp"

#include <string>
#include <utility>

namespace hopscotch {

DenseModel dense_model(DenseSpec spec) {
    DenseModel out;
    auto const& widths = spec.widths;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        auto const init = Init::torch_default().for_fan_in(widths[i]);
        auto const outputs = widths[i + 1];
        out.parameters.push_back({spec.names[i] + ".weight", {outputs, widths[i]}, init});
        out.parameters.push_back({spec.names[i] + ".bias", {outputs}, init});
        if (!spec.batch_norm || i + 2 == widths.size()) continue;
        auto const norm = "norms." + std::to_string(i);
        out.parameters.push_back({norm + ".weight", {outputs}, Init::constant(1)});
        out.parameters.push_back({norm + ".bias", {outputs}, Init::constant(0)});
        out.buffers.push_back({norm + ".running_mean", {outputs}, Element::float32, 0});
        out.buffers.push_back({norm + ".running_var", {outputs}, Element::float32, 1});
        out.buffers.push_back({norm + ".num_batches_tracked", {}, Element::int64, 0});
    }
    out.spec = std::move(spec);
    return out;
}

double multiply_adds(DenseSpec const& spec) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < spec.widths.size(); ++i) sum += static_cast<double>(spec.widths[i] * spec.widths[i + 1]);
    return sum;
}

}  // namespace hopscotch
