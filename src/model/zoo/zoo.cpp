// SPDX-License-Identifier: Apache-2.0
// A new model is a file, a line in networks.hpp and a row here.
#include "model/zoo/zoo.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/cpu_features.hpp"
#include "core/error.hpp"
#include "core/key_watcher.hpp"
#include "data/batches/augment.hpp"
#include "experiment/loss_traits.hpp"
#include "model/network/pretrained.hpp"
#include "model/network/tail.hpp"
#include "model/own/plugin.hpp"
#include "model/own/torchscript.hpp"
#include "model/trial/lean_trial_model.hpp"
#include "model/trial/torch_trial_model.hpp"
#include "model/zoo/arguments.hpp"
#include "model/zoo/networks.hpp"
#include "model/zoo/synthetic.hpp"

namespace hopscotch {
namespace {

// 2 FLOPs a multiply-add, once forward and twice backward (for the input and for the weight).
constexpr double k_flops_per_multiply_add = 6;

struct Row {
    ZooEntry entry;
    MakeNetwork make;  // null: synthetic
};

// The texts that several rows share.
constexpr char const* k_images = "images CxHxW";
constexpr char const* k_cifar_resnet = "width  16  channels of the first stage, in [1, 4096]";
constexpr char const* k_resnet =
    "stem   imagenet  imagenet: 7x7 convolution with stride 2 and max pooling | cifar: 3x3 convolution\n"
    "width  64        channels of the first stage, in [1, 4096]";
constexpr char const* k_vgg =
    "width    64    channels of the first stage, in [1, 4096]\n"
    "hidden   4096  width of the two hidden linear layers, at least 1\n"
    "dropout  0.5   in [0, 1), after each of them";
constexpr char const* k_vgg_images = "images CxHxW of at least 32x32";

std::vector<Row> const& table() {
    static std::vector<Row> const rows{
        {{"logistic", "logistic (or linear) regression: one linear layer", "", "any shape"}, make_logistic},
        {{"mlp", "fully connected network",
          "hidden      [64]   width of every hidden layer, each at least 1\n"
          "activation  relu   relu | tanh\n"
          "dropout     0.0    in [0, 1), after every hidden layer\n"
          "batch_norm  false  before every activation",
          "any shape"},
         make_mlp},
        {{"lenet", "LeNet-5 with relu and max pooling (sides below 12: padding 2 in conv2)",
          "dropout     0.0    in [0, 1), after fc1 and fc2", "images CxHxW of at least 4x4"},
         make_lenet},
        {{"cnn", "small convolutional network: 3x3 convolution, 2x2 max pooling, batch norm and relu a layer, then fc",
          "channels    [32, 64, 128]  of every convolution, each at least 1\n"
          "dropout     0.0            in [0, 1), before fc\n"
          "batch_norm  true           before every relu",
          "images CxHxW with sides of at least 2^(number of convolutions)"},
         make_cnn},
        {{"resnet20", "ResNet of He et al. for CIFAR, 20 layers, shortcuts without parameters", k_cifar_resnet, k_images},
         make_resnet},
        {{"resnet32", "the same, 32 layers", k_cifar_resnet, k_images}, make_resnet},
        {{"resnet56", "the same, 56 layers", k_cifar_resnet, k_images}, make_resnet},
        {{"mobilenet_v2", "MobileNetV2, as torchvision's",
          "width    1.0       factor of all channels, in [0.01, 16]; they are rounded to multiples of 8\n"
          "dropout  0.2       in [0, 1), before the last layer\n"
          "stem     imagenet  imagenet: the first convolution halves the sides | cifar: it does not",
          k_images},
         make_mobilenet_v2},
        {{"resnet18", "ResNet-18, as torchvision's", k_resnet, k_images}, make_resnet},
        {{"resnet34", "ResNet-34, as torchvision's", k_resnet, k_images}, make_resnet},
        {{"resnet50", "ResNet-50, as torchvision's (v1.5)", k_resnet, k_images}, make_resnet},
        {{"vgg16", "VGG-16, as torchvision's", k_vgg, k_vgg_images}, make_vgg16},
        {{"vgg16_bn", "VGG-16 with batch norm, as torchvision's", k_vgg, k_vgg_images}, make_vgg16},
        {{"wide_and_deep", "Wide & Deep: a linear model plus an MLP over an embedding of each category",
          "embedding   16          width of a category's embedding\n"
          "hidden      [256, 128]  width of every hidden layer, each at least 1\n"
          "dropout     0.0         in [0, 1), after every hidden layer",
          "tables with at least one categorical feature"},
         make_wide_and_deep},
        {{"lstm", "LSTM whose last state goes through a linear layer",
          "hidden         256    width of the state\n"
          "layers         1      at least 1\n"
          "embedding      128    width of a token's embedding (rows of tokens)\n"
          "dropout        0.0    in [0, 1), between layers\n"
          "bidirectional  false  a second LSTM reads the row backwards",
          "sequences TxF, or rows of tokens"},
         make_lstm},
        {{"gpt", "GPT-2: causal transformer with a tied head, predicts every next token",
          "layers      4      at least 1\n"
          "width       128    a multiple of heads\n"
          "heads       4      of the attention\n"
          "dropout     0.0    in [0, 1), after the embedding, the attention and the MLP of every layer",
          "rows of tokens with the task language"},
         make_gpt},
        {{"vit", "vision transformer",
          "preset      tiny   tiny | small | b_16: width 192 | 384 | 768\n"
          "patch       16     side of the square patches, divides both sides of the images\n"
          "width       -      the preset's unless given, a multiple of heads\n"
          "depth       12     layers, at least 1\n"
          "heads       -      width / 64 unless given\n"
          "mlp         -      width of the hidden layer of the MLPs, 4 x width unless given\n"
          "dropout     0.0    in [0, 1), after the embedding, the attention and both layers of the MLPs",
          "images CxHxW"},
         make_vit},
        {{"plugin", "a network of your own in C++, compiled into a shared object (docs/own-model.md)",
          "file  -  the shared object; it reads the other arguments itself", "what it is written for"},
         make_plugin},
        {{"torchscript",
          "a network of your own from Python, as torch.jit.script(model).save(file) writes it (docs/own-model.md); PyTorch "
          "calls "
          "TorchScript deprecated",
          "file  -  the .pt, with the initial weights of every trial", "what it is written for"},
         make_torchscript},
        {{"synthetic", "sleeps instead of computing, with made-up metrics: measures scheduler and network",
          "seconds_per_batch  0.01  at least 0\n"
          "seconds_per_row    0.0   at least 0, for each row of the batch\n"
          "parameters         1000  floats in the state, at least 1\n"
          "jitter             0.0   in [0, 1): a batch takes seconds_per_batch x (1 +- jitter)",
          "any shape", true},
         nullptr}};
    return rows;
}

Row const* find_row(std::string const& name) {
    auto const found = std::find_if(table().begin(), table().end(), [&](Row const& row) { return row.entry.name == name; });
    return found == table().end() ? nullptr : &*found;
}

void complain_of_name(ModelConfig const& model, Problems& problems) {
    std::vector<std::string> names;
    for (auto const& entry : zoo()) names.push_back(entry.name);
    auto const near = nearest(model.name, names);
    problems.add(model.arguments.at_position(), "/model/name",
                 fmt::format("unknown model \"{}\"{} (see: hopscotch models)", model.name,
                             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

std::unique_ptr<Network> accepted_network(ModelConfig const& model, DataSchema const& data) {
    Problems problems("model");
    auto const* row = find_row(model.name);
    if (row == nullptr) complain_of_name(model, problems);
    problems.throw_if_any();
    auto network = row->make(model, data, problems);
    problems.throw_if_any();
    if (!model.cache_frozen) return network;
    auto const stages = frozen_stages(*network, frozen_parameters(model, *network));
    return stages == 0 ? std::move(network) : tail_of(std::move(network), stages);
}

bool is_dense(ModelConfig const& model) {
    auto const* row = find_row(model.name);
    return row != nullptr && (row->make == make_logistic || row->make == make_mlp);
}

// Of a trial that takes the lean step; none: it takes LibTorch's.
std::optional<DenseSpec> lean_spec(TrialConfig const& config, DataSchema const& data) {
    if (!why_torch_step(config).empty()) return std::nullopt;
    require_lean(cpu_features());
    Problems told("");  // by check_model
    return (find_row(config.model.name)->make == make_mlp ? mlp_spec : logistic_spec)(config.model, data, told);
}

void check_cached(ModelConfig const& model, Network const& network, std::vector<std::string> const& from_file,
                  Problems& problems) {
    auto const complain = [&](std::string const& why) { problems.add({}, "/model/cache_frozen", why); };
    if (network.stages() == nullptr)
        return complain(
            fmt::format("{} is not a chain of layers whose start could be computed once; leave the key out", model.name));
    auto const stages = frozen_stages(network, frozen_parameters(model, network));
    if (stages == 0)
        return complain(
            fmt::format("the first layer trains ({}), so that nothing can be computed once; freeze it, or leave "
                        "the key out",
                        network.parameters().front().name));
    for (std::size_t i = 0; i < network.stages()->at(stages - 1).buffers; ++i)
        if (auto const& [name, shape, element, start] = network.buffers()[i];
            element == Element::float32 && !std::ranges::binary_search(from_file, name))
            return complain(
                fmt::format("init_from has no {} (frozen layers compute with the statistics of that file); take "
                            "a file that has it, or leave the key out",
                            name));
}

void check_loss(TrainConfig const& train, DataSchema const& data, Problems& problems) {
    struct Fit {
        Task task;
        Answers answers;
        char const* rows;
    };
    constexpr std::array<Fit, 4> fits{{{Task::classification, Answers::one_class, "classes"},
                                       {Task::language, Answers::one_class, "tokens"},
                                       {Task::multilabel, Answers::labels, "several labels a row"},
                                       {Task::regression, Answers::targets, "targets of a regression"}}};
    for (auto const& fit : fits)
        if (fit.task == data.task && fit.answers != loss_traits(train.loss).answers)
            problems.add({}, "/train/loss",
                         fmt::format("{} does not fit the dataset (it has {}); use {}", name_of(train.loss), fit.rows,
                                     fmt::join(losses_for(fit.answers), " or ")));
    if (!train.of_loss.class_weights.empty() &&
        static_cast<std::int64_t>(train.of_loss.class_weights.size()) != data.outputs)
        problems.add({}, "/train/class_weights",
                     fmt::format("has {} numbers (the dataset has {} outputs); give one for each",
                                 train.of_loss.class_weights.size(), data.outputs));
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

void describe_models(Problems& problems) {
    auto* const watcher = problems.watcher();
    if (watcher == nullptr) return;
    Json::Array names;
    for (auto const& entry : zoo()) names.emplace_back(entry.name);
    watcher->key("/model", "name",
                 Json::object({{"type", "string"},
                               {"enum", Json(names)},
                               {"required", true},
                               {"description", "The network: `hopscotch models` describes each."}}));
    watcher->splits("/model", "name");
    auto const* name = watcher->value("/model", "name");
    if (name == nullptr) return;
    auto const* row = find_row(name->string());
    problems.add("described");  // a maker reads its arguments, and makes nothing after a complaint
    ModelConfig model;
    model.name = name->string();
    model.arguments = Json(Json::Object{});
    DataSchema const data{Task::classification, {1, 8, 8}, 10, 1, {}};
    if (row->make == make_plugin)
        watcher->open("/model");
    else if (row->make == nullptr)
        check_synthetic(model, data, problems);
    else if (row->make != make_torchscript)
        row->make(model, data, problems);
}

bool is_synthetic(std::string const& model) {
    auto const found = std::ranges::find(zoo(), model, &ZooEntry::name);
    return found != zoo().end() && found->synthetic;
}

double flops_per_row(TrialConfig const& config, DataSchema const& data) {
    if (config.model.name == "synthetic") return synthetic_flops(config.model, config.train.batch_size);
    return k_flops_per_multiply_add * accepted_network(config.model, data)->multiply_adds();
}

double flops_per_row(ModelConfig const& model, DataSchema const& data) {
    return flops_per_row(TrialConfig{model, {}, {}}, data);
}

std::optional<FrozenPart> frozen_part(TrialConfig const& config, DataSchema const& data) {
    if (config.model.freeze.empty() || !config.data.augment.empty()) return std::nullopt;
    auto whole = config.model;
    whole.cache_frozen = false;
    auto const network = accepted_network(whole, data);
    auto const stages = frozen_stages(*network, frozen_parameters(whole, *network));
    if (stages == 0) return std::nullopt;
    auto const& last = network->stages()->at(stages - 1);
    return FrozenPart{last.multiply_adds / network->multiply_adds(), elements(last.shape)};
}

bool draws_from_torch(ModelConfig const& model, DataSchema const& data) {
    return model.name != "synthetic" && accepted_network(model, data)->draws_from_torch();
}

std::string why_torch_step(TrialConfig const& config) {
    if (!is_dense(config.model)) return "model " + config.model.name;
    return why_not_lean(config, cpu_features());
}

void require_engine(TrialConfig const& config) {
    if (is_dense(config.model) && why_not_lean(config, cpu_features()).empty()) require_lean(cpu_features());
}

std::vector<OwnMetricName> own_metrics(ModelConfig const& model, DataSchema const& data) {
    std::vector<OwnMetricName> out;
    Problems told("");  // by check_model
    auto const* row = find_row(model.name);
    auto const network = row != nullptr && row->make != nullptr ? row->make(model, data, told) : nullptr;
    if (!network) return out;
    for (auto const& metric : network->metrics()) out.push_back({metric.name, metric.mode});
    return out;
}

void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const* row = find_row(model.name);
    if (row == nullptr) return complain_of_name(model, problems);
    if (row->make == nullptr) return check_synthetic(model, data, problems);
    bool const own = model.name == "plugin" || model.name == "torchscript";
    if (data.task == Task::language && model.name != "gpt" && !own)
        return problems.add(model.arguments.at_position(), "/model/name",
                            fmt::format("{} does not fit the dataset (its task is language); use gpt", model.name));
    auto const network = row->make(model, data, problems);
    if (!network) return;
    auto const from_file = pretrained_names(model, *network, problems);
    if (model.cache_frozen) check_cached(model, *network, from_file, problems);
}

void check_model(TrialConfig const& config, DataSchema const& data, Problems& problems) {
    check_model(config.model, data, problems);
    if (config.model.cache_frozen && !config.data.augment.empty())
        problems.add({}, "/model/cache_frozen",
                     "data.augment changes the rows in every epoch (cached layers see each row once); leave one of the two "
                     "out");
    check_loss(config.train, data, problems);
}

TrialModel make_trial_model(TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
    Problems problems("model");
    auto const data = schema_of(manifest);
    check_model(config, data, problems);
    check_augment(config.data, manifest, problems);
    problems.throw_if_any();
    if (config.model.name == "synthetic") return make_synthetic(config, data);
    auto network = accepted_network(config.model, data);
    if (auto const spec = lean_spec(config, data); spec && can_train_lean(workspace))
        return make_lean_model(config, manifest, {*spec, network->parameters(), network->buffers()}, workspace);
    return make_torch_model(config, manifest, std::move(network), workspace);
}

}  // namespace hopscotch
