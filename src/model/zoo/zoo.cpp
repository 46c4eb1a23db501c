// SPDX-License-Identifier: Apache-2.0
// A new model is a file, a line in tensor/zoo/networks.hpp, one in tensor/zoo/makers.cpp, and a row here.
#include "model/zoo/zoo.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/cpu_features.hpp"
#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "core/key_watcher.hpp"
#include "data/batches/augment.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/loss_traits.hpp"
#include "model/trial/lean_trial_model.hpp"
#include "model/trial/pretrained.hpp"
#include "model/trial/torch_library.hpp"
#include "model/zoo/lean_specs.hpp"
#include "model/zoo/synthetic.hpp"

namespace hopscotch {
namespace {

// 2 FLOPs a multiply-add, once forward and twice backward (for the input and for the weight).
constexpr double k_flops_per_multiply_add = 6;

struct Row {
    ZooEntry entry;
    LeanSpec (*lean)(ModelConfig const&, DataSchema const&, Problems&) = nullptr;  // null: LibTorch's step alone
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
        {{"logistic", "logistic (or linear) regression: one linear layer", "", "any shape"}, logistic_spec},
        {{"mlp", "fully connected network",
          "hidden      [64]   width of every hidden layer, each at least 1\n"
          "activation  relu   relu | tanh\n"
          "dropout     0.0    in [0, 1), after every hidden layer\n"
          "batch_norm  false  before every activation",
          "any shape"},
         mlp_spec},
        {{"lenet", "LeNet-5 with relu and max pooling (sides below 12: padding 2 in conv2)",
          "dropout     0.0    in [0, 1), after fc1 and fc2", "images CxHxW of at least 4x4"},
         lenet_spec},
        {{"cnn", "small convolutional network: 3x3 convolution, 2x2 max pooling, batch norm and relu a layer, then fc",
          "channels    [32, 64, 128]  of every convolution, each at least 1\n"
          "dropout     0.0            in [0, 1), before fc\n"
          "batch_norm  true           before every relu",
          "images CxHxW with sides of at least 2^(number of convolutions)"},
         cnn_spec},
        {{"resnet20", "ResNet of He et al. for CIFAR, 20 layers, shortcuts without parameters", k_cifar_resnet, k_images}},
        {{"resnet32", "the same, 32 layers", k_cifar_resnet, k_images}},
        {{"resnet56", "the same, 56 layers", k_cifar_resnet, k_images}},
        {{"mobilenet_v2", "MobileNetV2, as torchvision's",
          "width    1.0       factor of all channels, in [0.01, 16]; they are rounded to multiples of 8\n"
          "dropout  0.2       in [0, 1), before the last layer\n"
          "stem     imagenet  imagenet: the first convolution halves the sides | cifar: it does not",
          k_images}},
        {{"resnet18", "ResNet-18, as torchvision's", k_resnet, k_images}},
        {{"resnet34", "ResNet-34, as torchvision's", k_resnet, k_images}},
        {{"resnet50", "ResNet-50, as torchvision's (v1.5)", k_resnet, k_images}},
        {{"vgg16", "VGG-16, as torchvision's", k_vgg, k_vgg_images}},
        {{"vgg16_bn", "VGG-16 with batch norm, as torchvision's", k_vgg, k_vgg_images}},
        {{"wide_and_deep", "Wide & Deep: a linear model plus an MLP over an embedding of each category",
          "embedding   16          width of a category's embedding\n"
          "hidden      [256, 128]  width of every hidden layer, each at least 1\n"
          "dropout     0.0         in [0, 1), after every hidden layer",
          "tables with at least one categorical feature"}},
        {{"lstm", "LSTM whose last state goes through a linear layer",
          "hidden         256    width of the state\n"
          "layers         1      at least 1\n"
          "embedding      128    width of a token's embedding (rows of tokens)\n"
          "dropout        0.0    in [0, 1), between layers\n"
          "bidirectional  false  a second LSTM reads the row backwards",
          "sequences TxF, or rows of tokens"}},
        {{"gpt", "GPT-2: causal transformer with a tied head, predicts every next token",
          "layers      4      at least 1\n"
          "width       128    a multiple of heads\n"
          "heads       4      of the attention\n"
          "dropout     0.0    in [0, 1), after the embedding, the attention and the MLP of every layer",
          "rows of tokens with the task language"}},
        {{"vit", "vision transformer",
          "preset      tiny   tiny | small | b_16: width 192 | 384 | 768\n"
          "patch       16     side of the square patches, divides both sides of the images\n"
          "width       -      the preset's unless given, a multiple of heads\n"
          "depth       12     layers, at least 1\n"
          "heads       -      width / 64 unless given\n"
          "mlp         -      width of the hidden layer of the MLPs, 4 x width unless given\n"
          "dropout     0.0    in [0, 1), after the embedding, the attention and both layers of the MLPs",
          "images CxHxW"}},
        {{"plugin", "a network of your own in C++, compiled into a shared object (docs/own-model.md)",
          "file  -  the shared object; it reads the other arguments itself", "what it is written for"}},
        {{"torchscript",
          "a network of your own from Python, as torch.jit.script(model).save(file) writes it (docs/own-model.md); PyTorch "
          "calls "
          "TorchScript deprecated",
          "file  -  the .pt, with the initial weights of every trial", "what it is written for"}},
        {{"synthetic", "sleeps instead of computing, with made-up metrics: measures scheduler and network",
          "seconds_per_batch  0.01  at least 0\n"
          "seconds_per_row    0.0   at least 0, for each row of the batch\n"
          "parameters         1000  floats in the state, at least 1\n"
          "jitter             0.0   in [0, 1): a batch takes seconds_per_batch x (1 +- jitter)",
          "any shape", true}}};
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

bool has_lean_spec(ModelConfig const& model) {
    auto const* row = find_row(model.name);
    return row != nullptr && row->lean != nullptr;
}

// Such a network whose layers all train needs no LibTorch before it trains by it.
bool knows_lean(ModelConfig const& model) { return has_lean_spec(model) && model.freeze.empty() && !model.cache_frozen; }

LeanSpec lean_spec(ModelConfig const& model, DataSchema const& data) {
    Problems problems("model");
    auto spec = find_row(model.name)->lean(model, data, problems);
    problems.throw_if_any();
    return spec;
}

NetworkFacts accepted_facts(ModelConfig const& model, DataSchema const& data) {
    Problems problems("model");
    if (find_row(model.name) == nullptr) complain_of_name(model, problems);
    problems.throw_if_any();
    NetworkFacts facts;
    if (knows_lean(model))
        facts.multiply_adds = multiply_adds(lean_spec(model, data));
    else if (auto const known = torch_library().facts(model, data, problems))
        facts = *known;
    problems.throw_if_any();
    return facts;
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
    problems.add("described");  // a maker reads its arguments, and makes nothing after a complaint
    ModelConfig model;
    model.name = name->string();
    model.arguments = Json(Json::Object{});
    DataSchema const data{Task::classification, {1, 8, 8}, 10, 1, {}};
    if (model.name == "plugin") return watcher->open("/model");
    if (model.name != "torchscript") check_model(model, data, problems);
}

bool is_synthetic(std::string const& model) {
    auto const found = std::ranges::find(zoo(), model, &ZooEntry::name);
    return found != zoo().end() && found->synthetic;
}

double flops_per_row(TrialConfig const& config, DataSchema const& data) {
    if (config.model.name == "synthetic") return synthetic_flops(config.model, config.train.batch_size);
    return k_flops_per_multiply_add * accepted_facts(config.model, data).multiply_adds;
}

double flops_per_row(ModelConfig const& model, DataSchema const& data) {
    return flops_per_row(TrialConfig{model, {}, {}}, data);
}

std::optional<FrozenPart> frozen_part(TrialConfig const& config, DataSchema const& data) {
    if (config.model.freeze.empty() || !config.data.augment.empty()) return std::nullopt;
    return accepted_facts(config.model, data).frozen;
}

bool draws_from_torch(ModelConfig const& model, DataSchema const& data) {
    return model.name != "synthetic" && accepted_facts(model, data).draws_from_torch;
}

std::string why_torch_step(TrialConfig const& config) {
    if (!has_lean_spec(config.model)) return "model " + config.model.name;
    if (auto const why = why_large(config.model); !why.empty()) return why;
    return why_not_lean(config, cpu_features());
}

void require_engine(TrialConfig const& config) {
    if (is_synthetic(config.model.name)) return;
    if (why_torch_step(config).empty())
        require_lean(cpu_features());
    else
        torch_library();
}

std::vector<OwnMetricName> own_metrics(ModelConfig const& model, DataSchema const& data) {
    if (find_row(model.name) == nullptr || is_synthetic(model.name) || has_lean_spec(model)) return {};
    Problems told("");  // by check_model
    auto const facts = torch_library().facts(model, data, told);
    return facts ? facts->metrics : std::vector<OwnMetricName>{};
}

void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems) {
    auto const* row = find_row(model.name);
    if (row == nullptr) return complain_of_name(model, problems);
    if (row->entry.synthetic) return check_synthetic(model, data, problems);
    bool const own = model.name == "plugin" || model.name == "torchscript";
    if (data.task == Task::language && model.name != "gpt" && !own)
        return problems.add(model.arguments.at_position(), "/model/name",
                            fmt::format("{} does not fit the dataset (its task is language); use gpt", model.name));
    if (!knows_lean(model)) return torch_library().check(model, data, problems);
    auto const spec = row->lean(model, data, problems);
    if (problems.empty()) pretrained_names(model, specs_of(lean_model(spec)), problems);
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
    if (!why_torch_step(config).empty() || !workspace.in_place())
        return torch_library().make_model(config, manifest, workspace);
    require_lean(cpu_features());
    return make_lean_model(config, manifest, lean_model(lean_spec(config.model, data)), workspace);
}

}  // namespace hopscotch
