// SPDX-License-Identifier: Apache-2.0
// The two parts of a step that become CUDA graphs. A graph has frozen addresses and kernel arguments: the batch is copied to
// where it reads it, seed and learning rate lie in memory of the device. Between the two a strategy may combine gradients.
#include "model/feed/workspace_impl.hpp"
#include "model/gpu/step_graphs.hpp"
#include "model/step/optimizer.hpp"
#include "model/step/step.hpp"

namespace hopscotch {

class Step::GradientPart final : public StepPart {
public:
    GradientPart(Step& step, Batch const& batch, std::uint64_t noise_key)
        : StepPart(*step.workspace_.graphs),
          step_(step),
          batch_(batch),
          noise_key_(noise_key),
          x_(step.workspace_.graph_features(batch.x)),
          y_(step.workspace_.graph_answers(batch.y)) {}

    GraphKey key() const {
        auto key = step_.key(GraphKey::Part::gradient, x_.size(0));
        key.memory[2] = reinterpret_cast<std::uintptr_t>(x_.const_data_ptr());
        key.memory[3] = reinterpret_cast<std::uintptr_t>(y_.const_data_ptr());
        return key;
    }

protected:
    void prepare() override {
        x_.copy_(batch_.x, /*non_blocking=*/true);
        y_.copy_(batch_.y, /*non_blocking=*/true);
        seed(noise_key_);
    }
    void pretend() override { seed(~noise_key_); }
    std::function<void()> work() const override {
        return [&step = step_, x = x_, y = y_] { step.compute_gradient(x, y); };
    }
    std::vector<Result> results() const override {
        return {{"the gradient", step_.gradient_}, {"the loss", step_.loss_sum_}, {"a buffer", step_.buffers_}};
    }

private:
    // At once: a captured step reads the seed, and never asks for the generator.
    void seed(std::uint64_t key) const {
        step_.workspace_.noise.seed(key);
        step_.workspace_.noise.generator();
    }

    Step& step_;
    Batch const& batch_;
    std::uint64_t noise_key_;
    at::Tensor x_, y_;
};

class Step::UpdatePart final : public StepPart {
public:
    UpdatePart(Step& step, double lr, std::int64_t number)
        : StepPart(*step.workspace_.graphs), step_(step), lr_(lr), number_(number) {}

protected:
    void prepare() override { step_.optimizer_->schedule(lr_, number_); }
    void pretend() override { step_.optimizer_->schedule(2 * lr_ + 1, number_ + 1); }
    std::function<void()> work() const override {
        return [&step = step_] { step.apply_update(); };
    }
    std::vector<Result> results() const override {
        return {{"the state", step_.trainable_}, {"the gradient", step_.gradient()}};
    }

private:
    Step& step_;
    double lr_;
    std::int64_t number_;
};

char const* Step::against_graphs() const {
    if (auto const* reason = network_->against_graphs()) return reason;
    if (sum_) return "batch norm adds up over the trainers on the host";
    if (on_gradient_ != nullptr) return "gradients are handed over while others are computed";
    return nullptr;
}

bool Step::captures() {
    if (!workspace_.graphs) return false;
    auto const* const reason = against_graphs();
    if (reason != nullptr && reason != explained_) workspace_.graphs->cache.explain(name_, reason);
    if (reason != nullptr) explained_ = reason;
    return reason == nullptr;
}

GraphKey Step::key(GraphKey::Part part, std::int64_t rows) const {
    auto const address = [](at::Tensor const& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()); };
    auto const& gradient = part == GraphKey::Part::update ? this->gradient() : gradient_;
    return {reinterpret_cast<std::uintptr_t>(this), part, rows, {address(trainable_), address(gradient)}};
}

void Step::captured_gradient(Batch const& batch, std::uint64_t noise_key) {
    GradientPart part(*this, batch, noise_key);
    workspace_.graphs->cache.run(part.key(), name_, part);
}

void Step::captured_update(double lr, std::int64_t step) {
    UpdatePart part(*this, lr, step);
    workspace_.graphs->cache.run(key(GraphKey::Part::update, 0), name_, part);
}

void Step::forget_graphs() {
    if (workspace_.graphs) workspace_.graphs->cache.forget(reinterpret_cast<std::uintptr_t>(this));
}

}  // namespace hopscotch
