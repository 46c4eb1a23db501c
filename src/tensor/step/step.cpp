// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/step.hpp"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "core/unit_parts.hpp"
#include "model/gpu/update_numbers.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_numbers.hpp"
#include "tensor/step/step_core.hpp"

namespace hopscotch {

Step::Step(std::unique_ptr<Network> network, StepIdentity identity, TrainConfig const& train, Workspace::Impl& workspace)
    : core_(std::make_shared<StepCore>(std::move(network), train, workspace)),
      identity_(std::move(identity)),
      train_(train),
      workspace_(workspace) {}

Step::~Step() = default;

Network& Step::network() { return core_->network(); }
Network const& Step::network() const { return core_->network(); }

void Step::bind(at::Tensor const& floats, StateLayout const& layout, FrozenParameters const& frozen) {
    auto const length = static_cast<std::int64_t>(layout.end_of(Block::parameter) / sizeof(float));
    auto const blocks = core_->blocks(floats, length);
    auto const address = [](at::Tensor const& each) { return each.defined() ? each.const_data_ptr() : nullptr; };
    std::array const now{address(floats), address(blocks.gradient), address(blocks.accumulated)};
    auto const moves = workspace_.moves();
    bool const same = now == std::exchange(bound_, now) && moves == std::exchange(bound_moves_, moves);
    // A second binding of the same tensors to the network would report its gradients twice.
    bool const is_bound = same && weights_ == Weights::trained && !memory_->trained.on_gradient;
    if (is_bound) return;
    memory_ = core_->memory(blocks, layout, frozen);
    weights_ = Weights::trained;
    core_->bind(memory_);
}

std::int64_t Step::gradient_floats(std::int64_t parameters) const { return core_->gradient_floats(parameters); }

void Step::use(Weights weights) {
    if (train_.ema == 0 || weights == weights_) return;
    weights_ = weights;
    core_->bind(memory_, weights);
}

// Models of other layouts share the gradient, and their values may lie where this layout has padding.
void Step::begin_unit() {
    memory_->gradient.zero_();
    if (memory_->accumulated.defined()) memory_->accumulated.zero_();
    accumulated_rows_ = 0;
    core_->loss_sum().zero_();
}

at::Tensor Step::evaluate(at::Tensor const& x) {
    bool const captures = workspace_.gpu.graphs && network().against_graphs() == nullptr;
    if (captures && !output_sizes_.empty()) return evaluate_captured(x);
    core_->bind(memory_, weights_);
    auto out = core_->evaluate(x);
    if (captures) output_sizes_ = out.sizes().slice(1).vec();
    return out;
}

at::Tensor Step::start_outputs(at::Tensor const& x) {
    core_->bind(memory_, weights_);
    return core_->start_outputs(x);
}

// Hooks cost a little in every pass, so a trial that trains alone has none.
void Step::report_gradients() {
    memory_->trained.on_gradient = [this](std::size_t parameter) {
        auto const& [first, last] = memory_->ranges[parameter];
        if (on_gradient_ != nullptr) (*on_gradient_)(first, last);
    };
    memory_->leaves = nullptr;  // the gradients are in their place only when all of them are
    core_->bind_anew();
}

void Step::forward_backward(Batch const& batch, std::uint64_t noise_key, GradientReady const& on_gradient) {
    if (on_gradient && !memory_->trained.on_gradient) report_gradients();
    on_gradient_ = on_gradient && train_.accumulate == 1 ? &on_gradient : nullptr;
    if (captures()) {
        run_captured(GraphKey::Part::gradient, {batch, true, 0, {}, noise_key});
    } else {
        core_->bind(memory_);
        workspace_.noise.seed(noise_key);
        core_->count_loss(core_->compute_gradient(batch.x, batch.y, sum_ ? &sum_ : nullptr), batch.x.size(0));
    }
    on_gradient_ = nullptr;
    auto const rows = batch.x.size(0);
    auto const& accumulated = memory_->accumulated;
    if (train_.accumulate > 1 && accumulated_rows_ == 0) accumulated.zero_();  // another step may have updated
    accumulated_rows_ += rows;
    if (train_.accumulate > 1) accumulated.add_(memory_->gradient, static_cast<double>(rows));
}

// The gradient is computed anew, noise comes from a key, and update and loss come after all that needs memory: only batch
// norm has left traces.
std::function<void()> Step::way_back(std::int64_t rows) {
    if (sum_) return {};  // the other members have this trainer's part of the sums by now
    bool const is_first = tried_rows_.insert(rows).second;
    if (memory_->buffers.numel() == 0) return [] {};
    if (!is_first) return {};
    at::NoGradGuard const unrecorded;
    return [buffers = memory_->buffers, before = memory_->buffers.clone()] {
        at::NoGradGuard const still_unrecorded;
        buffers.copy_(before);
    };
}

at::Tensor const& Step::gradient() const { return memory_->update_gradient(); }

void Step::finish_gradient() {
    if (train_.accumulate > 1) memory_->accumulated.div_(static_cast<double>(accumulated_rows_));
    accumulated_rows_ = 0;
}

void Step::schedule(UpdateAt const& now) {
    if (!workspace_.gpu.numbers) return core_->schedule(now.lr, now.step);
    auto const entry = step_entry(train_.optimizer, now.lr, now.step);
    workspace_.gpu.numbers->load(update_numbers(train_));
    workspace_.gpu.numbers->launch(0, std::span(&entry, 1));
}

void Step::update(UpdateAt const& now) {
    if (captures()) return run_captured(GraphKey::Part::update, {{}, true, 0, std::span(&now, 1), 0});
    core_->bind(memory_);
    schedule(now);
    core_->apply_update();
}

double Step::loss_sum() const {
    PartTimer const timing(UnitPart::wait);
    return core_->loss_sum().item<double>();
}

void Step::set_loss_sum(double sum) { core_->loss_sum().fill_(sum); }

}  // namespace hopscotch
