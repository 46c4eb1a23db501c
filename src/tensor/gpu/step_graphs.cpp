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

std::unique_ptr<Graph> StepPart::captured() {
    PartTimer const timing(UnitPart::capture);
    pretend();
    auto const once = [&] { return std::make_unique<KeepingGraph>(graphs_.capturer->capture(work()), keeps()); };
    try {
        return once();
    } catch (c10::OutOfMemoryError const&) {  // during a capture, torch gives none of its spare memory to other threads
    }
    graphs_.capturer->give_back_memory();
    return once();
}

void StepPart::replay(Graph& graph) {
    prepare();
    graph.replay();
}

GraphPart::Captured StepPart::capture() {
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
    } catch (...) {  // no memory: batch norm may be half done
        put(before);
        throw;
    }
    for (std::size_t i = 0; i < results.size(); ++i) after[i].copy_(results[i].values);
    Captured out;
    try {
        out.graph = captured();
    } catch (std::exception const& error) {
        return {nullptr, std::string("capturing failed: ") + error.what()};
    }
    try {
        put(before);
        replay(*out.graph);
        out.problem = differs(after, results);
    } catch (std::exception const& error) {
        out.problem = error.what();
    }
    if (out.problem.empty()) return out;
    put(after);
    return {nullptr, "the first replay was wrong: " + out.problem};
}

std::string StepPart::differs(std::vector<at::Tensor> const& expected, std::vector<Result> const& found) const {
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!agree(expected[i], found[i].values)) return std::string(found[i].name) + " differs";
    return {};
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
