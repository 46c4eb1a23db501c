// SPDX-License-Identifier: Apache-2.0
// The vision transformer (Dosovitskiy et al. 2021), with the names and the initialisation of torchvision's. Its dropout is
// torchvision's too: after the embedding, the attention and both layers of each MLP, none on the attention weights.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/network/chain.hpp"
#include "tensor/zoo/attention.hpp"
#include "tensor/zoo/image_data.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

constexpr double k_norm_epsilon = 1e-6;    // of the layer norms
constexpr std::int64_t k_head_width = 64;  // of all presets

struct VitArguments {
    std::string preset = "tiny";
    std::int64_t patch = 16, width = 0, depth = 12, heads = 0, mlp = 0;  // 0: as the preset and the width have it
    double dropout = 0;

    void resolve() {
        if (width == 0) width = preset == "tiny" ? 192 : preset == "small" ? 384 : 768;
        if (heads == 0) heads = std::max<std::int64_t>(1, width / k_head_width);
        if (mlp == 0) mlp = 4 * width;
    }
};

class EncoderLayer {
public:
    EncoderLayer(Scope const& scope, VitArguments const& a, std::int64_t tokens)
        : heads_(a.heads), dropout_(a.dropout), ln_1_(scope / "ln_1", a.width, k_norm_epsilon) {
        auto const attention = scope / "self_attention";
        auto const in_init = Init::xavier_uniform(a.width, 3 * a.width);
        in_weight_ = attention.parameter("in_proj_weight", {3 * a.width, a.width}, in_init);
        in_bias_ = attention.parameter("in_proj_bias", {3 * a.width}, Init::constant(0));
        scope.modules.count(static_cast<double>(3 * a.width * a.width * tokens) + attention_cost(tokens, a.width));
        out_ = Linear(attention / "out_proj", a.width, a.width, {.uses = tokens, .bias_init = Init::constant(0)});
        ln_2_ = LayerNorm(scope / "ln_2", a.width, k_norm_epsilon);
        LinearOptions const options{
            .uses = tokens, .weight = Init::xavier_uniform(a.width, a.mlp), .bias_init = Init::normal(1e-6)};
        widen_ = Linear(scope / "mlp" / "0", a.width, a.mlp, options);
        narrow_ = Linear(scope / "mlp" / "3", a.mlp, a.width, options);
    }

    at::Tensor operator()(at::Tensor const& input, Pass const& pass) const {
        auto const qkv = at::linear(ln_1_(input), *in_weight_, *in_bias_);
        auto const attended = out_(self_attention(qkv, heads_, Attention::full));
        auto const x = input + dropped(attended, dropout_, pass);
        auto const wide = dropped(at::gelu(widen_(ln_2_(x))), dropout_, pass);
        return x + dropped(narrow_(wide), dropout_, pass);
    }

private:
    std::int64_t heads_;
    double dropout_;
    at::Tensor const *in_weight_ = nullptr, *in_bias_ = nullptr;
    LayerNorm ln_1_, ln_2_;
    Linear out_, widen_, narrow_;
};

class Vit final : public ChainNetwork {
public:
    Vit(ImageShape shape, std::int64_t outputs, VitArguments const& a) : ChainNetwork(Images::channels_first) {
        auto const* class_token = root().parameter("class_token", {1, 1, a.width}, Init::constant(0));
        auto const patch_elements = static_cast<double>(shape.channels * a.patch * a.patch);
        Conv2d const project(root() / "conv_proj", shape,
                             {.out = a.width,
                              .kernel = a.patch,
                              .stride = a.patch,
                              .weight = Init::truncated_normal(std::sqrt(1 / patch_elements)),
                              .bias_init = Init::constant(0)});
        auto const tokens = shape.height * shape.width + 1;
        auto const encoder = root() / "encoder";
        auto const* positions = encoder.parameter("pos_embedding", {1, tokens, a.width}, Init::normal(0.02));
        std::vector const embedded{tokens, a.width};
        add_stage(embedded, [=, dropout = a.dropout](auto const& x, Pass const& pass) {
            auto const patches = project(x).flatten(2).transpose(1, 2);
            auto const h = at::cat({class_token->expand({x.size(0), -1, -1}), patches}, 1) + *positions;
            return dropped(h, dropout, pass);
        });
        for (std::int64_t i = 0; i < a.depth; ++i)
            add_stage(embedded, EncoderLayer(encoder / "layers" / fmt::format("encoder_layer_{}", i), a, tokens));
        LayerNorm const norm(encoder / "ln", a.width, k_norm_epsilon);
        add_stage({a.width}, [norm](auto const& x, Pass const&) { return norm(x).select(1, 0); });
        auto const zero = Init::constant(0);
        Linear const head(root() / "heads" / "head", a.width, outputs, {.weight = zero, .bias_init = zero});
        add_stage({outputs}, [head](auto const& x, Pass const&) { return head(x); });
    }
};

void check_sides(VitArguments const& a, ImageShape const& shape, ObjectReader& reader) {
    if (shape.height % a.patch != 0 || shape.width % a.patch != 0)
        reader.problem("patch", fmt::format("{} does not divide the images' sides (they are {}x{}); choose another patch",
                                            a.patch, shape.height, shape.width));
    if (a.width % a.heads != 0)
        reader.problem("heads", fmt::format("{} does not divide the width {} (heads share it equally)", a.heads, a.width));
}

}  // namespace

std::unique_ptr<Network> make_vit(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    VitArguments a;
    ArgumentReader reader(model, problems);
    reader.read({"preset", "Width 192 (tiny), 384 (small) or 768 (b_16)."}, a.preset, one_of({"tiny", "small", "b_16"}));
    reader.read({"patch", "Side of the square patches, which divides both sides of the images."}, a.patch, at_least(1));
    reader.read({"width", "Width of the embedding, a multiple of heads; without the key, the preset's."}, a.width,
                at_least(1));
    reader.read({"depth", "Layers."}, a.depth, at_least(1));
    reader.read({"heads", "Heads of the attention; without the key, width / 64."}, a.heads, at_least(1));
    reader.read({"mlp", "Width of the hidden layer of the MLPs; without the key, 4 x width."}, a.mlp, at_least(1));
    reader.read({"dropout", "Dropout after the embedding, the attention and both layers of the MLPs."}, a.dropout,
                fraction());
    reader.finish();
    auto const shape = image_shape(model, data, 1, problems);
    if (!shape || !problems.empty()) return nullptr;
    a.resolve();
    check_sides(a, *shape, reader);
    if (!problems.empty()) return nullptr;
    return std::make_unique<Vit>(*shape, data.outputs, a);
}

}  // namespace hopscotch
