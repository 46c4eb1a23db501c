// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/common/commands.hpp"
#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace {

std::int64_t parameters(StateLayout const& layout) {
    std::int64_t count = 0;
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::parameter) count += static_cast<std::int64_t>(tensor.bytes / sizeof(float));
    return count;
}

struct Example {
    std::string what;
    DataSchema data;
};

std::vector<Example> const& examples() {
    std::vector<std::int64_t> table(13, 0);
    table.insert(table.end(), 26, 1000);
    static std::vector<Example> const all{{"1x28x28, 10 classes", {Task::classification, {1, 28, 28}, 10, 60000, {}}},
                                          {"3x32x32, 10 classes", {Task::classification, {3, 32, 32}, 10, 50000, {}}},
                                          {"3x224x224, 1000 classes",
                                           {Task::classification, {3, 224, 224}, 1000, 1281167, {}}},
                                          {"100x16 sequence, 10 classes", {Task::classification, {100, 16}, 10, 10000, {}}},
                                          {"128 tokens of 256", {Task::language, {128}, 256, 10000, {256}}},
                                          {"13 numbers, 26 categories", {Task::classification, {39}, 2, 1000000, table}}};
    return all;
}

Manifest made_up(DataSchema const& data) {
    Manifest manifest;
    manifest.task = data.task;
    manifest.shape = data.shape;
    manifest.outputs = data.outputs;
    manifest.categories = data.categories;
    auto const scales = static_cast<std::size_t>(data.shape.size() == 3 ? data.shape[0] : manifest.row_size());
    manifest.features.mean.assign(scales, 0);
    manifest.features.stddev.assign(scales, 1);
    return manifest;
}

constexpr int k_shown = 3;

// Counts of the entry with its default arguments on the first familiar shapes that it takes.
void print_sizes(ZooEntry const& entry) {
    int shown = 0;
    for (auto const& example : examples()) {
        if (shown == k_shown) return;
        TrialConfig config;
        config.model.name = entry.name;
        config.model.arguments = Json(Json::Object{});
        Problems refused("");
        check_model(config.model, example.data, refused);
        if (!refused.empty()) continue;
        if (shown++ == 0)
            fmt::print("    {:<28} {:>11} {:>13} {:>13} {:>11}\n", "sizes", "parameters", "SGD+momentum", "Adam",
                       "FLOPs/row");
        config.train.optimizer.momentum = 0.9;
        Workspace workspace("cpu", 1);
        auto const manifest = made_up(example.data);
        auto const model = make_trial_model(config, manifest, workspace);
        auto const count = parameters(model.state->layout());
        auto const sgd = model.state->layout().bytes;
        config.train.optimizer.kind = OptimizerKind::adam;
        auto const adam = make_trial_model(config, manifest, workspace).state->layout().bytes;
        fmt::print("    {:<28} {:>11} {:>11} B {:>11} B {:>11.3g}\n", example.what, count, sgd, adam,
                   flops_per_row(config.model, example.data));
    }
}

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
        if (!entry.input.empty()) fmt::print("    takes {}\n", entry.input);
        if (!entry.synthetic) print_sizes(entry);
    }
    if (!found) {
        auto const near = nearest(name, names);
        throw ConfigError(fmt::format("unknown model \"{}\"{} (see: hopscotch models)", name,
                                      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    return 0;
}

}  // namespace

Work add_models(Command command) {
    auto const name = std::make_shared<std::string>();
    command.add_option("name", *name, "Only this model, for example mlp").type_name("MODEL");
    return on_first_rank([name] { return models_command(*name); });
}

}  // namespace hopscotch
