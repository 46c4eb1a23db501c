// SPDX-License-Identifier: Apache-2.0
// The layers that the networks of the zoo are made of. Making a layer announces its parameters, buffers and cost to the
// network under PyTorch's names; calling it computes. A layer points at the network's tensors, so it lives inside one.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tensor/network/network.hpp"

namespace hopscotch {

// The parts of a network of layers. Every bind re-points the tensors.
class Modules {
public:
    at::Tensor const* parameter(ParameterSpec spec);
    void last_is_convolution() { convolutions_.back() = true; }  // the parameter before
    at::Tensor const* buffer(BufferSpec spec);
    void count(double multiply_adds) { multiply_adds_ += multiply_adds; }

    std::vector<ParameterSpec> const& parameters() const { return parameter_specs_; }
    std::vector<BufferSpec> const& buffers() const { return buffer_specs_; }
    std::vector<bool> const& convolutions() const { return convolutions_; }
    double multiply_adds() const { return multiply_adds_; }
    void bind(BoundTensors tensors);

private:
    std::vector<ParameterSpec> parameter_specs_;
    std::vector<BufferSpec> buffer_specs_;
    std::vector<bool> convolutions_;               // by parameter
    std::deque<at::Tensor> parameters_, buffers_;  // deques: layers keep pointers into them
    double multiply_adds_ = 0;
};

// A place in the tree of names: Scope(modules) / "layer1.0" / "conv1" makes "layer1.0.conv1.weight".
struct Scope {
    Modules& modules;
    std::string prefix;

    Scope operator/(std::string const& name) const { return {modules, prefix.empty() ? name : prefix + "." + name}; }
    at::Tensor const* parameter(std::string const& name, std::vector<std::int64_t> shape, Init init) const;
};

struct ImageShape {  // of one row on its way through the layers
    std::int64_t channels = 0, height = 0, width = 0;
    std::int64_t elements() const { return channels * height * width; }
    std::vector<std::int64_t> sizes() const { return {channels, height, width}; }
};

at::Tensor images_for(at::Tensor const& x, Pass const& pass);  // x, laid out as the pass computes on images

struct LinearOptions {
    bool bias = true;
    std::int64_t uses = 1;  // per row: 1, or the tokens of a row
    Init weight = Init::torch_default();
    Init bias_init = Init::torch_default();
};

struct Linear {
    at::Tensor const *weight = nullptr, *bias = nullptr;
    Linear() = default;
    Linear(Scope const& scope, std::int64_t in, std::int64_t out, LinearOptions const& options = {});
    at::Tensor operator()(at::Tensor const& x) const;
};

struct Conv {  // torch.nn.Conv2d with a square kernel
    std::int64_t out = 0, kernel = 3, stride = 1, padding = 0, groups = 1;
    bool bias = true;
    Init weight = Init::torch_default();
    Init bias_init = Init::torch_default();
};

struct Conv2d {
    at::Tensor const *weight = nullptr, *bias = nullptr;
    Conv geometry;
    bool channels_last_is_safe = true;  // on this CPU (image_layout.hpp). Otherwise its images lie channels first inside
    Conv2d() = default;
    Conv2d(Scope const& scope, ImageShape& shape, Conv const& conv);  // shape: of its input, becomes that of its output
    at::Tensor operator()(at::Tensor const& x) const;                 // the outputs lie as x does

private:
    at::Tensor computed(at::Tensor const& x) const;
};

// Follows batch norm: an addition, then a clip. With Pass::norm they are one operator.
struct AfterNorm {
    std::function<at::Tensor()> added = {};  // empty: nothing is added
    Clip clip = Clip::none;
};

// torch.nn.BatchNorm1d and 2d: momentum 0.1, eps 1e-5; running_mean, running_var and num_batches_tracked are state.
// With Pass::sum: torch.nn.SyncBatchNorm.
struct BatchNorm {
    at::Tensor const *weight = nullptr, *bias = nullptr, *mean = nullptr, *variance = nullptr, *batches = nullptr;
    BatchNorm() = default;
    BatchNorm(Scope const& scope, std::int64_t channels);
    at::Tensor operator()(at::Tensor const& x, Pass const& pass, AfterNorm const& after = {}) const;

private:
    at::Tensor fused(at::Tensor const& x, Pass const& pass, AfterNorm const& after) const;
};

struct LayerNorm {
    at::Tensor const *weight = nullptr, *bias = nullptr;
    double epsilon = 1e-5;
    LayerNorm() = default;
    LayerNorm(Scope const& scope, std::int64_t width, double eps = 1e-5);
    at::Tensor operator()(at::Tensor const& x) const;
};

struct Embedding {
    at::Tensor const* weight = nullptr;
    Embedding() = default;
    Embedding(Scope const& scope, std::int64_t rows, std::int64_t width, Init init = Init::normal(1));
    at::Tensor operator()(at::Tensor const& ids) const;  // int64 ids
};

// A network whose gradients autograd computes; derived classes make layers in modules_ and write forward().
class AutogradNetwork : public Network {
public:
    std::vector<ParameterSpec> const& parameters() const override { return modules_.parameters(); }
    std::vector<BufferSpec> const& buffers() const override { return modules_.buffers(); }
    double multiply_adds() const override { return modules_.multiply_adds(); }
    std::vector<bool> const* convolutions() const override { return &modules_.convolutions(); }
    void bind(BoundTensors tensors) override { modules_.bind(std::move(tensors)); }
    void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) override;

protected:
    Scope root() { return {modules_, ""}; }

    Modules modules_;
};

}  // namespace hopscotch
