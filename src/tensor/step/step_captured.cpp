// SPDX-License-Identifier: Apache-2.0
// The parts of a step that become CUDA graphs. A graph has frozen addresses and kernel arguments. Values that differ from
// step to step, or between trials of one structure, lie in memory of the device: state and gradient in blocks of the
// workspace, numbers in its StepBlock, and the seed where torch's generator keeps it.
//   gradient, update   two graphs, between which a strategy combines gradients
//   step               both as one, where nothing is combined
//   gathering          the same, and the batch is gathered from the shard by its number, which the device counts
//   several            some of these in a row: one launch for all
// And the forward pass of a validation, whose outputs lie in a block of the workspace.
#include <algorithm>

#include "model/gpu/update_numbers.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_graphs.hpp"
#include "tensor/gpu/step_numbers.hpp"
#include "tensor/step/step.hpp"
#include "tensor/step/step_core.hpp"

namespace hopscotch {
namespace {

bool gathers(GraphKey::Part part) { return part == GraphKey::Part::gathering || part == GraphKey::Part::several; }
bool computes(GraphKey::Part part) { return part != GraphKey::Part::update; }
bool updates(GraphKey::Part part) { return part != GraphKey::Part::gradient; }

std::uintptr_t address(at::Tensor const& tensor) {
    return tensor.defined() ? reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) : 0;
}

GatherSize gather_size(Batch const& batch) {
    if (!batch.x.defined()) return {};
    auto const rows = batch.x.size(0);
    return {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(batch.x.numel() / rows),
            static_cast<std::uint32_t>(batch.y.numel() / rows)};
}

}  // namespace

class Step::Part final : public StepPart {
public:
    Part(Step& step, GraphKey::Part part, DueSteps const& due)
        : StepPart(*step.workspace_.gpu.graphs,
                   step.rounding() * static_cast<double>(std::max<std::size_t>(1, due.updates.size()))),
          step_(step),
          part_(part),
          due_(due) {}

    int warm_ups() const override { return part_ == GraphKey::Part::several ? 0 : GraphCache::k_warm_ups; }

protected:
    void prepare() override {
        bring(due_.first, {0, 0});
        if (computes(part_)) step_.workspace_.noise.seed_now(due_.noise_key);
    }
    void pretend() override {
        bring(due_.first + 1, {1, 1});
        if (computes(part_)) step_.workspace_.noise.seed_now(~due_.noise_key);
    }

    std::shared_ptr<void const> keeps() const override { return step_.kept(); }
    std::function<void()> work() const override {
        return [core = step_.core_, memory = step_.memory_, numbers = step_.workspace_.gpu.numbers.get(), part = part_,
                batch = due_.batch, size = gather_size(due_.batch), steps = std::max<std::size_t>(1, due_.updates.size())] {
            core->bind(memory);
            for (std::size_t i = 0; i < steps; ++i) {
                at::Tensor loss;
                if (gathers(part)) numbers->gather(size);
                if (computes(part)) loss = core->compute_gradient(batch.x, batch.y, nullptr);
                if (updates(part)) core->apply_update();
                if (computes(part)) core->count_loss(loss, batch.x.size(0));
                if (gathers(part)) numbers->advance();
            }
        };
    }

    std::vector<Result> results() const override {
        auto const& memory = *step_.memory_;
        std::vector<Result> out;
        if (updates(part_)) out.push_back({"the state", memory.trainable});
        if (computes(part_)) out.push_back({"the gradient", memory.gradient});
        if (part_ == GraphKey::Part::update) out.push_back({"the gradient", memory.update_gradient()});
        if (computes(part_)) out.push_back({"the loss", step_.core_->loss_sum()});
        if (computes(part_)) out.push_back({"a buffer", memory.buffers});
        return out;
    }

private:
    // other: added, to pretend.
    void bring(std::uint32_t first, UpdateAt const& other) const {
        if (!updates(part_)) return;
        std::vector<StepEntry> entries;
        for (auto const& each : due_.updates)
            entries.push_back(
                step_entry(step_.train_.optimizer, each.lr * (1 + other.lr) + other.lr, each.step + other.step));
        step_.workspace_.gpu.numbers->load(update_numbers(step_.train_));
        step_.workspace_.gpu.numbers->launch(first, entries);
    }

    Step& step_;
    GraphKey::Part part_;
    DueSteps const& due_;
};

