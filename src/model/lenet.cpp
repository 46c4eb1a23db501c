// SPDX-License-Identifier: Apache-2.0
#include "model/lenet.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/arguments.hpp"
#include "model/network.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_smallest_side = 4;

// Sides of the feature maps on the way, for an image of c x h x w.
struct Geometry {
    std::int64_t channels, height, width;  // of the image
    std::int64_t padding;                  // of the second convolution
    std::int64_t conv2_height, conv2_width;

    explicit Geometry(std::vector<std::int64_t> const& shape)
        : channels(shape[0]),
          height(shape[1]),
          width(shape[2]),
          padding(std::min(height, width) < 12 ? 2 : 0),
          conv2_height(height / 2 - 4 + 2 * padding),
          conv2_width(width / 2 - 4 + 2 * padding) {}

    std::int64_t flat() const { return 16 * (conv2_height / 2) * (conv2_width / 2); }
};

class LeNet final : public Network {
public:
    LeNet(Geometry const& geometry, std::int64_t outputs, double dropout) : padding_(geometry.padding), dropout_(dropout) {
        add_affine(specs_, "conv1", {6, geometry.channels, 5, 5});
        add_affine(specs_, "conv2", {16, 6, 5, 5});
        add_affine(specs_, "fc1", {120, geometry.flat()});
        add_affine(specs_, "fc2", {84, 120});
        add_affine(specs_, "fc3", {outputs, 84});
    }

    std::vector<ParameterSpec> const& parameters() const override { return specs_; }
    Backward kind() const override { return Backward::autograd; }

    void bind(std::vector<at::Tensor> parameters, std::vector<at::Tensor> gradients) override {
        p_ = std::move(parameters);
        for (std::size_t i = 0; i < p_.size(); ++i) {
            p_[i].requires_grad_();
            p_[i].mutable_grad() = gradients[i];
        }
    }

    at::Tensor forward(at::Tensor const& x, at::Generator* noise) override {
        auto h = at::max_pool2d(at::relu(at::conv2d(x, p_[0], p_[1], {1, 1}, at::IntArrayRef{2, 2})), {2, 2});
        h = at::max_pool2d(at::relu(at::conv2d(h, p_[2], p_[3], {1, 1}, at::IntArrayRef{padding_, padding_})), {2, 2});
        h = dropped(at::relu(at::linear(h.flatten(1), p_[4], p_[5])), noise);
        h = dropped(at::relu(at::linear(h, p_[6], p_[7])), noise);
        return at::linear(h, p_[8], p_[9]);
    }

    void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) override {
        outputs.backward(output_gradient);
    }

private:
    at::Tensor dropped(at::Tensor h, at::Generator* noise) const {
        return noise != nullptr && dropout_ != 0 ? h.mul(dropout_mask(h, dropout_, *noise)) : h;
    }

    std::int64_t padding_;
    double dropout_;
    std::vector<ParameterSpec> specs_;
    std::vector<at::Tensor> p_;
};

double read_dropout(ModelConfig const& model, Problems& problems) {
    double dropout = 0;
    ObjectReader reader(model.arguments, "/model", problems);
    reader.read("dropout", dropout, fraction());
    reader.finish();
    return dropout;
}

// What to tell someone who imported images as flat rows: rows of 64 may well be 1x8x8.
std::string image_hint(std::vector<std::int64_t> const& shape) {
    auto const side = std::llround(std::sqrt(static_cast<double>(elements(shape))));
    return side * side == elements(shape) ? fmt::format("1x{}x{}", side, side) : "CxHxW";
}

}  // namespace

void check_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    read_dropout(model, problems);
    auto const complain = [&](std::string const& why) { problems.add(model.arguments.at_position(), "/model/name", why); };
    if (data.shape.size() != 3)
        complain(fmt::format("lenet needs images of shape CxHxW (the dataset's rows have shape {}) import with --shape {}",
                             shape_text(data.shape), image_hint(data.shape)));
    else if (std::min(data.shape[1], data.shape[2]) < k_smallest_side)
        complain(fmt::format("lenet needs images of at least {0}x{0} (the dataset's rows have shape {1}) use mlp",
                             k_smallest_side, shape_text(data.shape)));
}

double lenet_flops(ModelConfig const&, DataSchema const& data) {
    Geometry const g(data.shape);
    auto const conv1 = 25 * g.channels * 6 * g.height * g.width;
    auto const conv2 = 25 * 6 * 16 * g.conv2_height * g.conv2_width;
    auto const linear = g.flat() * 120 + 120 * 84 + 84 * data.outputs;
    return k_flops_per_multiply_add * static_cast<double>(conv1 + conv2 + linear);
}

std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data) {
    return std::make_unique<LeNet>(Geometry(data.shape), data.outputs, accepted<double>(model, read_dropout));
}

}  // namespace hopscotch
