// SPDX-License-Identifier: Apache-2.0
// The one training step that every strategy shares: forward and backward into the flat gradient, then the update. Between
// the two a data-parallel strategy may combine gradients. Nothing is read back from the device within a unit.
#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "experiment/config.hpp"
#include "model/feed/batch_buffers.hpp"
#include "model/feed/workspace.hpp"
#include "model/gpu/graph_cache.hpp"
#include "model/network/group_calls.hpp"
#include "model/network/network.hpp"

namespace hopscotch {

class Loss;
class Optimizer;

// The frozen parameters, which are not in the state, in the network's order; undefined: not frozen.
using FrozenParameters = std::vector<at::Tensor>;

class Step {
public:
    // name: of the model, for the log.
    Step(std::unique_ptr<Network> network, std::string name, TrainConfig const& train, Workspace::Impl& workspace);
    ~Step();
    Step(Step const&) = delete;
    Step& operator=(Step const&) = delete;

    Network& network() { return *network_; }
    Network const& network() const { return *network_; }

    // floats: the state up to its last buffer on the device, as one flat float tensor laid out like `layout`, which is the
    // same in every call. Costs little where the state lies at the address of the call before.
    void bind(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen);

    // From now on forward passes use the averaged weights (EMA), or the trained ones. Nothing without EMA.
    enum class Weights { trained, averaged };
    void use(Weights weights);

    void sum_with(SumOverGroup sum) { sum_ = std::move(sum); }  // batch statistics, from now on; empty: of the own rows

    void begin_unit();  // zeros the gradient and the loss sum

    // Adds the batch to the gradient of the next update. noise_key addresses the dropout masks of this batch. on_gradient,
    // if given and if no batches are accumulated: called for ranges of the flat gradient as soon as they are final.
    void forward_backward(Batch const& batch, std::uint64_t noise_key, GradientReady const& on_gradient = {});

    // Called before a batch of so many rows. Returns the work that undoes the batch, in case it finds no memory half-way.
    // Empty: the batch cannot be undone, or it has been trained before and fits.
    std::function<void()> way_back(std::int64_t rows);

    // Makes gradient() the mean over the rows since the last update.
    void finish_gradient();
    at::Tensor const& gradient() const;  // flat, laid out like the parameters

    // Updates with gradient(), clipped.
    void update(double lr, std::int64_t step);

    // The outputs in float32, whatever the precision. No gradients are recorded.
    at::Tensor evaluate(at::Tensor const& x);

    double loss_sum() const;  // over the rows since begin_unit; waits for the device
    void set_loss_sum(double sum);

private:
    void bind_views(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen);
    void bind_network(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen);
    void report_gradients();
    at::Tensor forward(at::Tensor const& x, Pass const& pass);
    void compute_gradient(at::Tensor const& x, at::Tensor const& y);
    void clip();
    void apply_update();

    // As CUDA graphs (step_captured.cpp).
    class GradientPart;
    class UpdatePart;
    bool captures();  // the workspace has graphs, and this step can be captured
    char const* against_graphs() const;
    GraphKey key(GraphKey::Part part, std::int64_t rows) const;
    void captured_gradient(Batch const& batch, std::uint64_t noise_key);
    void captured_update(double lr, std::int64_t step);
    void forget_graphs();

    std::unique_ptr<Network> network_;
    std::string name_;
    TrainConfig train_;
    std::unique_ptr<Optimizer> optimizer_;
    std::unique_ptr<Loss> loss_;
    Workspace::Impl& workspace_;
    std::array<void const*, 3> bound_{};  // addresses of the state, the gradient and the accumulated gradient
    BoundTensors trained_;
    std::vector<at::Tensor> averaged_views_;
    at::Tensor parameters_, averaged_, gradient_, accumulated_, loss_sum_;
    at::Tensor trainable_, buffers_;  // the bound floats in two: parameters and slots, and the rest
    char const* explained_ = nullptr;
    Weights weights_ = Weights::trained;
    std::int64_t accumulated_rows_ = 0;
    std::set<std::int64_t> tried_rows_;
    std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // of the flat gradient, by parameter; padding included
    SumOverGroup sum_;
    GradientReady const* on_gradient_ = nullptr;  // of the pass under way
};

}  // namespace hopscotch
