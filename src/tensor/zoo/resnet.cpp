// SPDX-License-Identifier: Apache-2.0
// Residual networks: torchvision's (He et al. 2016, with the stride of a bottleneck in its 3x3 convolution) and those that
// the paper trains on CIFAR-10 (section 4.2), whose shortcuts have no parameters (option A).
#include <ATen/ops/constant_pad_nd.h>
#include <fmt/format.h>

#include <map>

#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"
#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace {

enum class Stem { imagenet, cifar };            // 7x7 with stride 2 and max pooling, or 3x3
enum class Shortcut { projection, subsample };  // where sides or channels change: a 1x1 convolution, or option A

struct Plan {
    std::vector<int> blocks;     // of each stage; from stage to stage the width doubles and the sides halve
    std::int64_t expansion = 1;  // 1: two 3x3 convolutions a block; 4: a bottleneck that ends with this many times its width
    Shortcut shortcut = Shortcut::projection;
    Stem stem = Stem::imagenet;
    std::int64_t width = 64;  // of the first stage
};

std::map<std::string, Plan> const& plans() {
    static std::map<std::string, Plan> const known{
        {"resnet20", {{3, 3, 3}, 1, Shortcut::subsample, Stem::cifar, 16}},
        {"resnet32", {{5, 5, 5}, 1, Shortcut::subsample, Stem::cifar, 16}},
        {"resnet56", {{9, 9, 9}, 1, Shortcut::subsample, Stem::cifar, 16}},
        {"resnet18", {{2, 2, 2, 2}}},
        {"resnet34", {{3, 4, 6, 3}}},
        {"resnet50", {{3, 4, 6, 3}, 4}},
    };
    return known;
}

class ResidualBlock {
public:
    // shape: of the input, becomes that of the output.
    ResidualBlock(Scope const& scope, ImageShape& shape, Plan const& plan, std::int64_t width, std::int64_t stride) {
        auto const input = shape;
        auto const add = [&](Conv const& geometry) {
            auto const number = std::to_string(path_.size() + 1);
            path_.emplace_back(scope / ("conv" + number), scope / ("bn" + number), shape, geometry);
        };
        if (plan.expansion > 1) add(plain_conv(width, 1));
        add(plain_conv(width, 3, stride));
        add(plan.expansion > 1 ? plain_conv(width * plan.expansion, 1) : plain_conv(width, 3));
        if (stride == 1 && shape.channels == input.channels) return;
        if (plan.shortcut == Shortcut::projection) {
            auto side = input;
            projection_ = {scope / "downsample" / "0", scope / "downsample" / "1", side,
                           plain_conv(shape.channels, 1, stride)};
        } else {
            stride_ = stride;
            padding_ = shape.channels - input.channels;
        }
    }

    at::Tensor operator()(at::Tensor const& x, Pass const& pass) const {
        auto h = x;
        for (std::size_t i = 0; i + 1 < path_.size(); ++i) h = path_[i](h, pass, {.clip = Clip::relu});
        return path_.back()(h, pass, {[&] { return shortcut(x, pass); }, Clip::relu});
    }

private:
    at::Tensor shortcut(at::Tensor const& x, Pass const& pass) const {
        if (projection_.conv.weight != nullptr) return projection_(x, pass);
        if (stride_ == 1 && padding_ == 0) return x;
        auto const before = padding_ / 2;
        auto const sampled = x.slice(2, 0, std::nullopt, stride_).slice(3, 0, std::nullopt, stride_);
        return at::constant_pad_nd(sampled, {0, 0, 0, 0, before, padding_ - before}, 0);
    }

    std::vector<ConvNorm> path_;
    ConvNorm projection_;
    std::int64_t stride_ = 1, padding_ = 0;  // of option A; padding: channels of zeros
};

class ResNet final : public ChainNetwork {
public:
    ResNet(ImageShape shape, std::int64_t outputs, Plan const& plan) : ChainNetwork(Images::as_configured) {
        auto const first = plan.stem == Stem::imagenet ? plain_conv(plan.width, 7, 2) : plain_conv(plan.width, 3);
        ConvNorm const entrance(root() / "conv1", root() / "bn1", shape, first);
        add_stage(shape.sizes(),
                  [entrance](auto const& x, Pass const& pass) { return entrance(x, pass, {.clip = Clip::relu}); });
        if (plan.stem == Stem::imagenet) add_pool(shape);
        for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage)
            for (int i = 0; i < plan.blocks[stage]; ++i) {
                ResidualBlock block(root() / fmt::format("layer{}.{}", stage + 1, i), shape, plan, plan.width << stage,
                                    i == 0 && stage > 0 ? 2 : 1);
                add_stage(shape.sizes(), std::move(block));
            }
        add_stage({shape.channels}, [](auto const& x, Pass const&) { return average_of_image(x); });
        Linear const fc(root() / "fc", shape.channels, outputs);
        add_stage({outputs}, [fc](auto const& x, Pass const&) { return fc(x); });
    }

private:
    void add_pool(ImageShape& shape) {
        MaxPool const pool{3, 2, 1};
        pool.apply(shape);
        add_stage(shape.sizes(), [pool](auto const& x, Pass const&) { return pool(x); });
    }
};

}  // namespace

std::unique_ptr<Network> make_resnet(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto plan = plans().at(model.name);
    ArgumentReader reader(model, problems);
    reader.read({"width", "Channels of the first stage."}, plan.width, between(1, 4096));
    if (plan.shortcut == Shortcut::projection) {
        std::string stem = "imagenet";
        reader.read({"stem", "imagenet: 7x7 convolution with stride 2 and max pooling; cifar: 3x3 convolution."}, stem,
                    one_of({"imagenet", "cifar"}));
        plan.stem = stem == "imagenet" ? Stem::imagenet : Stem::cifar;
    }
    reader.finish();
    auto const shape = image_shape(model, data, 1, problems);
    if (!shape || !problems.empty()) return nullptr;
    return std::make_unique<ResNet>(*shape, data.outputs, plan);
}

}  // namespace hopscotch
