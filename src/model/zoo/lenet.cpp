// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <algorithm>

#include "model/network/layers.hpp"
#include "model/zoo/arguments.hpp"
#include "model/zoo/networks.hpp"

namespace hopscotch {
namespace {

void pool(ImageShape& shape) { shape = {shape.channels, shape.height / 2, shape.width / 2}; }

class LeNet final : public AutogradNetwork {
public:
    LeNet(ImageShape shape, std::int64_t outputs, double dropout) : dropout_(dropout) {
        std::int64_t const padding = std::min(shape.height, shape.width) < 12 ? 2 : 0;
        conv1_ = Conv2d(root() / "conv1", shape, {.out = 6, .kernel = 5, .padding = 2});
        pool(shape);
        conv2_ = Conv2d(root() / "conv2", shape, {.out = 16, .kernel = 5, .padding = padding});
        pool(shape);
        fc1_ = Linear(root() / "fc1", shape.elements(), 120);
        fc2_ = Linear(root() / "fc2", 120, 84);
        fc3_ = Linear(root() / "fc3", 84, outputs);
    }

    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto h = at::max_pool2d(at::relu(conv1_(x)), {2, 2});
        h = at::max_pool2d(at::relu(conv2_(h)), {2, 2}).flatten(1);
        h = dropped(at::relu(fc1_(h)), dropout_, pass);
        return fc3_(dropped(at::relu(fc2_(h)), dropout_, pass));
    }

private:
    double dropout_;
    Conv2d conv1_, conv2_;
    Linear fc1_, fc2_, fc3_;
};

}  // namespace

std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    double dropout = 0;
    ObjectReader reader(model.arguments, "/model", problems);
    reader.read({"dropout", "Dropout after fc1 and fc2."}, dropout, fraction());
    reader.finish();
    auto const shape = image_shape(model, data, 4, problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<LeNet>(*shape, data.outputs, dropout);
}

}  // namespace hopscotch
