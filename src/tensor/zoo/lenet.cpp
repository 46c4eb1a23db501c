// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <algorithm>

#include "tensor/network/chain.hpp"
#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

class LeNet final : public ChainNetwork {
public:
    LeNet(ImageShape shape, std::int64_t outputs, double dropout) : ChainNetwork(Images::channels_first) {
        std::int64_t const padding = std::min(shape.height, shape.width) < 12 ? 2 : 0;
        add_convolution("conv1", shape, {.out = 6, .kernel = 5, .padding = 2});
        add_convolution("conv2", shape, {.out = 16, .kernel = 5, .padding = padding});
        auto const add_hidden = [&](char const* name, std::int64_t in, std::int64_t out) {
            Linear const layer(root() / name, in, out);
            add_stage({out}, [layer, dropout](auto const& x, Pass const& pass) {
                return dropped(at::relu(layer(x.flatten(1))), dropout, pass);
            });
        };
        add_hidden("fc1", shape.elements(), 120);
        add_hidden("fc2", 120, 84);
        Linear const last(root() / "fc3", 84, outputs);
        add_stage({outputs}, [last](auto const& x, Pass const&) { return last(x); });
    }

private:
    void add_convolution(char const* name, ImageShape& shape, Conv const& geometry) {
        Conv2d const layer(root() / name, shape, geometry);
        shape = {shape.channels, shape.height / 2, shape.width / 2};
        add_stage(shape.sizes(), [layer](auto const& x, Pass const&) { return at::max_pool2d(at::relu(layer(x)), {2, 2}); });
    }
};

}  // namespace

std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    double dropout = 0;
    ArgumentReader reader(model, problems);
    reader.read({"dropout", "Dropout after fc1 and fc2."}, dropout, fraction());
    reader.finish();
    auto const shape = image_shape(model, data, 4, problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<LeNet>(*shape, data.outputs, dropout);
}

}  // namespace hopscotch
