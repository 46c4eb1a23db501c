// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/step_core.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <optional>

#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_numbers.hpp"
#include "tensor/step/leaves.hpp"

namespace hopscotch {
namespace {

std::int64_t in_floats(std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(float)); }

// Without autograd's records of views: nothing is differentiated through the flat tensor, and the records may take longer
// than a unit.
at::Tensor view_of(at::Tensor const& flat, StateTensor const& tensor) {
    at::AutoDispatchBelowADInplaceOrView const unrecorded;
    auto const part = flat.narrow(0, in_floats(tensor.offset), in_floats(tensor.bytes));
    return (tensor.element == Element::int64 ? part.view(at::kLong) : part).view(tensor.shape);
}

std::size_t aligned_bytes(std::size_t bytes) {
    return (bytes + k_state_alignment - 1) / k_state_alignment * k_state_alignment;
}

std::pair<std::size_t, std::size_t> padded_range(StateTensor const& tensor) {
    return {tensor.offset / sizeof(float), aligned_bytes(tensor.offset + tensor.bytes) / sizeof(float)};
}

void add_parameters(StepMemory& memory, StepBlocks const& blocks, Network const& network, StateLayout const& layout,
                    FrozenParameters const& frozen) {
    auto& trained = memory.trained;
    auto const& specs = network.parameters();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        bool const is_frozen = i < frozen.size() && frozen[i].defined();
        auto const* tensor = is_frozen ? nullptr : &layout.find(specs[i].name);
        trained.parameters.push_back(is_frozen ? frozen[i] : view_of(blocks.floats, *tensor));
        trained.gradients.push_back(is_frozen ? at::Tensor() : view_of(blocks.gradient, *tensor));
        memory.ranges.push_back(is_frozen ? std::pair<std::size_t, std::size_t>{} : padded_range(*tensor));
        if (memory.averaged.defined())
            memory.averaged_views.push_back(is_frozen ? frozen[i] : view_of(memory.averaged, *tensor));
    }
}

// bf16 for the operators that gain by it, on this thread until the end of its scope.
class Autocast {
public:
    explicit Autocast(at::DeviceType device) : device_(device), was_(at::autocast::is_autocast_enabled(device)) {
        at::autocast::set_autocast_dtype(device_, at::kBFloat16);
        at::autocast::set_autocast_enabled(device_, true);
        at::autocast::increment_nesting();
    }
    ~Autocast() {
        // The cached bf16 copies of the weights are stale after the next update.
        if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(device_, was_);
    }
    Autocast(Autocast const&) = delete;
    Autocast& operator=(Autocast const&) = delete;

private:
    at::DeviceType device_;
    bool was_;
};

template <class Forward>
at::Tensor in_precision(Precision precision, at::Device device, Forward forward) {
    if (precision == Precision::fp32) return forward();
    Autocast const bf16(device.type());
    return forward().to(at::kFloat);
}

}  // namespace

std::int64_t StepCore::gradient_floats(std::int64_t parameters) const {
    if (!has_leaves()) return parameters;
    auto const first = in_floats(aligned_bytes(static_cast<std::size_t>(parameters) * sizeof(float)));
    return first + Leaves::memory_floats(network_->parameters(), leaf_options());
}

// Gradient and leaves in one block, so that one address stands for both.
StepBlocks StepCore::blocks(at::Tensor const& floats, std::int64_t parameters) const {
    StepBlocks out{floats, {}, train_.accumulate > 1 ? workspace_.accumulated(parameters) : at::Tensor(), {}};
    auto const all = workspace_.gradient(gradient_floats(parameters));
    at::AutoDispatchBelowADInplaceOrView const unrecorded;
    out.gradient = all.narrow(0, 0, parameters);
    if (!has_leaves()) return out;
    auto const leaves = Leaves::memory_floats(network_->parameters(), leaf_options());
    out.leaves = all.narrow(0, all.size(0) - leaves, leaves);
    return out;
}

