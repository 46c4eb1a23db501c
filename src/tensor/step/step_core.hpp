// SPDX-License-Identifier: Apache-2.0
// The computation of a step, on given memory: the gradient of a batch, and the update. A captured graph keeps the core and
// the memory that it was captured with, since other trials of the same structure go on replaying it when the trial that
// captured it has gone.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "experiment/config.hpp"
#include "model/lean/group_calls.hpp"
#include "model/trial/workspace.hpp"
#include "tensor/network/network.hpp"
#include "tensor/step/loss.hpp"
#include "tensor/step/optimizer.hpp"
#include "tensor/step/step.hpp"

namespace hopscotch {

class Leaves;
struct LeafOptions;

// A bound state and the workspace's blocks, as views.
struct StepMemory {
    BoundTensors trained;
    std::shared_ptr<Leaves> leaves;  // of a GPU; null: the network computes on `trained` itself
    std::vector<at::Tensor> averaged_views;
    at::Tensor parameters, averaged, gradient, accumulated;  // flat; the last undefined unless batches are accumulated
    at::Tensor trainable, buffers;                           // the bound floats in two: parameters and slots, and the rest
    std::vector<at::Tensor> slots;                           // of the optimizer
    std::int64_t decayed = 0;
    std::vector<std::pair<std::size_t, std::size_t>> ranges;  // of the flat gradient, by parameter; padding included

    at::Tensor const& update_gradient() const { return accumulated.defined() ? accumulated : gradient; }
};

// floats: the state up to its last buffer, laid out like the state. accumulated and leaves may be undefined.
struct StepBlocks {
    at::Tensor floats, gradient, accumulated, leaves;
};

class StepCore {
public:
    StepCore(std::unique_ptr<Network> network, TrainConfig const& train, Workspace::Impl& workspace);
    ~StepCore();

    Network& network() { return *network_; }
    at::Tensor const& loss_sum() const { return loss_sum_; }  // over the rows; on a GPU that of the workspace

    // Of the block of gradients, for this many parameters. On a GPU the copies of weights lie there, too.
    std::int64_t gradient_floats(std::int64_t parameters) const;

    // The workspace's blocks for this many parameters, as large as this step needs them.
    StepBlocks blocks(at::Tensor const& floats, std::int64_t parameters) const;
    std::shared_ptr<StepMemory> memory(StepBlocks const& blocks, StateLayout const& layout,
                                       FrozenParameters const& frozen) const;

    // Before any work on this memory. Costs nothing if it was the last.
    void bind(std::shared_ptr<StepMemory const> const& memory, Step::Weights weights = Step::Weights::trained);
    void bind_anew() { bound_ = nullptr; }  // its tensors have changed

    at::Tensor evaluate(at::Tensor const& x);
    at::Tensor start_outputs(at::Tensor const& x);  // of Network::frozen_start()
    // sum: of batch statistics; null: of the own rows. Returns the mean loss, for count_loss(), which needs no memory: if a
    // step finds no memory half-way, its loss has not been counted.
    at::Tensor compute_gradient(at::Tensor const& x, at::Tensor const& y, SumOverGroup const* sum);
    void count_loss(at::Tensor const& loss, std::int64_t rows);

    // The numbers of the next update. On a GPU StepNumbers has them instead.
    void schedule(double lr, std::int64_t step) { optimizer_.schedule(lr, step); }
    void apply_update();  // clips, updates, averages

private:
    bool has_leaves() const;  // of this device and network
    LeafOptions leaf_options() const;
    at::Tensor forward(at::Tensor const& x, Pass const& pass);
    Pass evaluation() const;
    void clip();
    void clip_by_numbers();
    void update_by_numbers();

    std::unique_ptr<Network> network_;
    TrainConfig train_;
    Loss loss_;
    Optimizer optimizer_;
    Workspace::Impl& workspace_;
    at::Tensor loss_sum_;
    std::shared_ptr<StepMemory const> bound_;
    Step::Weights weights_ = Step::Weights::trained;
};

}  // namespace hopscotch
