// SPDX-License-Identifier: Apache-2.0
#include "model/step/step.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <optional>
#include <utility>

#include "experiment/config.hpp"
#include "model/feed/workspace_impl.hpp"
#include "model/step/loss.hpp"
#include "model/step/optimizer.hpp"

namespace hopscotch {
namespace {

std::int64_t in_floats(std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(float)); }

// Without autograd's records of views: nothing is differentiated through the flat tensor, and a unit may take less time than
// they do.
at::Tensor view_of(at::Tensor const& flat, StateTensor const& tensor) {
    at::AutoDispatchBelowADInplaceOrView const unrecorded;
    auto const part = flat.narrow(0, in_floats(tensor.offset), in_floats(tensor.bytes));
    return (tensor.element == Element::int64 ? part.view(at::kLong) : part).view(tensor.shape);
}

std::pair<std::size_t, std::size_t> padded_range(StateTensor const& tensor) {
    auto const end = (tensor.offset + tensor.bytes + k_state_alignment - 1) / k_state_alignment * k_state_alignment;
    return {tensor.offset / sizeof(float), end / sizeof(float)};
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

}  // namespace

Step::Step(std::unique_ptr<Network> network, std::string name, TrainConfig const& train, Workspace::Impl& workspace)
    : network_(std::move(network)),
      name_(std::move(name)),
      train_(train),
      optimizer_(std::make_unique<Optimizer>(train.optimizer, workspace.device)),
      loss_(std::make_unique<Loss>(train, workspace.device)),
      workspace_(workspace),
      loss_sum_(at::zeros({}, at::TensorOptions(workspace.device).dtype(at::kDouble))) {
    if (train_.precision == Precision::bf16) network_->use_autograd();
}

Step::~Step() { forget_graphs(); }

void Step::bind(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen) {
    auto const length = in_floats(layout.end_of(Block::parameter));
    gradient_ = workspace_.gradient(length);
    if (train_.accumulate > 1) accumulated_ = workspace_.accumulated(length);
    auto const address = [](at::Tensor const& each) { return each.defined() ? each.const_data_ptr() : nullptr; };
    std::array const now{address(floats), address(gradient_), address(accumulated_)};
    // A second binding of the same tensors to the network would report its gradients twice.
    bool const is_bound = now == std::exchange(bound_, now) && weights_ == Weights::trained && !trained_.on_gradient;
    if (!is_bound) bind_views(floats, layout, frozen);
}

void Step::bind_views(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen) {
    auto const length = in_floats(layout.end_of(Block::parameter)), slots_end = in_floats(layout.end_of(Block::slot));
    parameters_ = floats.narrow(0, 0, length);
    trainable_ = floats.narrow(0, 0, slots_end);
    buffers_ = floats.narrow(0, slots_end, floats.size(0) - slots_end);
    averaged_ = at::Tensor();
    std::vector<at::Tensor> optimizer_slots;
    for (auto const& slot : slot_ranges(layout)) {
        auto const values = floats.narrow(0, static_cast<std::int64_t>(slot.first), length);
        if (slot.kind == k_ema_slot)
            averaged_ = values;
        else if (slot.kind != k_outer_slot)
            optimizer_slots.push_back(values);
    }
    bind_network(floats, layout, frozen);
    auto const decayed = static_cast<std::int64_t>(end_of_decay(layout, train_.optimizer));
    optimizer_->bind(parameters_, gradient(), optimizer_slots, decayed);
}

void Step::bind_network(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen) {
    trained_ = {};
    averaged_views_.clear();
    ranges_.clear();
    auto const& specs = network_->parameters();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        bool const is_frozen = i < frozen.size() && frozen[i].defined();
        auto const* tensor = is_frozen ? nullptr : &layout.find(specs[i].name);
        trained_.parameters.push_back(is_frozen ? frozen[i] : view_of(floats, *tensor));
        trained_.gradients.push_back(is_frozen ? at::Tensor() : view_of(gradient_, *tensor));
        ranges_.push_back(is_frozen ? std::pair<std::size_t, std::size_t>{} : padded_range(*tensor));
        if (averaged_.defined()) averaged_views_.push_back(is_frozen ? frozen[i] : view_of(averaged_, *tensor));
    }
    // With version counters of their own: batch norm writes into buffers between the forward and the backward pass.
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::buffer) trained_.buffers.push_back(view_of(floats.variable_data(), tensor));
    network_->bind(trained_);
    weights_ = Weights::trained;
}

