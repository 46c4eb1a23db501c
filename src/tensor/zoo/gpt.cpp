// SPDX-License-Identifier: Apache-2.0
// A causal transformer: GPT-2 (Radford et al. 2019) with the names, the [in, out] weights and the tied head that Hugging
// Face's GPT2LMHeadModel writes to safetensors. Dropout after the embedding and both parts of a block, none on the attention
// weights.
#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include <cmath>

#include "model/zoo/arguments.hpp"
#include "tensor/network/layers.hpp"
#include "tensor/zoo/attention.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

constexpr double k_init = 0.02;

struct GptArguments {
    std::int64_t layers = 4, width = 128, heads = 4;
    double dropout = 0;
};

// A linear layer whose weight is [in, out].
struct Conv1d {
    at::Tensor const *weight = nullptr, *bias = nullptr;

    Conv1d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t tokens, double stddev = k_init)
        : weight(scope.parameter("weight", {in, out}, Init::normal(stddev))),
          bias(scope.parameter("bias", {out}, Init::constant(0))) {
        scope.modules.count(static_cast<double>(in * out * tokens));
    }
    at::Tensor operator()(at::Tensor const& x) const { return at::linear(x, weight->t(), *bias); }
};

class GptBlock {
public:
    GptBlock(Scope const& scope, GptArguments const& a, std::int64_t tokens)
        : heads_(a.heads),
          dropout_(a.dropout),
          ln_1_(scope / "ln_1", a.width),
          in_(scope / "attn" / "c_attn", a.width, 3 * a.width, tokens),
          out_(scope / "attn" / "c_proj", a.width, a.width, tokens, residual_stddev(a)),
          ln_2_(scope / "ln_2", a.width),
          widen_(scope / "mlp" / "c_fc", a.width, 4 * a.width, tokens),
          narrow_(scope / "mlp" / "c_proj", 4 * a.width, a.width, tokens, residual_stddev(a)) {
        scope.modules.count(attention_cost(tokens, a.width));
    }

    at::Tensor operator()(at::Tensor const& input, Pass const& pass) const {
        auto const attended = out_(self_attention(in_(ln_1_(input)), heads_, Attention::causal));
        auto const x = input + dropped(attended, dropout_, pass);
        return x + dropped(narrow_(at::gelu(widen_(ln_2_(x)), "tanh")), dropout_, pass);
    }

private:
    // Two additions a block: their sum keeps the variance of one.
    static double residual_stddev(GptArguments const& a) { return k_init / std::sqrt(2.0 * static_cast<double>(a.layers)); }

    std::int64_t heads_;
    double dropout_;
    LayerNorm ln_1_;
    Conv1d in_, out_;
    LayerNorm ln_2_;
    Conv1d widen_, narrow_;
};

class Gpt final : public AutogradNetwork {
public:
    std::string head() const override { return ""; }  // tied to the embedding

    Gpt(std::int64_t tokens, std::int64_t vocabulary, GptArguments const& a) : dropout_(a.dropout) {
        auto const scope = root() / "transformer";
        words_ = Embedding(scope / "wte", vocabulary, a.width, Init::normal(k_init));
        positions_ = Embedding(scope / "wpe", tokens, a.width, Init::normal(k_init));
        for (std::int64_t i = 0; i < a.layers; ++i) blocks_.emplace_back(scope / "h" / std::to_string(i), a, tokens);
        norm_ = LayerNorm(scope / "ln_f", a.width);
        modules_.count(static_cast<double>(tokens * a.width * vocabulary));  // the head
    }

    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto h = dropped(words_(x.to(at::kLong)) + *positions_.weight, dropout_, pass);
        for (auto const& block : blocks_) h = block(h, pass);
        return at::linear(norm_(h), *words_.weight);
    }

private:
    double dropout_;
    Embedding words_, positions_;
    std::vector<GptBlock> blocks_;
    LayerNorm norm_;
};

}  // namespace

std::unique_ptr<Network> make_gpt(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    GptArguments a;
    ArgumentReader reader(model, problems);
    reader.read({"layers", "Layers."}, a.layers, at_least(1));
    reader.read({"width", "Width of the embedding, a multiple of heads."}, a.width, at_least(1));
    reader.read({"heads", "Heads of the attention."}, a.heads, at_least(1));
    reader.read({"dropout", "Dropout after the embedding, the attention and the MLP of every layer."}, a.dropout,
                fraction());
    reader.finish();
    if (data.task != Task::language || data.shape.size() != 1 || vocabulary(data) != data.outputs)
        complain_of_data(model,
                         fmt::format("gpt needs a dataset of the task language (this one's is {}); use another model",
                                     name_of(data.task)),
                         problems);
    if (!problems.empty()) return nullptr;
    if (a.width % a.heads != 0)
        reader.problem("heads", fmt::format("{} does not divide the width {} (heads share it equally)", a.heads, a.width));
    if (!problems.empty()) return nullptr;
    return std::make_unique<Gpt>(data.shape.front(), data.outputs, a);
}

}  // namespace hopscotch
