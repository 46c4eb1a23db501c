// SPDX-License-Identifier: Apache-2.0
// A step as CUDA graphs: the capturer, and parts that know which tensors to compare in the self-check. The capturer is
// CUDA's (cuda_capture.hpp), or a fake that computes on a CPU.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/gpu/graph_cache.hpp"

namespace hopscotch {

class GraphCapturer {
public:
    virtual ~GraphCapturer() = default;
    virtual void warm_up(std::function<void()> const& work) = 0;  // computes, after all that was launched before
    virtual std::unique_ptr<Graph> capture(std::function<void()> const& work) = 0;  // throws; torch is as before then
};

// How exactly the first replay must agree. bits: the same kernels give the same bits; rounding: kernels add in any order.
enum class Agreement { bits, rounding };

struct StepGraphs {
    StepGraphs(std::unique_ptr<GraphCapturer> by, Agreement wanted, GraphCache::Say say)
        : capturer(std::move(by)), agreement(wanted), cache(std::move(say)) {}

    std::unique_ptr<GraphCapturer> capturer;
    Agreement agreement;
    GraphCache cache;  // behind the capturer: graphs go first
};

// A part of a step on fixed memory. Derived classes define its work; prepare() brings in the values that differ from step to
// step.
class StepPart : public GraphPart {
public:
    explicit StepPart(StepGraphs& graphs) : graphs_(graphs) {}

    void run() final;
    void warm_up() final;
    std::unique_ptr<Graph> capture() final;
    void replay(Graph& graph) final;
    std::string compare(Graph& graph) final;

protected:
    struct Result {
        char const* name;
        at::Tensor values;
    };
    virtual void prepare() = 0;  // brings the arguments of this step to where the work reads them
    virtual void pretend() = 0;  // brings in those of another step: the first replay of a graph that froze them differs
    virtual std::function<void()> work() const = 0;   // only launches; must not refer to this part, which ends with its step
    virtual std::vector<Result> results() const = 0;  // all that work() changes and that outlives it

private:
    bool agree(at::Tensor const& expected, at::Tensor const& found) const;

    StepGraphs& graphs_;
};

}  // namespace hopscotch
