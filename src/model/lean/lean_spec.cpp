// SPDX-License-Identifier: Apache-2.0
#include "model/lean/lean_spec.hpp"

#include <string>
#include <utility>

namespace hopscotch {
namespace {

void add_norm(LeanModel& model, std::string const& name, std::int64_t width) {
    model.parameters.push_back({name + ".weight", {width}, Init::constant(1)});
    model.parameters.push_back({name + ".bias", {width}, Init::constant(0)});
    model.buffers.push_back({name + ".running_mean", {width}, Element::float32, 0});
    model.buffers.push_back({name + ".running_var", {width}, Element::float32, 1});
    model.buffers.push_back({name + ".num_batches_tracked", {}, Element::int64, 0});
}

void add_convolution(LeanModel& model, ConvolutionSpec const& spec, std::int64_t in) {
    auto const init = Init::torch_default().for_fan_in(in * spec.kernel * spec.kernel);
    model.parameters.push_back({spec.name + ".weight", {spec.channels, in, spec.kernel, spec.kernel}, init});
    if (spec.norm.empty())
        model.parameters.push_back({spec.name + ".bias", {spec.channels}, init});
    else
        add_norm(model, spec.norm, spec.channels);
}

}  // namespace

LeanModel lean_model(LeanSpec spec) {
    LeanModel out;
    auto in = spec.image.channels;
    for (auto const& each : spec.convolutions) add_convolution(out, each, std::exchange(in, each.channels));
    auto const& [widths, names, activation, dropout, batch_norm] = spec.dense;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        auto const init = Init::torch_default().for_fan_in(widths[i]);
        out.parameters.push_back({names[i] + ".weight", {widths[i + 1], widths[i]}, init});
        out.parameters.push_back({names[i] + ".bias", {widths[i + 1]}, init});
        if (batch_norm && i + 2 < widths.size()) add_norm(out, "norms." + std::to_string(i), widths[i + 1]);
    }
    out.spec = std::move(spec);
    return out;
}

double multiply_adds(LeanSpec const& spec) {
    double sum = 0;
    auto const sizes = sizes_of(spec.image, spec.convolutions);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto const kernel = spec.convolutions[i].kernel;
        auto const& [input, output, pooled] = sizes[i];
        sum += static_cast<double>(output.channels * output.pixels() * input.channels * kernel * kernel);
    }
    auto const& widths = spec.dense.widths;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) sum += static_cast<double>(widths[i] * widths[i + 1]);
    return sum;
}

std::vector<ConvolutionSizes> sizes_of(ImageSize image, std::vector<ConvolutionSpec> const& convolutions) {
    std::vector<ConvolutionSizes> out;
    for (auto const& each : convolutions) {
        auto const side = [&](std::int64_t length) { return length + 2 * each.padding - each.kernel + 1; };
        ImageSize const output{each.channels, side(image.height), side(image.width)};
        ImageSize const pooled{each.channels, output.height / 2, output.width / 2};
        out.push_back({image, output, pooled});
        image = pooled;
    }
    return out;
}

}  // namespace hopscotch
