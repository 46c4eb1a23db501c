// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 (Sandler et al. 2018) as in torchvision.
#include <algorithm>

#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace {

// A multiple of 8, at least 8, and not more than a tenth below the wanted number of channels.
std::int64_t rounded_channels(double wanted) {
    auto const channels = std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
    return static_cast<double>(channels) < 0.9 * wanted ? channels + 8 : channels;
}

struct MobileNetArguments {
    double width = 1, dropout = 0.2;
    std::string stem = "imagenet";
};

class InvertedResidual {
public:
    // shape: of the input, becomes that of the output. scope: features.N.conv
    InvertedResidual(Scope const& scope, ImageShape& shape, std::int64_t out, std::int64_t stride, std::int64_t expansion)
        : residual_(stride == 1 && shape.channels == out) {
        auto const hidden = shape.channels * expansion;
        int place = 0;
        auto const add = [&](Conv const& geometry) {
            auto const layer = scope / std::to_string(place++);
            expanded_.emplace_back(layer / "0", layer / "1", shape, geometry);
        };
        if (expansion != 1) add(plain_conv(hidden, 1));
        add(plain_conv(hidden, 3, stride, hidden));
        auto const last = scope / std::to_string(place);
        projected_ = {last, scope / std::to_string(place + 1), shape, plain_conv(out, 1)};
    }

    at::Tensor operator()(at::Tensor const& x, Pass const& pass) const {
        auto h = x;
        for (auto const& layer : expanded_) h = layer(h, pass, {.clip = Clip::relu6});
        return residual_ ? projected_(h, pass, {.added = [&] { return x; }}) : projected_(h, pass);
    }

private:
    bool residual_;
    std::vector<ConvNorm> expanded_;
    ConvNorm projected_;
};

class MobileNetV2 final : public ChainNetwork {
public:
    MobileNetV2(ImageShape shape, std::int64_t outputs, MobileNetArguments const& arguments)
        : ChainNetwork(Images::as_configured) {
        struct Group {
            std::int64_t expansion;
            double channels;
            int blocks;
            std::int64_t stride;
        };
        static constexpr Group groups[]{{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
        auto const features = root() / "features";
        auto const first = plain_conv(rounded_channels(32 * arguments.width), 3, arguments.stem == "imagenet" ? 2 : 1);
        add_clipped(ConvNorm(features / "0" / "0", features / "0" / "1", shape, first), shape);
        int place = 1;  // in `features`
        for (auto const& group : groups)
            for (int i = 0; i < group.blocks; ++i) {
                InvertedResidual block(features / std::to_string(place++) / "conv", shape,
                                       rounded_channels(group.channels * arguments.width), i == 0 ? group.stride : 1,
                                       group.expansion);
                add_stage(shape.sizes(), std::move(block));
            }
        auto const last = features / std::to_string(place);
        auto const exit = plain_conv(rounded_channels(1280 * std::max(1.0, arguments.width)), 1);
        add_clipped(ConvNorm(last / "0", last / "1", shape, exit), shape);
        add_stage({shape.channels}, [](auto const& x, Pass const&) { return average_of_image(x); });
        Linear const classifier(root() / "classifier" / "1", shape.channels, outputs,
                                {.weight = Init::normal(0.01), .bias_init = Init::constant(0)});
        add_stage({outputs}, [classifier, dropout = arguments.dropout](auto const& x, Pass const& pass) {
            return classifier(dropped(x, dropout, pass));
        });
    }

private:
    void add_clipped(ConvNorm const& layer, ImageShape const& shape) {
        add_stage(shape.sizes(), [layer](auto const& x, Pass const& pass) { return layer(x, pass, {.clip = Clip::relu6}); });
    }
};

}  // namespace

std::unique_ptr<Network> make_mobilenet_v2(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    MobileNetArguments arguments;
    ArgumentReader reader(model, problems);
    reader.read({"width", "Factor of all channels; they are rounded to multiples of 8."}, arguments.width,
                between(0.01, 16));
    reader.read({"dropout", "Dropout before the last layer."}, arguments.dropout, fraction());
    reader.read({"stem", "imagenet: the first convolution halves the sides; cifar: it does not."}, arguments.stem,
                one_of({"imagenet", "cifar"}));
    reader.finish();
    auto const shape = image_shape(model, data, 1, problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<MobileNetV2>(*shape, data.outputs, arguments);
}

}  // namespace hopscotch
