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
#include <span>
#include <string>
#include <vector>

#include "experiment/config.hpp"
#include "model/gpu/graph_cache.hpp"
#include "model/trial/workspace.hpp"
#include "tensor/feed/batch_buffers.hpp"
#include "tensor/network/network.hpp"

namespace hopscotch {

class StepCore;
struct DataSchema;
struct StepMemory;

// The frozen parameters, which are not in the state, in the network's order; undefined: not frozen.
using FrozenParameters = std::vector<at::Tensor>;

// The identity of a step, for the log and for graphs. structure: everything but the numbers that lie in memory of the
// device; trials with the same text share captured graphs.
struct StepIdentity {
    std::string name;  // of the model
    std::string structure;
};

// All that a captured step has frozen besides addresses and the number of rows: kernels, their order, and their arguments.
// Not the numbers that a step reads from memory of the device: learning rate, schedule, weight decay, momentum, betas,
// epsilon, the bounds of clipping, the decay of averaged weights, seeds. weights: of frozen parameters, which lie where the
// first trial with that text has put them.
std::string step_structure(TrialConfig const& config, DataSchema const& data, std::string const& weights);

struct UpdateAt {
    double lr = 0;
    std::int64_t step = 0;  // the number of the update; counts from 1
};

// Batches of equal size that are due, and the updates by them.
struct DueSteps {
    Batch batch;                        // its values, or where the step gathers them
    bool is_there = true;               // if not, the step gathers
    std::uint32_t first = 0;            // DueBatch::first
    std::span<UpdateAt const> updates;  // none: only the gradient
    std::uint64_t noise_key = 0;        // of the first batch
};

class Step {
public:
    Step(std::unique_ptr<Network> network, StepIdentity identity, TrainConfig const& train, Workspace::Impl& workspace);
    ~Step();
    Step(Step const&) = delete;
    Step& operator=(Step const&) = delete;

    Network& network();
    Network const& network() const;

    // floats: the state up to its last buffer on the device, as one flat float tensor laid out like `layout`, which is the
    // same in every call. Costs little where the state lies at the address of the call before.
    void bind(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen);

    // That bind() takes from the workspace for gradients of this many parameters.
    std::int64_t gradient_floats(std::int64_t parameters) const;

    // From now on forward passes use the averaged weights (EMA), or the trained ones. Nothing without EMA.
    enum class Weights { trained, averaged };
    void use(Weights weights);

    void sum_with(SumOverGroup sum) { sum_ = std::move(sum); }  // batch statistics, from now on; empty: of the own rows

    void begin_unit();  // zeros the gradient and the loss sum

    // Adds the batch to the gradient of the next update. noise_key addresses the dropout masks of this batch. on_gradient,
    // if given and if no batches are accumulated: called for ranges of the flat gradient as soon as they are final.
    void forward_backward(Batch const& batch, std::uint64_t noise_key, GradientReady const& on_gradient = {});

    // Called before a batch of this many rows. Returns the work that undoes the batch, in case it finds no memory half-way.
    // Empty: the batch cannot be undone, or it has been trained before and fits.
    std::function<void()> way_back(std::int64_t rows);

    // Makes gradient() the mean over the rows since the last update.
    void finish_gradient();
    at::Tensor const& gradient() const;  // flat, laid out like the parameters

    // Updates with gradient(), clipped.
    void update(UpdateAt const& now);

    // On a GPU, where nothing is combined between gradient and update: whole steps as one graph. steps_at_once: the number
    // of batches of this many rows that train_whole() may be given now; more than one only if the step gathers them.
    bool trains_whole();
    std::size_t steps_at_once(DueSteps const& due);
    void train_whole(DueSteps const& due);

    // The outputs in float32, whatever the precision. No gradients are recorded. With graphs they lie where the next ones
    // will lie, too.
    at::Tensor evaluate(at::Tensor const& x);

    // x, through Network::frozen_start() as in evaluation, in float32.
    at::Tensor start_outputs(at::Tensor const& x);

    double loss_sum() const;  // over the rows since begin_unit; waits for the device
    void set_loss_sum(double sum);

private:
    void report_gradients();
    void schedule(UpdateAt const& now);

    // As CUDA graphs (step_captured.cpp).
    class Part;
    class Outputs;
    bool captures();  // the workspace has graphs, and this step can be captured
    char const* against_graphs() const;
    double rounding() const;  // by which a graph's first replay may differ in fast mode
    std::uint64_t structure();
    std::shared_ptr<void const> kept() const;
    GraphKey key(GraphKey::Part part, DueSteps const& due);
    void run_captured(GraphKey::Part part, DueSteps const& due);
    at::Tensor evaluate_captured(at::Tensor const& x);

    std::shared_ptr<StepCore> core_;
    std::shared_ptr<StepMemory> memory_;
    StepIdentity identity_;
    TrainConfig train_;
    Workspace::Impl& workspace_;
    std::array<void const*, 3> bound_{};  // addresses of the state, the gradient and the accumulated gradient
    std::uint64_t bound_moves_ = 0;       // Workspace::Impl::moves() then: new memory may lie at an old address
    std::uint64_t structure_ = 0;         // number of the structure's text; 0: not asked for yet
    char const* explained_ = nullptr;
    Weights weights_ = Weights::trained;
    std::vector<std::int64_t> output_sizes_;  // of a row; empty: not known yet
    std::int64_t accumulated_rows_ = 0;
    std::set<std::int64_t> tried_rows_;
    SumOverGroup sum_;
    GradientReady const* on_gradient_ = nullptr;  // of the pass under way
};

}  // namespace hopscotch
