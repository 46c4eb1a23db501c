// SPDX-License-Identifier: Apache-2.0
#include "model/mlp.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>
#include <fmt/format.h>

#include "model/arguments.hpp"
#include "model/network.hpp"

namespace hopscotch {
namespace {

// Forward and backward are written out with the operators that autograd would call, in its order.
class Mlp final : public Network {
public:
    Mlp(std::vector<std::int64_t> const& widths, std::vector<std::string> const& names, MlpArguments arguments)
        : arguments_(std::move(arguments)), layers_(names.size()) {
        for (std::size_t i = 0; i < names.size(); ++i) add_affine(specs_, names[i], {widths[i + 1], widths[i]});
    }

    std::vector<ParameterSpec> const& parameters() const override { return specs_; }
    Backward kind() const override { return Backward::written_out; }

    void bind(std::vector<at::Tensor> parameters, std::vector<at::Tensor> gradients) override {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            auto& layer = layers_[i];
            layer.weight = parameters[2 * i];
            layer.weight_t = layer.weight.t();
            layer.bias = parameters[2 * i + 1];
            layer.weight_gradient = gradients[2 * i];
            layer.bias_gradient = gradients[2 * i + 1];
        }
    }

    at::Tensor forward(at::Tensor const& x, at::Generator* noise) override {
        auto h = x.dim() == 2 ? x : x.flatten(1);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            auto& layer = layers_[i];
            layer.input = h;
            h = at::addmm(layer.bias, h, layer.weight_t);
            if (i + 1 == layers_.size()) break;
            layer.activated = arguments_.activation == "relu" ? h.relu_() : h.tanh_();
            if (noise == nullptr || arguments_.dropout == 0) continue;
            layer.mask = dropout_mask(h, arguments_.dropout, *noise);
            h = h.mul(layer.mask);
        }
        return h;
    }

    void backward(at::Tensor const&, at::Tensor const& output_gradient) override {
        auto g = output_gradient;
        for (std::size_t i = layers_.size(); i-- > 0;) {
            auto& layer = layers_[i];
            at::mm_out(layer.weight_gradient, g.t(), layer.input);
            at::sum_out(layer.bias_gradient, g, at::IntArrayRef{0});
            if (i == 0) break;
            auto const& below = layers_[i - 1];
            g = at::mm(g, layer.weight);
            if (arguments_.dropout != 0) g.mul_(below.mask);
            g = arguments_.activation == "relu" ? at::threshold_backward(g, below.activated, 0)
                                                : at::tanh_backward(g, below.activated);
        }
    }

private:
    struct Layer {
        at::Tensor weight, weight_t, bias, weight_gradient, bias_gradient;  // views of the state, of the flat gradient
        at::Tensor input, activated, mask;                                  // of the last forward pass
    };
    MlpArguments arguments_;
    std::vector<ParameterSpec> specs_;
    std::vector<Layer> layers_;
};

MlpArguments read_mlp(ModelConfig const& model, Problems& problems) {
    MlpArguments arguments;
    ObjectReader reader(model.arguments, "/model", problems);
    reader.read("hidden", arguments.hidden, at_least(1));
    reader.read("activation", arguments.activation, one_of({"relu", "tanh"}));
    reader.read("dropout", arguments.dropout, fraction());
    reader.finish();
    return arguments;
}

std::vector<std::int64_t> widths_of(MlpArguments const& arguments, DataSchema const& data) {
    std::vector<std::int64_t> widths{elements(data.shape)};
    widths.insert(widths.end(), arguments.hidden.begin(), arguments.hidden.end());
    widths.push_back(data.outputs);
    return widths;
}

double flops(std::vector<std::int64_t> const& widths) {
    double multiply_adds = 0;
    for (std::size_t i = 1; i < widths.size(); ++i)
        multiply_adds += static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
    return k_flops_per_multiply_add * multiply_adds;
}

}  // namespace

void check_logistic(ModelConfig const& model, DataSchema const&, Problems& problems) {
    ObjectReader(model.arguments, "/model", problems).finish();
}

double logistic_flops(ModelConfig const&, DataSchema const& data) { return flops({elements(data.shape), data.outputs}); }

std::unique_ptr<Network> make_logistic(ModelConfig const&, DataSchema const& data) {
    MlpArguments const none{{}, "relu", 0};
    return std::make_unique<Mlp>(widths_of(none, data), std::vector<std::string>{"linear"}, none);
}

void check_mlp(ModelConfig const& model, DataSchema const&, Problems& problems) { read_mlp(model, problems); }

double mlp_flops(ModelConfig const& model, DataSchema const& data) {
    return flops(widths_of(accepted<MlpArguments>(model, read_mlp), data));
}

std::unique_ptr<Network> make_mlp(ModelConfig const& model, DataSchema const& data) {
    auto const arguments = accepted<MlpArguments>(model, read_mlp);
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= arguments.hidden.size(); ++i) names.push_back(fmt::format("layers.{}", i));
    return std::make_unique<Mlp>(widths_of(arguments, data), names, arguments);
}

}  // namespace hopscotch
