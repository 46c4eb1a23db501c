// SPDX-License-Identifier: Apache-2.0
// The zoo: one table, name -> what it is, its check, its cost, its constructor. A new model is a file and a row here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "model/lenet.hpp"
#include "model/mlp.hpp"
#include "model/synthetic.hpp"
#include "model/torch_trial_model.hpp"

namespace hopscotch {
namespace {

using MakeNetwork = std::unique_ptr<Network> (*)(ModelConfig const&, DataSchema const&);

struct Row {
    ZooEntry entry;
    void (*check)(ModelConfig const&, DataSchema const&, Problems&);
    double (*flops)(ModelConfig const&, DataSchema const&);  // null: synthetic
    MakeNetwork make;                                        // null: synthetic
};

std::vector<Row> const& table() {
    static std::vector<Row> const rows{
        {{"logistic", "logistic (or linear) regression: one linear layer; any data", ""},
         check_logistic, logistic_flops, make_logistic},
        {{"mlp", "fully connected network; any data",
          "hidden      [64]   width of every hidden layer, each at least 1\n"
          "activation  relu   relu | tanh\n"
          "dropout     0.0    in [0, 1), after every hidden layer"},
         check_mlp, mlp_flops, make_mlp},
        {{"lenet", "LeNet-5 with relu and max pooling; images CxHxW of at least 4x4 (sides below 12: padding 2 in conv2)",
          "dropout     0.0    in [0, 1), after fc1 and fc2"},
         check_lenet, lenet_flops, make_lenet},
        {{"synthetic", "sleeps instead of computing, with made-up metrics: measures scheduler and network; any data",
          "seconds_per_batch  0.01  at least 0\n"
          "parameters         1000  floats in the state, at least 1\n"
          "jitter             0.0   in [0, 1): a batch takes seconds_per_batch x (1 +- jitter)",
          true},
         check_synthetic, nullptr, nullptr}};
    return rows;
}

Row const* find_row(std::string const& name) {
    auto const found = std::find_if(table().begin(), table().end(), [&](Row const& row) { return row.entry.name == name; });
    return found == table().end() ? nullptr : &*found;
}

Row const& row_of(std::string const& name) {
    auto const* row = find_row(name);
    if (row == nullptr) throw ConfigError(fmt::format("unknown model \"{}\"", name));
    return *row;
}

}  // namespace

std::vector<ZooEntry> const& zoo() {
    static auto const entries = [] {
        std::vector<ZooEntry> found;
        for (auto const& row : table()) found.push_back(row.entry);
        return found;
    }();
    return entries;
}

double flops_per_row(TrialConfig const& config, DataSchema const& data) {
    auto const& row = row_of(config.model.name);
    return row.entry.synthetic ? synthetic_flops(config.model, config.train.batch_size) : row.flops(config.model, data);
}

double flops_per_row(ModelConfig const& model, DataSchema const& data) {
    return flops_per_row(TrialConfig{model, {}, {}}, data);
}

void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    if (auto const* row = find_row(model.name)) return row->check(model, data, problems);
    std::vector<std::string> names;
    for (auto const& entry : zoo()) names.push_back(entry.name);
    auto const near = nearest(model.name, names);
    problems.add(model.arguments.at_position(), "/model/name",
                 fmt::format("unknown model \"{}\" (known: {}){}", model.name, fmt::join(names, ", "),
                             near.empty() ? "" : fmt::format(" did you mean \"{}\"?", near)));
}

void check_model(TrialConfig const& config, DataSchema const& data, Problems& problems) {
    check_model(config.model, data, problems);
    if (config.train.loss == LossKind::mse && data.task == Task::classification)
        problems.add({}, "/train/loss", "mse needs targets (the dataset has classes) use cross_entropy");
    if (config.train.loss == LossKind::cross_entropy && data.task == Task::regression)
        problems.add({}, "/train/loss", "cross_entropy needs classes (the dataset is a regression) use mse");
}

std::unique_ptr<TrialModel> make_trial_model(TrialConfig const& config, DataSchema const& data, Normaliser const& normaliser,
                                             Workspace& workspace) {
    Problems problems("model");
    check_model(config, data, problems);
    problems.throw_if_any();
    auto const& row = row_of(config.model.name);
    if (row.entry.synthetic) return make_synthetic(config, data);
    return std::make_unique<TorchTrialModel>(config, data, row.make(config.model, data), normaliser, workspace);
}

}  // namespace hopscotch
