// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/relu.h>

#include <algorithm>

#include "model/zoo/arguments.hpp"
#include "model/zoo/networks.hpp"
#include "model/zoo/vision.hpp"

namespace hopscotch {
namespace {

struct CnnArguments {
    std::vector<std::int64_t> channels{32, 64, 128};
    double dropout = 0;
    bool batch_norm = true;
};

class Cnn final : public AutogradNetwork {
public:
    Cnn(ImageShape shape, std::int64_t outputs, CnnArguments const& arguments) : dropout_(arguments.dropout) {
        for (std::size_t i = 0; i < arguments.channels.size(); ++i) {
            auto const scope = root() / "layers" / std::to_string(i);
            auto const channels = arguments.channels[i];
            Layer layer;
            layer.conv = Conv2d(scope / "conv", shape, {.out = channels, .padding = 1, .bias = !arguments.batch_norm});
            if (arguments.batch_norm) layer.norm = BatchNorm(scope / "bn", channels);
            pool_.apply(shape);
            layers_.push_back(layer);
        }
        fc_ = Linear(root() / "fc", shape.elements(), outputs);
    }

    // Pooled first, batch norm and relu have a quarter of the work.
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto h = images_for(x, pass);
        for (auto const& layer : layers_) {
            h = pool_(layer.conv(h));
            h = layer.norm.weight != nullptr ? layer.norm(h, pass, {.clip = Clip::relu}) : h.relu_();
        }
        return fc_(dropped(h.flatten(1), dropout_, pass));
    }

private:
    struct Layer {
        Conv2d conv;
        BatchNorm norm;
    };
    double dropout_;
    std::vector<Layer> layers_;
    MaxPool pool_;
    Linear fc_;
};

// Every pooling halves the sides.
std::int64_t smallest_side(std::size_t poolings) { return std::int64_t{1} << std::min<std::size_t>(poolings, 62); }

}  // namespace

std::unique_ptr<Network> make_cnn(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    CnnArguments arguments;
    ObjectReader reader(model.arguments, "/model", problems);
    reader.read({"channels", "Channels of every convolution."}, arguments.channels, at_least(1));
    reader.read({"dropout", "Dropout before fc."}, arguments.dropout, fraction());
    reader.read({"batch_norm", "Batch norm before every relu."}, arguments.batch_norm);
    reader.finish();
    auto const shape = image_shape(model, data, smallest_side(arguments.channels.size()), problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<Cnn>(*shape, data.outputs, arguments);
}

}  // namespace hopscotch
