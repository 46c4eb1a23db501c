// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/relu.h>

#include <algorithm>

#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace {

struct CnnArguments {
    std::vector<std::int64_t> channels{32, 64, 128};
    double dropout = 0;
    bool batch_norm = true;
};

class Cnn final : public ChainNetwork {
public:
    Cnn(ImageShape shape, std::int64_t outputs, CnnArguments const& arguments) : ChainNetwork(Images::as_configured) {
        for (std::size_t i = 0; i < arguments.channels.size(); ++i) {
            auto const scope = root() / "layers" / std::to_string(i);
            auto const channels = arguments.channels[i];
            Conv2d const conv(scope / "conv", shape, {.out = channels, .padding = 1, .bias = !arguments.batch_norm});
            BatchNorm norm;
            if (arguments.batch_norm) norm = BatchNorm(scope / "bn", channels);
            MaxPool const pool;
            pool.apply(shape);
            // Pooling comes first: so batch norm and relu have a quarter of the work.
            add_stage(shape.sizes(), [conv, norm, pool](auto const& x, Pass const& pass) {
                auto h = pool(conv(x));
                return norm.weight != nullptr ? norm(h, pass, {.clip = Clip::relu}) : h.relu_();
            });
        }
        Linear const fc(root() / "fc", shape.elements(), outputs);
        add_stage({outputs}, [fc, dropout = arguments.dropout](auto const& x, Pass const& pass) {
            return fc(dropped(x.flatten(1), dropout, pass));
        });
    }
};

// Every pooling halves the sides.
std::int64_t smallest_side(std::size_t poolings) { return std::int64_t{1} << std::min<std::size_t>(poolings, 62); }

}  // namespace

std::unique_ptr<Network> make_cnn(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    CnnArguments arguments;
    ArgumentReader reader(model, problems);
    reader.read({"channels", "Channels of every convolution."}, arguments.channels, at_least(1));
    reader.read({"dropout", "Dropout before fc."}, arguments.dropout, fraction());
    reader.read({"batch_norm", "Batch norm before every relu."}, arguments.batch_norm);
    reader.finish();
    auto const shape = image_shape(model, data, smallest_side(arguments.channels.size()), problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<Cnn>(*shape, data.outputs, arguments);
}

}  // namespace hopscotch
