// SPDX-License-Identifier: Apache-2.0
// A network: views into a flat state and a forward and a backward pass over them. It owns no weights.
#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/lean/group_calls.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

enum class Mode;
class Noise;
class NormDevice;

// autograd: forward runs with gradients recorded and backward() is torch's. written_out: the network computes its own
// gradients, which halves the time of small models (a step of a 64-64-10 MLP is all overhead).
enum class Backward { autograd, written_out };

enum class Clip { none, relu, relu6 };  // to at least 0; relu6: and at most 6

// The floats of a contiguous tensor in host memory.
inline std::span<float const> floats_of(at::Tensor const& tensor) {
    return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// One forward pass.
struct Pass {
    Noise* noise = nullptr;             // of dropout masks; null in evaluation
    SumOverGroup const* sum = nullptr;  // of batch statistics, over all trainers' rows of the step; null: of the own rows

    bool channels_last = true;         // how images lie in memory on their way through convolutions
    NormDevice const* norm = nullptr;  // computes batch norm where it can; null: torch's operators

    bool training() const { return noise != nullptr; }
};

// The tensors that a network computes on, in the order of its specs.
struct BoundTensors {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;  // undefined where the parameter is frozen
    std::vector<at::Tensor> buffers;    // float32, or int64
    // If given: called in every backward pass as soon as the gradient of this parameter is final, while others are still
    // being computed (on the thread that computes). It is not called for parameters that the pass does not use.
    std::function<void(std::size_t parameter)> on_gradient = {};
    // Backward passes find no gradient at the parameters and leave theirs in grad(), wherever it has been computed.
    // `gradients` only say which parameters are trained. Of a network with convolutions() alone.
    bool gradients_stay = false;
};

// A metric of the user's own, which comes with a plug-in: sums over the rows of each batch, added up in the order of the
// batches as the sums of the built-in metrics are, and a value of all rows.
struct NetworkMetric {
    std::string name;  // "val_cost"
    Mode mode = {};    // which values are better
    std::size_t sums = 1;
    // Both throw Error that names the metric and its file. Tensors are those of include/hopscotch/model.hpp.
    std::function<void(at::Tensor const& outputs, at::Tensor const& answers, std::span<double> sums)> add;
    std::function<double(std::span<double const> sums, std::int64_t rows)> value;
};

// A part of a network that is a chain (chain.hpp).
struct Stage {
    std::vector<std::int64_t> shape;          // of a row of its outputs
    std::size_t parameters = 0, buffers = 0;  // of the network up to the end of this stage
    double multiply_adds = 0;                 // likewise, of one row
};

// Frozen layers before a network (tail.hpp).
class FrozenStart {
public:
    virtual ~FrozenStart() = default;
    virtual std::vector<ParameterSpec> const& parameters() const = 0;
    virtual std::vector<BufferSpec> const& buffers() const = 0;
    virtual std::vector<std::int64_t> const& output_shape() const = 0;  // of a row

    // In the order of the specs, before the network after it is bound for the first time.
    virtual void bind(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers) = 0;

    // The network after it must be bound.
    virtual at::Tensor outputs(at::Tensor const& x, Pass const& evaluation) = 0;
};

class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<ParameterSpec> const& parameters() const = 0;
    virtual std::vector<BufferSpec> const& buffers() const = 0;
    virtual double multiply_adds() const = 0;  // of one row, forward
    // The module whose parameters are for these outputs alone ("fc."), which init_mode "head" leaves fresh; "": there is
    // none.
    virtual std::string head() const;
    virtual Backward kind() const { return Backward::autograd; }
    virtual void use_autograd() {}  // from now on kind() must be autograd (autocast needs it)

    // Values of the parameters, then of the buffers, for the trial with this key. Nothing: the specs say how they start, as
    // for all networks of the zoo.
    virtual std::optional<std::vector<at::Tensor>> initial_values(std::uint64_t) { return std::nullopt; }

    // Whether forward() draws from torch's own generator. All of a process share it, so only one trainer may run there.
    virtual bool draws_from_torch() const { return false; }

    // The reason why a training pass cannot be captured as a CUDA graph. Null: it can, since it only launches kernels on
    // fixed memory.
    virtual char const* against_graphs() const { return nullptr; }

    // By parameter: it is the weight of a convolution, which may be bound to a copy of another type and order in memory.
    // Null: parameters must be bound as they lie in the state.
    virtual std::vector<bool> const* convolutions() const { return nullptr; }

    virtual std::vector<NetworkMetric> const& metrics() const;  // of the user's own

    // Null: forward() is not a chain of stages (chain.hpp).
    virtual std::vector<Stage> const* stages() const { return nullptr; }

    // Its outputs are the x of this network. Null: there is none.
    virtual FrozenStart* frozen_start() { return nullptr; }

    // Called for every new state.
    virtual void bind(BoundTensors tensors) = 0;

    // x: [rows, shape of the data...] -> [rows, outputs], or [rows, tokens, outputs] for the task `language`.
    virtual at::Tensor forward(at::Tensor const& x, Pass const& pass) = 0;

    // d loss / d outputs of the last training pass. autograd adds to the bound gradients, written_out overwrites them.
    virtual void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) = 0;
};

// Dropout: each element is zero with probability p, else x / (1-p). The mask comes from the pass; in evaluation x is
// unchanged.
at::Tensor dropped(at::Tensor const& x, double p, Pass const& pass);

// Zero with probability p, else 1/(1-p); in the shape of x.
at::Tensor dropout_mask(at::Tensor const& x, double p, at::Generator const& noise);

}  // namespace hopscotch
