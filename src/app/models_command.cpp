// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/commands.hpp"
#include "core/error.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {
namespace {

std::int64_t parameters(StateLayout const& layout) {
    std::int64_t count = 0;
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::parameter) count += static_cast<std::int64_t>(tensor.bytes / sizeof(float));
    return count;
}

// Counts of the entry with its default arguments on a few familiar shapes.
void print_sizes(ZooEntry const& entry) {
    struct Example {
        std::string what;
        DataSchema data;
    };
    for (auto const& example : {Example{"8x8 digits, 10 classes", {Task::classification, {1, 8, 8}, 10, 1437}},
                                Example{"28x28 MNIST, 10 classes", {Task::classification, {1, 28, 28}, 10, 60000}}}) {
        Manifest manifest;
        manifest.shape = example.data.shape;
        manifest.outputs = example.data.outputs;
        manifest.mean = {0};
        manifest.stddev = {1};
        TrialConfig config;
        config.model = {entry.name, Json(Json::Object{})};
        config.train.optimizer.momentum = 0.9;
        Normaliser const normaliser(manifest);
        Workspace workspace("cpu", 1);
        auto const model = make_trial_model(config, example.data, normaliser, workspace);
        auto const count = parameters(model->layout());
        config.train.optimizer = {};
        config.train.optimizer.kind = OptimizerKind::adam;
        auto const adam = make_trial_model(config, example.data, normaliser, workspace)->layout().bytes;
        fmt::print("    {:<26} {:>10} parameters   state {:>10} bytes (sgd, momentum) {:>10} (adam)   {:.3g} FLOPs a row\n",
                   example.what, count, model->layout().bytes, adam, flops_per_row(config.model, example.data));
    }
}

}  // namespace

int models_command(std::string const& name) {
    bool found = false;
    std::vector<std::string> names;
    for (auto const& entry : zoo()) {
        names.push_back(entry.name);
        if (!name.empty() && entry.name != name) continue;
        found = true;
        fmt::print("{:<12} {}{}\n", entry.name, entry.summary, entry.synthetic ? "  [synthetic: pretends to train]" : "");
        for (std::size_t at = 0; at < entry.arguments.size();) {
            auto const end = std::min(entry.arguments.find('\n', at), entry.arguments.size());
            fmt::print("    {}\n", entry.arguments.substr(at, end - at));
            at = end + 1;
        }
        if (!entry.synthetic) print_sizes(entry);
    }
    if (!found) {
        auto const near = nearest(name, names);
        throw ConfigError(fmt::format("unknown model \"{}\"{} see: hopscotch models", name,
                                      near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)));
    }
    return 0;
}

}  // namespace hopscotch
