// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/relu.h>

#include "core/json_reader.hpp"
#include "model/zoo/lean_specs.hpp"
#include "tensor/zoo/networks.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace {

class Cnn final : public ChainNetwork {
public:
    explicit Cnn(LeanSpec const& spec) : ChainNetwork(Images::as_configured) {
        ImageShape shape{spec.image.channels, spec.image.height, spec.image.width};
        for (auto const& each : spec.convolutions) {
            Conv2d const conv(root() / each.name, shape,
                              {.out = each.channels, .padding = each.padding, .bias = each.norm.empty()});
            BatchNorm norm;
            if (!each.norm.empty()) norm = BatchNorm(root() / each.norm, each.channels);
            MaxPool const pool;
            pool.apply(shape);
            // Pooling comes first: so batch norm and relu have a quarter of the work.
            add_stage(shape.sizes(), [conv, norm, pool](auto const& x, Pass const& pass) {
                auto h = pool(conv(x));
                return norm.weight != nullptr ? norm(h, pass, {.clip = Clip::relu}) : h.relu_();
            });
        }
        Linear const fc(root() / spec.dense.names.back(), shape.elements(), spec.dense.widths.back());
        add_stage({spec.dense.widths.back()}, [fc, dropout = spec.image_dropout](auto const& x, Pass const& pass) {
            return fc(dropped(x.flatten(1), dropout, pass));
        });
    }
};

}  // namespace

std::unique_ptr<Network> make_cnn(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const spec = cnn_spec(model, data, problems);
    if (!problems.empty()) return nullptr;
    return std::make_unique<Cnn>(spec);
}

}  // namespace hopscotch
