// SPDX-License-Identifier: Apache-2.0
// Wide & Deep (Cheng et al. 2016) for tables with categories: the sum of a linear model over all features and of an MLP over
// the numbers and an embedding of each category. Names:
//   wide.weight          [categories of all features, outputs]  the linear model's weight of each category
//   wide.numeric.weight  [outputs, numbers]                     and of each number, if there are any
//   wide.bias            [outputs]
//   embedding.weight     [categories of all features, embedding]
//   deep.0, deep.1, ...  weight and bias of the MLP's linear layers; its input: embeddings by feature, then the numbers
// The tables of all categorical features lie one after the other in wide.weight and embedding.weight, in the order of the
// features: one lookup serves them all, and their gradients are dense, as the flat state wants them.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/zoo/arguments.hpp"
#include "tensor/network/layers.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

struct WideAndDeepArguments {
    std::int64_t embedding = 16;
    std::vector<std::int64_t> hidden{256, 128};
    double dropout = 0;
};

struct Features {
    std::vector<std::int64_t> categorical, numeric;  // their columns
    std::vector<std::int64_t> first;                 // by categorical feature: the row where its table begins
    std::int64_t categories = 0;                     // of all features
};

Features features_of(DataSchema const& data) {
    Features features;
    for (std::int64_t i = 0; i < elements(data.shape); ++i) {
        auto const n = data.categories.size() == 1 ? data.categories.front() : data.categories[static_cast<std::size_t>(i)];
        (n > 0 ? features.categorical : features.numeric).push_back(i);
        if (n == 0) continue;
        features.first.push_back(features.categories);
        features.categories += n;
    }
    return features;
}

class WideAndDeep final : public AutogradNetwork {
public:
    std::string head() const override { return ""; }  // the wide part and the last layer

    WideAndDeep(Features const& features, std::int64_t outputs, WideAndDeepArguments const& arguments)
        : dropout_(arguments.dropout),
          categorical_(at::tensor(features.categorical)),
          numeric_(at::tensor(features.numeric)),
          first_(at::tensor(features.first)) {
        auto const numbers = static_cast<std::int64_t>(features.numeric.size());
        auto const wide = root() / "wide";
        auto const zero = Init::constant(0);
        wide_ = Embedding(wide, features.categories, outputs, zero);
        if (numbers > 0) wide_numeric_ = Linear(wide / "numeric", numbers, outputs, {.bias = false, .weight = zero});
        wide_bias_ = wide.parameter("bias", {outputs}, zero);
        auto const stddev = 1 / std::sqrt(static_cast<double>(arguments.embedding));
        embedding_ = Embedding(root() / "embedding", features.categories, arguments.embedding, Init::normal(stddev));
        auto in = arguments.embedding * static_cast<std::int64_t>(features.categorical.size()) + numbers;
        auto widths = arguments.hidden;
        widths.push_back(outputs);
        for (std::size_t i = 0; i < widths.size(); in = widths[i++])
            deep_.emplace_back(root() / "deep" / std::to_string(i), in, widths[i]);
    }

    void bind(BoundTensors tensors) override {
        auto const device = tensors.parameters.front().device();
        for (auto* columns : {&categorical_, &numeric_, &first_}) *columns = columns->to(device);
        AutogradNetwork::bind(std::move(tensors));
    }

    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto const rows = x.flatten(1);
        auto const ids = rows.index_select(1, categorical_).to(at::kLong) + first_;
        auto out = wide_(ids).sum(1) + *wide_bias_;
        auto h = embedding_(ids).flatten(1);
        if (wide_numeric_.weight != nullptr) {
            auto const numbers = rows.index_select(1, numeric_);
            out = out + wide_numeric_(numbers);
            h = at::cat({h, numbers}, 1);
        }
        for (std::size_t i = 0; i + 1 < deep_.size(); ++i) h = dropped(at::relu(deep_[i](h)), dropout_, pass);
        return out + deep_.back()(h);
    }

private:
    double dropout_;
    at::Tensor categorical_, numeric_, first_;
    Embedding wide_, embedding_;
    Linear wide_numeric_;
    at::Tensor const* wide_bias_ = nullptr;
    std::vector<Linear> deep_;
};

}  // namespace

std::unique_ptr<Network> make_wide_and_deep(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    WideAndDeepArguments arguments;
    ArgumentReader reader(model, problems);
    reader.read({"embedding", "Width of a category's embedding."}, arguments.embedding, at_least(1));
    reader.read({"hidden", "Width of every hidden layer."}, arguments.hidden, at_least(1));
    reader.read({"dropout", "Dropout after every hidden layer."}, arguments.dropout, fraction());
    reader.finish();
    if (std::ranges::none_of(data.categories, [](std::int64_t n) { return n > 0; }))
        complain_of_data(model,
                         "wide_and_deep needs at least one categorical feature (the dataset has numbers only); use mlp, or "
                         "import with --hash-buckets",
                         problems);
    if (!problems.empty()) return nullptr;
    return std::make_unique<WideAndDeep>(features_of(data), data.outputs, arguments);
}

}  // namespace hopscotch
