// SPDX-License-Identifier: Apache-2.0
// The interface of a network of your own, which is compiled against this header and LibTorch: a class, a function that makes
// it, and the one extern "C" function that Hopscotch looks for. docs/own-model.md tells how to build and use it. Start from
// examples/plugin_model.cpp:
//
//     struct Net : hopscotch::OwnModel {
//         torch::nn::Linear layer;
//         Net(std::int64_t in, std::int64_t out) : layer(register_module("layer", torch::nn::Linear(in, out))) {}
//         torch::Tensor forward(torch::Tensor x, torch::Generator*) override { return layer(x.flatten(1)); }
//     };
//     std::shared_ptr<hopscotch::OwnModel> make(hopscotch::ModelRequest const& wanted) {
//         return std::make_shared<Net>(wanted.shape.at(0), wanted.outputs);
//     }
//     extern "C" hopscotch::Plugin const* hopscotch_plugin() {
//         static hopscotch::Plugin const plugin(make);
//         return &plugin;
//     }
#pragma once
#include <ATen/core/Generator.h>
#include <torch/nn/module.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hopscotch {

// Of this file. Hopscotch also loads plug-ins that were compiled with interface 1, which had no metrics.
inline constexpr int k_plugin_interface = 2;

// The keys of `model` in the experiment, except name, file, init_from, init_mode and freeze. Hopscotch reports values of a
// wrong type, and keys that the plug-in does not ask for, at their place in the file. The plug-in only checks ranges.
class ModelArguments {
public:
    virtual bool flag(std::string const& key, bool fallback) = 0;
    virtual std::int64_t integer(std::string const& key, std::int64_t fallback) = 0;
    virtual double number(std::string const& key, double fallback) = 0;
    virtual std::string text(std::string const& key, std::string const& fallback) = 0;
    virtual std::vector<std::int64_t> integers(std::string const& key, std::vector<std::int64_t> const& fallback) = 0;
    virtual std::vector<std::string> texts(std::string const& key, std::vector<std::string> const& fallback) = 0;

    // All arguments as one JSON object, for values that the functions above cannot read. The caller must check every key.
    virtual std::string json() = 0;

protected:
    ~ModelArguments() = default;
};

// The data that the network is for.
struct ModelRequest {
    std::vector<std::int64_t> shape;  // of one row: {64}, {3, 32, 32}
    std::int64_t outputs = 0;         // classes, labels, targets, or the size of the vocabulary
    std::string task;                 // classification | multilabel | regression | language
    // By feature, the number of categories (0: a number), or one entry, the size of the vocabulary, for rows of tokens.
    std::vector<std::int64_t> categories;
    ModelArguments& arguments;
};

// The source of the random numbers of forward(). given: from `noise`, and so a process may run many trainers. torch: from
// torch's own generator too (torch::nn::Dropout does that). It is reseeded before every pass, but it belongs to the process,
// so that such a model needs a process of its own for every trainer (mpirun).
enum class Randomness { given, torch };

// A torch::nn::Module. Its parameters (float32) and buffers (float32 or int64) are its whole state, under the names they are
// registered by; Hopscotch re-points them, so change buffers in place and keep no other tensors from pass to pass.
// The initial values are those after construction; torch's generator is seeded for each trial before that.
class OwnModel : public torch::nn::Module {
public:
    // x: float32 [rows, shape...] (tokens and categories too: x.to(torch::kLong)). Returns [rows, outputs], or
    // [rows, tokens, outputs] for the task `language`. noise: the source of random numbers; null in evaluation.
    // is_training() says the same. An exception ends this trial with its text as the reason, and no other trial.
    virtual torch::Tensor forward(torch::Tensor x, torch::Generator* noise) = 0;

    // Of one row, forward; for the schedule. 0: as many as there are parameters.
    virtual double multiply_adds() const { return 0; }

    virtual Randomness randomness() const { return Randomness::given; }
};

// torch::dropout with the generator that forward() is given.
inline torch::Tensor dropout(torch::Tensor const& x, double p, torch::Generator const* noise) {
    if (noise == nullptr || p == 0) return x;
    return x * torch::empty_like(x.detach()).bernoulli_(1.0 - p, *noise).div_(1.0 - p);
}

// A metric of your own, beside the built-in ones: sums over the rows of each validation batch, which Hopscotch adds up over
// batches and shards in their order, and a value of all rows. Both functions must depend on their arguments alone. An
// exception, or a value that is not a finite number, ends this trial only.
enum class Better { larger, smaller };
struct OwnMetric {
    std::string name;  // val_ and then small letters, digits and _; search.metric may name it
    Better better = Better::larger;
    std::size_t sums = 1;  // how many numbers add() adds to

    // outputs: float32, as forward() returned them. answers: classes: int64 [rows]; labels and targets: float32
    // [rows, outputs]; tokens: int64 [rows, tokens]. Both are on the CPU. sums are 0 before each batch.
    void (*add)(torch::Tensor const& outputs, torch::Tensor const& answers, std::span<double> sums) = nullptr;
    double (*value)(std::span<double const> sums, std::int64_t rows) = nullptr;
};

// Hopscotch reads this first. The first two fields never move, so that any two versions can detect a mismatch.
struct Plugin {
    using Make = std::shared_ptr<OwnModel> (*)(ModelRequest const&);

    int interface = k_plugin_interface;
    char const* torch = TORCH_VERSION;
    Make make = nullptr;  // may throw: the message is reported as an error of `model`

    std::vector<OwnMetric> metrics;  // since interface 2

    explicit Plugin(Make f, std::vector<OwnMetric> own = {}) : make(f), metrics(std::move(own)) {}
};

}  // namespace hopscotch

// Define this one.
extern "C" __attribute__((visibility("default"))) hopscotch::Plugin const* hopscotch_plugin();
