// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/step_graphs.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

namespace hopscotch {
namespace {

constexpr double k_rounding = 1e-3;  // of the norm: far above what TF32 and orders of addition do, far below a step

}  // namespace

void StepPart::run() {
    prepare();
    work()();
}

void StepPart::warm_up() {
    prepare();
    graphs_.capturer->warm_up(work());
}

std::unique_ptr<Graph> StepPart::capture() {
    pretend();
    return graphs_.capturer->capture(work());
}

void StepPart::replay(Graph& graph) {
    prepare();
    graph.replay();
}

std::string StepPart::compare(Graph& graph) {
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
    } catch (...) {  // no memory beside the graph's: batch norm may have gone half of the way
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
    return norm(found.sub(expected)) <= k_rounding * norm(expected);
}

}  // namespace hopscotch