void Step::use(Weights weights) {
    if (train_.ema == 0 || weights == weights_) return;
    weights_ = weights;
    auto tensors = trained_;
    if (weights == Weights::averaged) {
        tensors.parameters = averaged_views_;
        tensors.gradients.assign(averaged_views_.size(), at::Tensor());
    }
    network_->bind(std::move(tensors));
}

// The gradient is shared with models of other layouts, whose values may lie where this one has padding.
void Step::begin_unit() {
    gradient_.zero_();
    if (accumulated_.defined()) accumulated_.zero_();
    accumulated_rows_ = 0;
    loss_sum_.zero_();
}

at::Tensor Step::forward(at::Tensor const& x, Pass const& pass) {
    if (train_.precision == Precision::fp32) return network_->forward(x, pass);
    Autocast const bf16(workspace_.device.type());
    return network_->forward(x, pass).to(at::kFloat);
}

at::Tensor Step::evaluate(at::Tensor const& x) {
    c10::InferenceMode const unrecorded;
    return forward(x, {.channels_last = train_.channels_last});
}

// Hooks cost a little in every pass, so a trial that trains alone has none.
void Step::report_gradients() {
    trained_.on_gradient = [this](std::size_t parameter) {
        if (on_gradient_ != nullptr) (*on_gradient_)(ranges_[parameter].first, ranges_[parameter].second);
    };
    network_->bind(trained_);
}

// What a graph holds: forward, backward and the sum of losses, on memory that is the same in every step.
void Step::compute_gradient(at::Tensor const& x, at::Tensor const& y) {
    bool const recorded = network_->kind() == Backward::autograd;
    std::optional<c10::InferenceMode> unrecorded;
    if (recorded)
        gradient_.zero_();  // autograd adds
    else
        unrecorded.emplace();
    auto const outputs = forward(x, {&workspace_.noise, sum_ ? &sum_ : nullptr, train_.channels_last});
    auto const [loss, gradient] = loss_->mean(outputs, y);
    network_->backward(outputs, gradient);
    loss_sum_.add_(loss, x.size(0));
}

void Step::forward_backward(Batch const& batch, std::uint64_t noise_key, GradientReady const& on_gradient) {
    if (on_gradient && !trained_.on_gradient) report_gradients();
    on_gradient_ = on_gradient && train_.accumulate == 1 ? &on_gradient : nullptr;
    if (captures()) {
        captured_gradient(batch, noise_key);
    } else {
        workspace_.noise.seed(noise_key);
        compute_gradient(batch.x, batch.y);
    }
    on_gradient_ = nullptr;
    auto const rows = batch.x.size(0);
    if (train_.accumulate > 1 && accumulated_rows_ == 0) accumulated_.zero_();  // who updates may be another than this step
    accumulated_rows_ += rows;
    if (train_.accumulate > 1) accumulated_.add_(gradient_, static_cast<double>(rows));
}

// The gradient is computed anew, noise comes from a key, and the loss is added last: only batch norm has left traces.
std::function<void()> Step::way_back(std::int64_t rows) {
    if (sum_) return {};  // the others of the group have their part of the sums by now
    bool const is_first = tried_rows_.insert(rows).second;
    if (buffers_.numel() == 0) return [] {};
    if (!is_first) return {};
    at::NoGradGuard const unrecorded;
    return [buffers = buffers_, before = buffers_.clone()] {
        at::NoGradGuard const still_unrecorded;
        buffers.copy_(before);
    };
}

at::Tensor const& Step::gradient() const { return train_.accumulate > 1 ? accumulated_ : gradient_; }

void Step::finish_gradient() {
    if (train_.accumulate > 1) accumulated_.div_(static_cast<double>(accumulated_rows_));
    accumulated_rows_ = 0;
}

void Step::clip() {
    auto const& gradient = this->gradient();
    if (train_.clip_value) gradient.clamp_(-*train_.clip_value, *train_.clip_value);
    if (!train_.clip_norm) return;
    // torch.nn.utils.clip_grad_norm_, without reading the norm back.
    auto const norm = at::linalg_vector_norm(gradient, 2);
    gradient.mul_((*train_.clip_norm / (norm + 1e-6)).clamp_max_(1.0));
}

void Step::apply_update() {
    if (train_.clip_value || train_.clip_norm) clip();
    optimizer_->apply();
    if (averaged_.defined()) averaged_.lerp_(parameters_, 1 - train_.ema);
}

void Step::update(double lr, std::int64_t step) {
    if (captures()) return captured_update(lr, step);
    optimizer_->schedule(lr, step);
    apply_update();
}

double Step::loss_sum() const { return loss_sum_.item<double>(); }

void Step::set_loss_sum(double sum) { loss_sum_.fill_(sum); }

}  // namespace hopscotch
