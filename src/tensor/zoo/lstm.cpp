// SPDX-License-Identifier: Apache-2.0
// An LSTM (Hochreiter and Schmidhuber 1997) over a row's steps; the last state of its top layer goes through a linear layer.
// Names and initialisation are those of torch.nn.Embedding, LSTM and Linear.
#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <cmath>

#include "model/zoo/arguments.hpp"
#include "tensor/network/layers.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

struct LstmArguments {
    std::int64_t hidden = 256, layers = 1, embedding = 128;
    double dropout = 0;
    bool bidirectional = false;
};

struct Steps {  // of one row
    std::int64_t count = 0, width = 0;
    std::int64_t vocabulary = 0;  // 0: numbers
};

class Lstm final : public AutogradNetwork {
public:
    Lstm(Steps const& steps, std::int64_t outputs, LstmArguments const& arguments) : arguments_(arguments) {
        auto in = steps.width;
        if (steps.vocabulary > 0) {
            words_ = Embedding(root() / "embedding", steps.vocabulary, arguments_.embedding);
            in = arguments_.embedding;
        }
        for (std::int64_t i = 0; i < arguments_.layers; ++i) {
            layers_.push_back(layer(i, in, steps.count));
            in = arguments_.hidden * directions();
        }
        fc_ = Linear(root() / "fc", in, outputs);
    }

    // A layer a call: at::lstm would draw the dropout between layers from torch's global generator.
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto h = words_.weight != nullptr ? words_(x.to(at::kLong)) : x;
        auto const start = at::zeros({directions(), x.size(0), arguments_.hidden}, h.options());
        at::Tensor last;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            if (i > 0) h = dropped(h, arguments_.dropout, pass);
            std::vector<at::Tensor> weights;
            for (auto const* weight : layers_[i]) weights.push_back(*weight);
            std::tie(h, last) = through(h, start, std::move(weights), pass);
        }
        return fc_(last.transpose(0, 1).flatten(1));
    }

private:
    using Weights = std::vector<at::Tensor const*>;  // weight_ih, weight_hh, bias_ih, bias_hh; then those of the reverse

    // The outputs of every step, and the last state. Under autocast all of it is cast by hand. CUDA's autocast always turns
    // an LSTM into fp16. A CPU's autocast casts after LibTorch has chosen oneDNN's LSTM for fp32, even if oneDNN has no LSTM
    // for bf16 (without AVX-512).
    std::pair<at::Tensor, at::Tensor> through(at::Tensor h, at::Tensor start, std::vector<at::Tensor> weights,
                                              Pass const& pass) const {
        std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
        if (at::autocast::is_autocast_enabled(h.device().type())) {
            no_autocast.emplace(h.is_cuda() ? c10::DispatchKey::AutocastCUDA : c10::DispatchKey::AutocastCPU);
            h = h.to(at::kBFloat16);
            start = start.to(at::kBFloat16);
            for (auto& weight : weights) weight = weight.to(at::kBFloat16);
        }
        auto [outputs, last, cells] =
            at::lstm(h, {start, start}, weights, /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0.0, pass.training(),
                     arguments_.bidirectional, /*batch_first=*/true);
        return {outputs, last};
    }

    std::int64_t directions() const { return arguments_.bidirectional ? 2 : 1; }

    Weights layer(std::int64_t index, std::int64_t in, std::int64_t steps) {
        Weights weights;
        auto const scope = root() / "lstm";
        auto const gates = 4 * arguments_.hidden;
        auto const init = Init::uniform(1 / std::sqrt(static_cast<double>(arguments_.hidden)));
        for (std::int64_t d = 0; d < directions(); ++d) {
            auto const suffix = fmt::format("_l{}{}", index, d == 0 ? "" : "_reverse");
            weights.push_back(scope.parameter("weight_ih" + suffix, {gates, in}, init));
            weights.push_back(scope.parameter("weight_hh" + suffix, {gates, arguments_.hidden}, init));
            weights.push_back(scope.parameter("bias_ih" + suffix, {gates}, init));
            weights.push_back(scope.parameter("bias_hh" + suffix, {gates}, init));
            modules_.count(static_cast<double>(gates * (in + arguments_.hidden) * steps));
        }
        return weights;
    }

    LstmArguments arguments_;
    Embedding words_;
    std::vector<Weights> layers_;
    Linear fc_;
};

std::optional<Steps> steps_of(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    if (vocabulary(data) > 0 && data.shape.size() == 1) return Steps{data.shape[0], 0, vocabulary(data)};
    if (data.categories.empty() && data.shape.size() == 2) return Steps{data.shape[0], data.shape[1], 0};
    complain_of_data(model,
                     fmt::format("lstm needs rows of shape TxF (T steps of F numbers) or rows of tokens (the dataset's rows "
                                 "have shape {}); import with --shape TxF",
                                 shape_text(data.shape)),
                     problems);
    return std::nullopt;
}

}  // namespace

std::unique_ptr<Network> make_lstm(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    LstmArguments a;
    ArgumentReader reader(model, problems);
    reader.read({"hidden", "Width of the state."}, a.hidden, at_least(1));
    reader.read({"layers", "Layers."}, a.layers, at_least(1));
    reader.read({"embedding", "Width of a token's embedding (rows of tokens)."}, a.embedding, at_least(1));
    reader.read({"dropout", "Dropout between layers."}, a.dropout, fraction());
    reader.read({"bidirectional", "A second LSTM reads the row backwards."}, a.bidirectional);
    reader.finish();
    auto const steps = steps_of(model, data, problems);
    if (!steps || !problems.empty()) return nullptr;
    return std::make_unique<Lstm>(*steps, data.outputs, a);
}

}  // namespace hopscotch
