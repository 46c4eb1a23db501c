// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/tail.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "tensor/network/chain.hpp"

namespace hopscotch {
namespace {

template <class Value>
std::vector<Value> behind(std::vector<Value> const& all, std::size_t n) {
    return {all.begin() + static_cast<std::ptrdiff_t>(n), all.end()};
}

template <class Value>
std::vector<Value> first(std::vector<Value> const& all, std::size_t n) {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

template <class Value>
std::vector<Value> joined(std::vector<Value> const& first, std::vector<Value> const& second) {
    auto out = first;
    out.insert(out.end(), second.begin(), second.end());
    return out;
}

class ChainStart final : public FrozenStart {
public:
    ChainStart(ChainNetwork& chain, std::size_t stages)
        : chain_(chain),
          stages_(stages),
          cut_(chain.stages()->at(stages - 1)),
          parameters_(first(chain.parameters(), cut_.parameters)),
          buffers_(first(chain.buffers(), cut_.buffers)) {}

    std::vector<ParameterSpec> const& parameters() const override { return parameters_; }
    std::vector<BufferSpec> const& buffers() const override { return buffers_; }
    std::vector<std::int64_t> const& output_shape() const override { return cut_.shape; }
    void bind(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers) override {
        require(parameters.size() == cut_.parameters && buffers.size() == cut_.buffers, "tensors of another frozen start");
        bound_parameters_ = std::move(parameters);
        bound_buffers_ = std::move(buffers);
    }
    at::Tensor outputs(at::Tensor const& x, Pass const& evaluation) override {
        return chain_.forward(0, stages_, x, evaluation);
    }

    Stage const& cut() const { return cut_; }

    // The tensors of the network after it become those of the chain.
    BoundTensors before(BoundTensors tensors) const {
        require(bound_parameters_.size() == cut_.parameters, "a network was bound before its frozen start");
        tensors.parameters = joined(bound_parameters_, tensors.parameters);
        tensors.gradients = joined(std::vector<at::Tensor>(cut_.parameters), tensors.gradients);
        tensors.buffers = joined(bound_buffers_, tensors.buffers);
        if (tensors.on_gradient)
            tensors.on_gradient = [tell = std::move(tensors.on_gradient), own = cut_.parameters](std::size_t i) {
                tell(i - own);
            };
        return tensors;
    }

private:
    ChainNetwork& chain_;
    std::size_t stages_;
    Stage cut_;
    std::vector<ParameterSpec> parameters_;
    std::vector<BufferSpec> buffers_;
    std::vector<at::Tensor> bound_parameters_, bound_buffers_;
};

class Tail final : public Network {
public:
    Tail(std::unique_ptr<ChainNetwork> chain, std::size_t stages)
        : chain_(std::move(chain)),
          stages_(stages),
          start_(*chain_, stages),
          parameters_(behind(chain_->parameters(), start_.cut().parameters)),
          buffers_(behind(chain_->buffers(), start_.cut().buffers)),
          convolutions_(behind(*chain_->convolutions(), start_.cut().parameters)) {}

    std::vector<ParameterSpec> const& parameters() const override { return parameters_; }
    std::vector<BufferSpec> const& buffers() const override { return buffers_; }
    double multiply_adds() const override { return chain_->multiply_adds() - start_.cut().multiply_adds; }
    std::vector<bool> const* convolutions() const override { return &convolutions_; }
    FrozenStart* frozen_start() override { return &start_; }
    void bind(BoundTensors tensors) override { chain_->bind(start_.before(std::move(tensors))); }
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override {
        return chain_->forward(stages_, chain_->stages()->size(), x, pass);
    }
    void backward(at::Tensor const& outputs, at::Tensor const& gradient) override { chain_->backward(outputs, gradient); }

private:
    std::unique_ptr<ChainNetwork> chain_;
    std::size_t stages_;
    ChainStart start_;
    std::vector<ParameterSpec> parameters_;
    std::vector<BufferSpec> buffers_;
    std::vector<bool> convolutions_;
};

}  // namespace

std::size_t frozen_stages(Network const& network, std::vector<bool> const& frozen) {
    if (network.stages() == nullptr) return 0;
    auto const trained = static_cast<std::size_t>(std::find(frozen.begin(), frozen.end(), false) - frozen.begin());
    std::size_t out = 0;
    for (auto const& stage : *network.stages()) out += stage.parameters <= trained && stage.parameters > 0 ? 1 : 0;
    return out;
}

std::unique_ptr<Network> tail_of(std::unique_ptr<Network> network, std::size_t stages) {
    std::unique_ptr<ChainNetwork> chain(dynamic_cast<ChainNetwork*>(network.release()));
    require(chain != nullptr, "a network that is not a chain has no tail");
    return std::make_unique<Tail>(std::move(chain), stages);
}

}  // namespace hopscotch
