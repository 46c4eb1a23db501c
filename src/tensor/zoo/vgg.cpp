// SPDX-License-Identifier: Apache-2.0
// VGG-16 (Simonyan and Zisserman 2015) as in torchvision, with and without batch norm.
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/relu.h>

#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_pooled_side = 7, k_poolings = 5;

// On a GPU the backward pass of adaptive pooling adds atomically. Where each mean is of one value nothing has to be
// computed.
at::Tensor pooled(at::Tensor const& x) {
    if (!x.is_cuda()) return at::adaptive_avg_pool2d(x, {k_pooled_side, k_pooled_side});
    auto const plain = [&](int dimension) { return x.size(dimension) == 1 || x.size(dimension) == k_pooled_side; };
    return plain(2) && plain(3) ? x.expand({-1, -1, k_pooled_side, k_pooled_side}) : average_pooled(x, k_pooled_side);
}

struct VggArguments {
    std::int64_t width = 64, hidden = 4096;
    double dropout = 0.5;
    bool batch_norm = false;  // from the name
};

class Vgg final : public ChainNetwork {
public:
    Vgg(ImageShape shape, std::int64_t outputs, VggArguments const& arguments) : ChainNetwork(Images::as_configured) {
        std::pair<std::int64_t, int> const stages[k_poolings]{
            {1, 2}, {2, 2}, {4, 3}, {8, 3}, {8, 3}};  // widths, convolutions
        int place = 0;                                // in torchvision's Sequential, where relu and pooling have places too
        for (auto const& [width, convolutions] : stages) {
            for (int i = 0; i < convolutions; ++i) add_layer(shape, arguments.width * width, arguments.batch_norm, place);
            MaxPool const pool;
            pool.apply(shape);
            add_stage(shape.sizes(), [pool](auto const& x, Pass const&) { return pool(x); });
            ++place;
        }
        auto const flat = shape.channels * k_pooled_side * k_pooled_side;
        add_stage({flat}, [](auto const& x, Pass const&) { return pooled(x).flatten(1); });
        auto const linear = [&](char const* name, std::int64_t in, std::int64_t out) {
            return Linear(root() / "classifier" / name, in, out,
                          {.weight = Init::normal(0.01), .bias_init = Init::constant(0)});
        };
        auto const add_hidden = [&](Linear const& layer) {
            add_stage({arguments.hidden}, [layer, dropout = arguments.dropout](auto const& x, Pass const& pass) {
                return dropped(layer(x).relu_(), dropout, pass);
            });
        };
        add_hidden(linear("0", flat, arguments.hidden));
        add_hidden(linear("3", arguments.hidden, arguments.hidden));
        auto const output = linear("6", arguments.hidden, outputs);
        add_stage({outputs}, [output](auto const& x, Pass const&) { return output(x); });
    }

private:
    void add_layer(ImageShape& shape, std::int64_t channels, bool batch_norm, int& place) {
        auto geometry = plain_conv(channels, 3);
        geometry.bias = true;
        geometry.bias_init = Init::constant(0);
        Conv2d const conv(root() / "features" / std::to_string(place++), shape, geometry);
        BatchNorm norm;
        if (batch_norm) norm = BatchNorm(root() / "features" / std::to_string(place++), channels);
        ++place;
        add_stage(shape.sizes(), [conv, norm](auto const& x, Pass const& pass) {
            auto h = conv(x);
            return norm.weight != nullptr ? norm(h, pass, {.clip = Clip::relu}) : h.relu_();
        });
    }
};

}  // namespace

std::unique_ptr<Network> make_vgg16(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    VggArguments arguments;
    arguments.batch_norm = model.name == "vgg16_bn";
    ArgumentReader reader(model, problems);
    reader.read({"width", "Channels of the first stage."}, arguments.width, between(1, 4096));
    reader.read({"hidden", "Width of the two hidden linear layers."}, arguments.hidden, at_least(1));
    reader.read({"dropout", "Dropout after each of the hidden linear layers."}, arguments.dropout, fraction());
    reader.finish();
    auto const shape = image_shape(model, data, 1 << k_poolings, problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<Vgg>(*shape, data.outputs, arguments);
}

}  // namespace hopscotch