class Step::Outputs final : public StepPart {
public:
    Outputs(Step& step, at::Tensor x, at::Tensor outputs)
        : StepPart(*step.workspace_.gpu.graphs, step.rounding()),
          step_(step),
          x_(std::move(x)),
          outputs_(std::move(outputs)) {}

    int warm_ups() const override { return GraphCache::k_warm_ups; }

protected:
    void prepare() override {}
    void pretend() override {}

    std::shared_ptr<void const> keeps() const override { return step_.kept(); }
    std::function<void()> work() const override {
        return [core = step_.core_, memory = step_.memory_, weights = step_.weights_, x = x_, outputs = outputs_] {
            core->bind(memory, weights);
            outputs.copy_(core->evaluate(x));
        };
    }
    std::vector<Result> results() const override { return {{"an output", outputs_}}; }

private:
    Step& step_;
    at::Tensor x_, outputs_;
};

// The memory that a graph names besides blocks of the workspace. Not the batch: its buffer may have grown, and other graphs
// read the new one.
std::shared_ptr<void const> Step::kept() const {
    return std::make_shared<std::pair<std::shared_ptr<StepCore>, std::shared_ptr<StepMemory>>>(core_, memory_);
}

double Step::rounding() const {
    return train_.arithmetic.precision == Precision::bf16 ? StepPart::k_rounding_of_bf16 : StepPart::k_rounding;
}

char const* Step::against_graphs() const {
    if (auto const* reason = network().against_graphs()) return reason;
    if (sum_) return "batch norm adds up over the trainers on the host";
    if (on_gradient_ != nullptr) return "gradients are handed over while others are computed";
    return nullptr;
}

bool Step::captures() {
    if (!workspace_.gpu.graphs) return false;
    auto const* const reason = against_graphs();
    if (reason != nullptr && reason != explained_) workspace_.gpu.graphs->cache.explain(identity_.name, reason);
    if (reason != nullptr) explained_ = reason;
    return reason == nullptr;
}

bool Step::trains_whole() { return train_.accumulate == 1 && captures(); }

std::uint64_t Step::structure() {
    if (structure_ == 0) structure_ = workspace_.gpu.graphs->structures.number(identity_.structure);
    return structure_;
}

GraphKey Step::key(GraphKey::Part part, DueSteps const& due) {
    auto const& gradient = part == GraphKey::Part::update ? memory_->update_gradient() : memory_->gradient;
    auto const& batch = due.batch;
    return {structure(),
            part,
            batch.x.defined() ? batch.x.size(0) : 0,
            {address(memory_->trainable), address(gradient), address(batch.x), address(batch.y)}};
}

void Step::run_captured(GraphKey::Part part, DueSteps const& due) {
    auto& graphs = *workspace_.gpu.graphs;
    auto const draws = workspace_.noise.draws();
    auto const at = key(part, due);
    Part work(*this, part, due);
    graphs.cache.run(at, identity_.name, work);
    if (workspace_.noise.draws() != draws) graphs.structures.draws_noise(at.structure);
}

// Several steps: if a single one has been captured and checked, and no masks differ from step to step.
std::size_t Step::steps_at_once(DueSteps const& due) {
    auto const& graphs = *workspace_.gpu.graphs;
    auto const one = key(GraphKey::Part::gathering, due);
    if (!graphs.cache.keeps(one) || graphs.structures.is_noisy(one.structure)) return 1;
    if (graphs.cache.refuses(one.structure, GraphKey::Part::several)) return 1;
    return steps_of_a_launch(network().multiply_adds() * static_cast<double>(one.rows));
}

void Step::train_whole(DueSteps const& due) {
    auto part = due.is_there ? GraphKey::Part::step : GraphKey::Part::gathering;
    if (due.updates.size() > 1) part = GraphKey::Part::several;
    run_captured(part, due);
}

at::Tensor Step::evaluate_captured(at::Tensor const& x) {
    std::vector<std::int64_t> sizes{x.size(0)};
    sizes.insert(sizes.end(), output_sizes_.begin(), output_sizes_.end());
    auto const outputs = workspace_.outputs(c10::multiply_integers(sizes)).view(sizes);
    auto const& weights = weights_ == Weights::averaged ? memory_->averaged : memory_->trainable;
    Outputs work(*this, x, outputs);
    workspace_.gpu.graphs->cache.run({structure(),
                                      GraphKey::Part::outputs,
                                      x.size(0),
                                      {address(weights), address(memory_->gradient), address(x), address(outputs)}},
                                     identity_.name, work);
    return outputs;
}

}  // namespace hopscotch
