// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/lean_specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "model/lean/elements.hpp"
#include "model/zoo/arguments.hpp"

namespace hopscotch {
namespace {

// Up to this many channels a convolution of the lean step is faster than LibTorch's (docs/decisions/0076).
constexpr std::int64_t k_most_channels = 16;

// Advice for users who imported images as flat rows: rows of 64 may well be 1x8x8.
std::string image_hint(std::vector<std::int64_t> const& shape) {
    auto const side = std::llround(std::sqrt(static_cast<double>(elements(shape))));
    return side * side == elements(shape) ? fmt::format("1x{}x{}", side, side) : "CxHxW";
}

std::int64_t image_floats(LeanSpec const& spec) {
    auto const last = spec.convolutions.empty() ? spec.image : sizes_of(spec.image, spec.convolutions).back().pooled;
    return last.channels * last.pixels();
}

// Every pooling halves the sides.
std::int64_t smallest_side(std::size_t poolings) { return std::int64_t{1} << std::min<std::size_t>(poolings, 62); }

}  // namespace

LeanSpec logistic_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    ArgumentReader(model, problems).finish();
    return {{.widths = {elements(data.shape), data.outputs}, .names = {"linear"}}};
}

LeanSpec mlp_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
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
    return {std::move(out)};
}

LeanSpec lenet_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    LeanSpec out;
    ArgumentReader reader(model, problems);
    reader.read({"dropout", "Dropout after fc1 and fc2."}, out.dense.dropout, fraction());
    reader.finish();
    out.image = image_size(model, data, 4, problems);
    if (!problems.empty()) return out;
    std::int64_t const padding = std::min(out.image.height, out.image.width) < 12 ? 2 : 0;
    out.convolutions = {{.name = "conv1", .norm = "", .channels = 6, .kernel = 5, .padding = 2},
                        {.name = "conv2", .norm = "", .channels = 16, .kernel = 5, .padding = padding}};
    out.dense.widths = {image_floats(out), 120, 84, data.outputs};
    out.dense.names = {"fc1", "fc2", "fc3"};
    return out;
}

LeanSpec cnn_spec(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    LeanSpec out;
    std::vector<std::int64_t> channels{32, 64, 128};
    bool batch_norm = true;
    ArgumentReader reader(model, problems);
    reader.read({"channels", "Channels of every convolution."}, channels, at_least(1));
    reader.read({"dropout", "Dropout before fc."}, out.image_dropout, fraction());
    reader.read({"batch_norm", "Batch norm before every relu."}, batch_norm);
    reader.finish();
    out.image = image_size(model, data, smallest_side(channels.size()), problems);
    if (!problems.empty()) return out;
    for (std::size_t i = 0; i < channels.size(); ++i) {
        auto const scope = fmt::format("layers.{}", i);
        out.convolutions.push_back(
            {.name = scope + ".conv", .norm = batch_norm ? scope + ".bn" : "", .channels = channels[i]});
    }
    out.dense.widths = {image_floats(out), data.outputs};
    out.dense.names = {"fc"};
    return out;
}

std::string why_large(ModelConfig const& model) {
    if (model.name != "cnn") return "";
    DataSchema const data{Task::classification, {1, 1 << 20, 1 << 20}, 1, 1, {}};
    Problems told("");  // by check_model
    auto const spec = cnn_spec(model, data, told);
    auto const large = [](auto const& convolution) { return convolution.channels > k_most_channels; };
    return std::ranges::any_of(spec.convolutions, large) ? fmt::format("more than {} channels", k_most_channels) : "";
}

ImageSize image_size(ModelConfig const& model, DataSchema const& data, std::int64_t smallest, Problems& problems) {
    if (data.shape.size() != 3) {
        complain_of_data(
            model,
            fmt::format("{} needs images of shape CxHxW (the dataset's rows have shape {}); import with --shape {}",
                        model.name, shape_text(data.shape), image_hint(data.shape)),
            problems);
        return {};
    }
    if (std::min(data.shape[1], data.shape[2]) < smallest) {
        complain_of_data(model,
                         fmt::format("{0} needs images of at least {1}x{1} (the dataset's rows have shape {2}); use {3}",
                                     model.name, smallest, shape_text(data.shape),
                                     model.name == "lenet" ? "mlp" : "lenet or mlp"),
                         problems);
        return {};
    }
    return {data.shape[0], data.shape[1], data.shape[2]};
}

}  // namespace hopscotch
