// SPDX-License-Identifier: Apache-2.0
// Fully connected networks. Without batch norm the backward pass is written out with at:: operators: no autograd graph, and
// gradients go straight into their places.
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>

#include "core/json_reader.hpp"
#include "model/lean/elements.hpp"
#include "model/zoo/lean_specs.hpp"
#include "tensor/network/layers.hpp"
#include "tensor/network/noise.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {
namespace {

class Mlp final : public AutogradNetwork {
public:
    explicit Mlp(DenseSpec spec) : spec_(std::move(spec)), written_out_(!spec_.batch_norm) {
        auto const& widths = spec_.widths;
        for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
            Layer layer;
            layer.linear = Linear(root() / spec_.names[i], widths[i], widths[i + 1]);
            if (spec_.batch_norm && i + 2 < widths.size())
                layer.norm = BatchNorm(root() / "norms" / std::to_string(i), widths[i + 1]);
            layers_.push_back(std::move(layer));
        }
    }

    Backward kind() const override { return written_out_ ? Backward::written_out : Backward::autograd; }
    void use_autograd() override { written_out_ = false; }

    void bind(BoundTensors tensors) override {
        auto const gradients = tensors.gradients;
        on_gradient_ = tensors.on_gradient;
        AutogradNetwork::bind(std::move(tensors));
        for (std::size_t i = 0; written_out_ && i < layers_.size(); ++i) {
            layers_[i].weight_t = layers_[i].linear.weight->t();
            layers_[i].weight_gradient = gradients[2 * i];
            layers_[i].bias_gradient = gradients[2 * i + 1];
        }
    }

    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        auto h = x.dim() == 2 ? x : x.flatten(1);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            auto& layer = layers_[i];
            if (written_out_) {
                layer.input = h;
                h = at::addmm(*layer.linear.bias, h, layer.weight_t);
            } else {
                h = layer.linear(h);
            }
            if (i + 1 == layers_.size()) break;
            bool const relu = spec_.activation == Activation::relu, is_normalised = layer.norm.weight != nullptr;
            if (is_normalised) h = layer.norm(h, pass, {.clip = relu ? Clip::relu : Clip::none});
            if (!relu || !is_normalised) h = relu ? h.relu_() : h.tanh_();
            if (written_out_) layer.activated = h;  // with autograd it would keep the nodes of this pass alive
            if (!pass.training() || spec_.dropout == 0) continue;
            layer.mask = dropout_mask(h, spec_.dropout, pass.noise->generator());
            h = h.mul(layer.mask);
        }
        return h;
    }

    void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) override {
        if (!written_out_) return AutogradNetwork::backward(outputs, output_gradient);
        auto g = output_gradient;
        for (std::size_t i = layers_.size(); i-- > 0;) {
            auto& layer = layers_[i];
            if (layer.weight_gradient.defined()) at::mm_out(layer.weight_gradient, g.t(), layer.input);
            if (layer.bias_gradient.defined()) at::sum_out(layer.bias_gradient, g, at::IntArrayRef{0});
            if (on_gradient_ && layer.bias_gradient.defined()) on_gradient_(2 * i + 1);
            if (on_gradient_ && layer.weight_gradient.defined()) on_gradient_(2 * i);
            if (i == 0) break;
            auto const& below = layers_[i - 1];
            g = at::mm(g, *layer.linear.weight);
            if (spec_.dropout != 0) g.mul_(below.mask);
            g = spec_.activation == Activation::relu ? at::threshold_backward(g, below.activated, 0)
                                                     : at::tanh_backward(g, below.activated);
        }
    }

private:
    struct Layer {
        Linear linear;
        BatchNorm norm;
        at::Tensor weight_t, weight_gradient, bias_gradient;  // written out: views of the state, of the flat gradient
        at::Tensor input, activated, mask;                    // of the last forward pass
    };
    DenseSpec spec_;
    bool written_out_;
    std::vector<Layer> layers_;
    std::function<void(std::size_t)> on_gradient_;
};

}  // namespace

std::unique_ptr<Network> make_logistic(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    return std::make_unique<Mlp>(logistic_spec(model, data, problems).dense);
}

std::unique_ptr<Network> make_mlp(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto spec = mlp_spec(model, data, problems);
    if (!problems.empty()) return nullptr;
    return std::make_unique<Mlp>(std::move(spec.dense));
}

}  // namespace hopscotch
