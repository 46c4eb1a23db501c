// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "core/json_reader.hpp"
#include "model/zoo/lean_specs.hpp"
#include "tensor/network/chain.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

class LeNet final : public ChainNetwork {
public:
    explicit LeNet(LeanSpec const& spec) : ChainNetwork(Images::channels_first) {
        ImageShape shape{spec.image.channels, spec.image.height, spec.image.width};
        for (auto const& each : spec.convolutions) add_convolution(each, shape);
        auto const& [widths, names, activation, dropout, batch_norm] = spec.dense;
        for (std::size_t i = 0; i + 1 < names.size(); ++i) {
            Linear const layer(root() / names[i], widths[i], widths[i + 1]);
            add_stage({widths[i + 1]}, [layer, dropout = dropout](auto const& x, Pass const& pass) {
                return dropped(at::relu(layer(x.flatten(1))), dropout, pass);
            });
        }
        Linear const last(root() / names.back(), widths[names.size() - 1], widths.back());
        add_stage({widths.back()}, [last](auto const& x, Pass const&) { return last(x); });
    }

private:
    void add_convolution(ConvolutionSpec const& spec, ImageShape& shape) {
        Conv2d const layer(root() / spec.name, shape,
                           {.out = spec.channels, .kernel = spec.kernel, .padding = spec.padding});
        shape = {shape.channels, shape.height / 2, shape.width / 2};
        add_stage(shape.sizes(), [layer](auto const& x, Pass const&) { return at::max_pool2d(at::relu(layer(x)), {2, 2}); });
    }
};

}  // namespace

std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const spec = lenet_spec(model, data, problems);
    if (!problems.empty()) return nullptr;
    return std::make_unique<LeNet>(spec);
}

}  // namespace hopscotch
