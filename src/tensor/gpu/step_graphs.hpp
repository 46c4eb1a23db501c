// SPDX-License-Identifier: Apache-2.0
// A step as CUDA graphs: the capturer, and parts that know which tensors to compare in the self-check. The capturer is
// CUDA's (cuda_capture.hpp), or a fake that computes on a CPU.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/gpu/graph_cache.hpp"

namespace hopscotch {

class GraphCapturer {
public:
    virtual ~GraphCapturer() = default;
    virtual std::unique_ptr<Graph> capture(std::function<void()> const& work) = 0;  // throws; torch is as before then
    // Returns torch's spare memory to the driver, once the work that was launched is done. Throws if that takes too long: it
    // may wait for other trainers.
    virtual void give_back_memory() = 0;
};

// How exactly the first replay must agree. bits: the same kernels give the same bits; rounding: kernels add in any order.
enum class Agreement { bits, rounding };

// The number of batches that one launch trains. Several small ones, since the host launches them more slowly than the device
// computes them. One large one, for which there is no gain. multiply_adds: of a batch, forward.
std::size_t steps_of_a_launch(double multiply_adds);

// Numbers of the structures that trials of this workspace have.
class Structures {
public:
    std::uint64_t number(std::string const& text) { return numbers_.try_emplace(text, numbers_.size() + 1).first->second; }
    // A step draws random numbers, which it seeds by itself: so a launch has one step.
    void draws_noise(std::uint64_t structure) { noisy_.insert(structure); }
    bool is_noisy(std::uint64_t structure) const { return noisy_.contains(structure); }

private:
    std::map<std::string, std::uint64_t> numbers_;
    std::set<std::uint64_t> noisy_;
};

struct StepGraphs {
    StepGraphs(std::unique_ptr<GraphCapturer> by, Agreement wanted, GraphCache::Say say)
        : capturer(std::move(by)), agreement(wanted), cache(std::move(say)) {}

    std::unique_ptr<GraphCapturer> capturer;
    Agreement agreement;
    Structures structures;
    GraphCache cache;  // after the capturer: graphs are destroyed first
};

// A part of a step on fixed memory. Derived classes define its work; prepare() brings in the values that differ from step to
// step.
class StepPart : public GraphPart {
public:
    // Of the norm, with Agreement::rounding: far above the effect of TF32 and orders of addition, far below a step. In bf16
    // sums in another order differ by more, and 50 layers carry the difference on.
    static constexpr double k_rounding = 1e-3, k_rounding_of_bf16 = 2e-2;

    explicit StepPart(StepGraphs& graphs, double rounding = k_rounding) : graphs_(graphs), rounding_(rounding) {}

    void run() final;
    void replay(Graph& graph) final;
    Captured capture() final;

protected:
    struct Result {
        char const* name;
        at::Tensor values;
    };
    virtual void prepare() = 0;  // brings the arguments of this step to where the work reads them
    virtual void pretend() = 0;  // brings in those of another step: the first replay of a graph that froze them differs
    virtual std::function<void()> work() const = 0;  // only launches; must not refer to this part, which ends with its step
    virtual std::shared_ptr<void const> keeps() const = 0;  // owns the memory that the work names, as long as a graph lives
    virtual std::vector<Result> results() const = 0;        // all that work() changes and that outlives it

private:
    std::unique_ptr<Graph> captured();
    std::string differs(std::vector<at::Tensor> const& expected, std::vector<Result> const& found) const;
    bool agree(at::Tensor const& expected, at::Tensor const& found) const;

    StepGraphs& graphs_;
    double rounding_;
};

}  // namespace hopscotch
