// SPDX-License-Identifier: Apache-2.0
// A network of one's own as a plug-in: two convolutions with batch norm, dropout, and a linear layer.
//     "model": {"name": "plugin", "file": "plugin_model.so", "channels": [8, 16], "dropout": 0.2}
// and a metric of its own, for experiments that say "search": {"metric": "val_worst_class"}.
// <torch/torch.h> has everything; these headers have what is used here and compile faster.
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <hopscotch/model.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

class PluginNet : public hopscotch::OwnModel {
public:
    PluginNet(std::vector<std::int64_t> const& image, std::vector<std::int64_t> const& channels, std::int64_t outputs,
              double p)
        : conv1(register_module("conv1", convolution(image[0], channels[0]))),
          norm1(register_module("norm1", torch::nn::BatchNorm2d(channels[0]))),
          conv2(register_module("conv2", convolution(channels[0], channels[1]))),
          norm2(register_module("norm2", torch::nn::BatchNorm2d(channels[1]))),
          head(register_module("head", torch::nn::Linear(channels[1] * (image[1] / 4) * (image[2] / 4), outputs))),
          p_(p) {
        auto const pixels = static_cast<double>(image[1] * image[2]);
        multiply_adds_ = 9 * pixels * static_cast<double>(image[0] * channels[0]) +
                         9 * pixels / 4 * static_cast<double>(channels[0] * channels[1]) +
                         static_cast<double>(head->weight.numel());
    }

    torch::Tensor forward(torch::Tensor x, torch::Generator* noise) override {
        x = torch::max_pool2d(torch::relu(norm1(conv1(x))), 2);
        x = torch::max_pool2d(torch::relu(norm2(conv2(x))), 2);
        return head(hopscotch::dropout(x.flatten(1), p_, noise));
    }

    double multiply_adds() const override { return multiply_adds_; }

private:
    static torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out) {
        return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
    }

    torch::nn::Conv2d conv1;
    torch::nn::BatchNorm2d norm1;
    torch::nn::Conv2d conv2;
    torch::nn::BatchNorm2d norm2;
    torch::nn::Linear head;
    double p_, multiply_adds_ = 0;
};

// The share of right answers in the class that has the least of them. The sums: for each class its right answers, then for
// each class its rows.
constexpr std::size_t k_most_classes = 1000;

void add_classes(torch::Tensor const& outputs, torch::Tensor const& answers, std::span<double> sums) {
    if (outputs.size(1) > static_cast<std::int64_t>(k_most_classes))
        throw std::invalid_argument("has more than 1000 classes");
    auto const predicted = outputs.argmax(1);
    for (std::int64_t row = 0; row < answers.size(0); ++row) {
        auto const answer = answers[row].item<std::int64_t>();
        auto const at = static_cast<std::size_t>(answer);
        sums[at] += predicted[row].item<std::int64_t>() == answer ? 1 : 0;
        sums[k_most_classes + at] += 1;
    }
}

double worst_class(std::span<double const> sums, std::int64_t) {
    double worst = 1;
    for (std::size_t c = 0; c < k_most_classes; ++c)
        if (sums[k_most_classes + c] > 0) worst = std::min(worst, sums[c] / sums[k_most_classes + c]);
    return worst;
}

std::shared_ptr<hopscotch::OwnModel> make(hopscotch::ModelRequest const& wanted) {
    auto const channels = wanted.arguments.integers("channels", {8, 16});
    auto const dropout = wanted.arguments.number("dropout", 0.0);
    if (wanted.shape.size() != 3) throw std::invalid_argument("needs images of shape CxHxW");
    if (channels.size() != 2) throw std::invalid_argument("channels needs two numbers");
    if (dropout < 0 || dropout >= 1) throw std::invalid_argument("dropout must be at least 0 and less than 1");
    return std::make_shared<PluginNet>(wanted.shape, channels, wanted.outputs, dropout);
}

}  // namespace

extern "C" hopscotch::Plugin const* hopscotch_plugin() {
    static hopscotch::Plugin const plugin(
        make, {{"val_worst_class", hopscotch::Better::larger, 2 * k_most_classes, add_classes, worst_class}});
    return &plugin;
}
