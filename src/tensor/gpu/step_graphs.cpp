// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/step_graphs.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "core/unit_parts.hpp"

namespace hopscotch {
namespace {

// Launching a step of 20 kernels takes 100 us. A GPU does this many multiply-adds of a forward pass in about that time.
constexpr double k_multiply_adds_of_a_launch = 2e9;
constexpr std::size_t k_most_steps = 16;

class KeepingGraph final : public Graph {
public:
    KeepingGraph(std::unique_ptr<Graph> graph, std::shared_ptr<void const> kept)
        : kept_(std::move(kept)), graph_(std::move(graph)) {}
    void replay() override { graph_->replay(); }

private:
    std::shared_ptr<void const> kept_;
    std::unique_ptr<Graph> graph_;  // goes first
};

}  // namespace

std::size_t steps_of_a_launch(double multiply_adds) {
    if (multiply_adds >= k_multiply_adds_of_a_launch) return 1;
    return std::min(k_most_steps, static_cast<std::size_t>(k_multiply_adds_of_a_launch / std::max(1.0, multiply_adds)));
}

void StepPart::run() {
    prepare();
    work()();
}

std::unique_ptr<Graph> StepPart::capture() {
    PartTimer const timing(UnitPart::capture);
    pretend();
    auto const captured = [&] { return std::make_unique<KeepingGraph>(graphs_.capturer->capture(work()), keeps()); };
    try {
        return captured();
    } catch (c10::OutOfMemoryError const&) {  // during a capture, torch gives none of its spare memory to other threads
    }
    graphs_.capturer->give_back_memory();
    return captured();
}

void StepPart::replay(Graph& graph) {
    prepare();
    graph.replay();
}

std::string StepPart::compare(Graph& graph) {
    PartTimer const timing(UnitPart::compare);
    auto const results = this->results();
    std::vector<at::Tensor> before, after;
    for (auto const& result : results) {
        before.push_back(result.values.clone());
        after.push_back(at::empty_like(result.values));
    }
    auto const put = [&](std::vector<at::Tensor> const& values) {
        at::NoGradGuard const unrecorded;
        for (std::size_t i = 0; i < results.size(); ++i) results[i].values.copy_(values[i]);
    };
    try {
        run();
    } catch (...) {  // no memory beside the graph's: batch norm may be half done
        put(before);
        throw;
    }
    for (std::size_t i = 0; i < results.size(); ++i) after[i].copy_(results[i].values);
    std::string difference;
    try {
        put(before);
        replay(graph);
        for (std::size_t i = 0; i < results.size() && difference.empty(); ++i)
            if (!agree(after[i], results[i].values)) difference = std::string(results[i].name) + " differs";
    } catch (std::exception const& error) {
        difference = error.what();
    }
    if (!difference.empty()) put(after);
    return difference;
}

bool StepPart::agree(at::Tensor const& expected, at::Tensor const& found) const {
    // As integers: a NaN equals itself.
    auto const whole = expected.element_size() == 8 ? at::kLong : at::kInt;
    if (at::equal(expected.view(whole), found.view(whole))) return true;
    if (graphs_.agreement == Agreement::bits) return false;
    auto const norm = [](at::Tensor const& values) { return values.to(at::kDouble).norm().item<double>(); };
    return norm(found.sub(expected)) <= rounding_ * norm(expected);
}

}  // namespace hopscotch