std::shared_ptr<StepMemory> StepCore::memory(StepBlocks const& blocks, StateLayout const& layout,
                                             FrozenParameters const& frozen) const {
    auto out = std::make_shared<StepMemory>();
    auto const& floats = blocks.floats;
    auto const length = in_floats(layout.end_of(Block::parameter)), slots_end = in_floats(layout.end_of(Block::slot));
    out->parameters = floats.narrow(0, 0, length);
    out->trainable = floats.narrow(0, 0, slots_end);
    out->buffers = floats.narrow(0, slots_end, floats.size(0) - slots_end);
    out->gradient = blocks.gradient;
    out->accumulated = blocks.accumulated;
    for (auto const& slot : slot_ranges(layout)) {
        auto const values = floats.narrow(0, static_cast<std::int64_t>(slot.first), length);
        if (slot.kind == k_ema_slot)
            out->averaged = values;
        else if (slot.kind != k_outer_slot)
            out->slots.push_back(values);
    }
    add_parameters(*out, blocks, *network_, layout, frozen);
    // With version counters of their own: batch norm writes into buffers between the forward and the backward pass.
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::buffer) out->trained.buffers.push_back(view_of(floats.variable_data(), tensor));
    out->decayed = static_cast<std::int64_t>(end_of_decay(layout, train_.optimizer));
    if (blocks.leaves.defined())
        out->leaves = std::make_shared<Leaves>(*workspace_.gpu.copies, out->trained, blocks.leaves, leaf_options());
    return out;
}

StepCore::StepCore(std::unique_ptr<Network> network, TrainConfig const& train, Workspace::Impl& workspace)
    : network_(std::move(network)),
      train_(train),
      loss_(train, workspace.device),
      optimizer_(train.optimizer),
      workspace_(workspace),
      loss_sum_(workspace.gpu.numbers ? workspace.gpu.numbers->loss_sum()
                                      : at::zeros({}, at::TensorOptions(workspace.device).dtype(at::kDouble))) {
    if (train_.arithmetic.precision == Precision::bf16) network_->use_autograd();
}

StepCore::~StepCore() = default;

bool StepCore::has_leaves() const {
    return workspace_.gpu.copies && network_->kind() == Backward::autograd && network_->convolutions() != nullptr;
}

LeafOptions StepCore::leaf_options() const {
    return {*network_->convolutions(), train_.arithmetic.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat,
            train_.arithmetic.channels_last};
}

void StepCore::bind(std::shared_ptr<StepMemory const> const& memory, Step::Weights weights) {
    if (bound_ == memory && weights_ == weights) return;
    auto tensors = memory->leaves ? memory->leaves->tensors() : memory->trained;
    if (weights == Step::Weights::averaged) {
        tensors.parameters = memory->averaged_views;
        tensors.gradients.assign(memory->averaged_views.size(), at::Tensor());
    }
    network_->bind(std::move(tensors));
    if (bound_ != memory && !workspace_.gpu.numbers)
        optimizer_.bind(memory->parameters, memory->update_gradient(), memory->slots, memory->decayed);
    bound_ = memory;
    weights_ = weights;
}

at::Tensor StepCore::forward(at::Tensor const& x, Pass const& pass) {
    return in_precision(train_.arithmetic.precision, workspace_.device, [&] { return network_->forward(x, pass); });
}

Pass StepCore::evaluation() const {
    return {.channels_last = train_.arithmetic.channels_last, .norm = workspace_.gpu.norm.get()};
}

at::Tensor StepCore::evaluate(at::Tensor const& x) {
    c10::InferenceMode const unrecorded;
    if (bound_->leaves && weights_ == Step::Weights::trained) bound_->leaves->bring_weights();
    return forward(x, evaluation());
}

at::Tensor StepCore::start_outputs(at::Tensor const& x) {
    c10::InferenceMode const unrecorded;
    return in_precision(train_.arithmetic.precision, workspace_.device,
                        [&] { return network_->frozen_start()->outputs(x, evaluation()); });
}

at::Tensor StepCore::compute_gradient(at::Tensor const& x, at::Tensor const& y, SumOverGroup const* sum) {
    auto* const leaves = bound_->leaves.get();
    std::optional<c10::InferenceMode> unrecorded;
    if (leaves != nullptr) {
        leaves->forget_gradients();
        leaves->bring_weights();
    } else if (network_->kind() == Backward::autograd) {
        bound_->gradient.zero_();  // autograd adds
    } else {
        unrecorded.emplace();
    }
    auto const outputs = forward(x, {&workspace_.noise, sum, train_.arithmetic.channels_last, workspace_.gpu.norm.get()});
    auto const [loss, gradient] = loss_.mean(outputs, y);
    network_->backward(outputs, gradient);
    if (leaves != nullptr) leaves->collect_gradients();
    return loss;
}

void StepCore::count_loss(at::Tensor const& loss, std::int64_t rows) {
    std::optional<c10::InferenceMode> unrecorded;
    if (network_->kind() != Backward::autograd) unrecorded.emplace();
    loss_sum_.add_(loss, rows);
}

}  // namespace hopscotch
