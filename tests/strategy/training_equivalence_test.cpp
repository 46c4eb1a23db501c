// SPDX-License-Identifier: Apache-2.0
// Sequential equivalence of everything a trial can be made of: every option of training and data, and every model of the
// zoo.
#include <array>
#include <fstream>
#include <iterator>
#include <set>

#include "alone.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace training_equivalence_test {

using namespace testing;

// These trials by mop on two trainers, four shards, data and model as `prepared` leaves the document.
void run_trials(World& world, std::function<void(Json&, std::filesystem::path const&)> const& prepare,
                std::vector<Assignment> const& trials) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    auto described = document((directory.path() / "data").string(), 7, "mop");
    prepare(described, directory.path() / "data");
    auto const experiment = read_document(described);
    expect_equal(run_as_scheduler(world, experiment, 4, trials), experiment, trials, 4);
    barrier(world);
}

// Everything of train and data that a state, an order or a batch could depend on.
TEST(Training, EveryFeatureEqualsOneProcessAlone) {
    auto const object = [](char const* text) { return parse_json_or_throw(text, "test"); };
    std::vector<Assignment> const trials{
        {{"train.optimizer", object(R"({"name": "rmsprop", "lr": 0.01, "momentum": 0.5, "centered": true})")}},
        {{"train.optimizer", object(R"({"name": "adagrad", "lr": 0.05, "lr_decay": 0.01})")}},
        {{"train.accumulate", 3}, {"train.clip_norm", 0.5}},
        {{"train.clip_value", 0.01}, {"train.label_smoothing", 0.1}},
        {{"train.ema", 0.9}},
        {{"train.schedule", object(R"({"name": "plateau", "patience": 0, "threshold": 0.5})")}},
        {{"train.schedule", object(R"({"name": "one_cycle"})")}, {"train.precision", "bf16"}},
        {{"train.class_weights", std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
        {{"model", object(R"({"name": "mlp", "hidden": [9], "batch_norm": true, "dropout": 0.2})")}},
        {{"data.augment", object(R"(["flip", {"name": "crop", "padding": 2}, {"name": "cutout", "size": 3}])")}},
        {{"data.shuffle_rows", 8}},
        {{"data.normalise", false}},
    };
    for (std::string const cache : {"window", "all", "none"})
        on_every_rank(3, [&](World& world) {
            auto const prepare = [&](Json& described, std::filesystem::path const& data) {
                make_tiny_dataset(data, 4, 30);
                described["data"]["cache"] = Json(cache);
            };
            bool const all = long_suite() || cache == "window";
            run_trials(world, prepare, all ? trials : std::vector(trials.end() - 3, trials.end()));  // those about data
        });
}

// Cross-validation: training without a part of the shards, validation on just these, wherever they are.
TEST(Training, FoldsEqualOneProcessAlone) {
    for (std::string const cache : {"window", "all"}) {
        if (!long_suite() && cache == "all") break;
        on_every_rank(3, [&](World& world) {
            auto const prepare = [&](Json& described, std::filesystem::path const& data) {
                make_tiny_dataset(data, 4, 30);
                described["data"]["cache"] = Json(cache);
                described["search"]["folds"] = 3;
            };
            std::vector<Assignment> trials;
            for (int fold = 0; fold < 3; ++fold)
                for (double const lr : {0.05, 0.1}) trials.push_back({{"train.optimizer.lr", lr}, {"search.fold", fold}});
            trials.push_back(
                {{"model",
                  parse_json_or_throw(R"({"name": "mlp", "hidden": [9], "batch_norm": true, "dropout": 0.2})", "test")},
                 {"train.optimizer.lr", 0.05},
                 {"search.fold", 1}});
            run_trials(world, prepare, trials);
        });
    }
}

TEST(Training, TheLeanStepEqualsOneProcessAlone) {
    on_every_rank(3, [&](World& world) {
        auto const prepare = [&](Json& described, std::filesystem::path const& data) {
            make_tiny_dataset(data, 4, 30);
            described["train"]["engine"] = "lean";
        };
        std::vector<Assignment> trials;
        for (auto const* model : {R"({"name": "logistic"})", R"({"name": "mlp", "hidden": [9, 5], "dropout": 0.2})",
                                  R"({"name": "mlp", "hidden": [9], "batch_norm": true, "activation": "tanh"})"})
            for (auto const* optimizer : {R"({"name": "sgd", "lr": 0.05, "momentum": 0.9})",
                                          R"({"name": "adamw", "lr": 0.01, "weight_decay": 0.1})"})
                for (double const ema : {0.0, 0.9})
                    trials.push_back({{"model", parse_json_or_throw(model, "test")},
                                      {"train.optimizer", parse_json_or_throw(optimizer, "test")},
                                      {"train.ema", ema}});
        run_trials(world, prepare, trials);
    });
}

// Every model of the zoo, large ones at reduced width, on data that it takes.
struct ZooCase {
    Manifest data;
    std::vector<std::string> models;
};

Manifest described(Task task, std::vector<std::int64_t> shape, std::int64_t outputs,
                   std::vector<std::int64_t> categories = {}) {
    Manifest manifest;
    manifest.task = task;
    manifest.shape = std::move(shape);
    manifest.outputs = outputs;
    manifest.categories = std::move(categories);
    return manifest;
}

// A model with no row below: its case of the parity vectors, which every model has.
ZooCase parity_case(std::string_view model) {
    auto const path = HOPSCOTCH_SOURCE_DIR "/tests/parity/zoo_vectors.json";
    std::ifstream in(path);
    auto const vectors = parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), path);
    auto const integers = [](Json const& array) {
        std::vector<std::int64_t> out;
        for (auto const& value : array.array()) out.push_back(value.integer());
        return out;
    };
    for (auto const& each : vectors.at("cases").array()) {
        if (each.at("model").at("name").string() != model) continue;
        auto const& data = each.at("data");
        auto task = Task::classification;
        for (auto const known : {Task::regression, Task::multilabel, Task::language})
            if (name_of(known) == data.at("task").string()) task = known;
        return {described(task, integers(data.at("shape")), data.at("outputs").integer(), integers(data.at("categories"))),
                {each.at("model").dump()}};
    }
    ADD_FAILURE() << model << " needs a row in tests/parity/make_zoo_vectors.py";
    return {};
}

std::vector<ZooCase> zoo_cases() {
    std::vector<ZooCase> out{
        {described(Task::classification, {3, 32, 32}, 4),
         {R"({"name": "logistic"})", R"({"name": "mlp", "hidden": [5]})", R"({"name": "lenet"})",
          R"({"name": "cnn", "channels": [4, 6]})", R"({"name": "resnet20", "width": 2})",
          R"({"name": "resnet32", "width": 2})", R"({"name": "resnet56", "width": 2})",
          R"({"name": "resnet18", "width": 4, "stem": "cifar"})", R"({"name": "resnet34", "width": 4})",
          R"({"name": "resnet50", "width": 4})", R"({"name": "vgg16", "width": 2, "hidden": 8})",
          R"({"name": "vgg16_bn", "width": 2, "hidden": 8})", R"({"name": "mobilenet_v2", "width": 0.1})",
          R"({"name": "vit", "patch": 8, "width": 12, "depth": 2, "heads": 3, "mlp": 16, "dropout": 0.1})"}},
        {described(Task::classification, {7, 3}, 4), {R"({"name": "lstm", "hidden": 6, "layers": 2, "dropout": 0.2})"}},
        {described(Task::language, {9}, 11, {11}),
         {R"({"name": "gpt", "layers": 2, "width": 8, "heads": 2, "dropout": 0.1})"}},
        {described(Task::multilabel, {5}, 3, {0, 7, 0, 4, 9}),
         {R"({"name": "wide_and_deep", "embedding": 3, "hidden": [6]})"}},
        {described(Task::regression, {5}, 2), {R"({"name": "mlp", "hidden": [6]})"}},
    };
    std::set<std::string> covered{"synthetic", "plugin", "torchscript"};  // no training; their own tests
    for (auto const& each : out)
        for (auto const& model : each.models) covered.insert(parse_json_or_throw(model, "test").at("name").string());
    for (auto const& entry : zoo())
        if (!covered.contains(std::string(entry.name))) out.push_back(parity_case(entry.name));
    return out;
}

TEST(Zoo, EveryModelEqualsOneProcessAlone) {
    for (auto const& zoo_case : zoo_cases()) {
        std::vector<Assignment> trials;
        std::array const optimizers{R"({"name": "sgd", "lr": 0.001, "momentum": 0.9})", R"({"name": "adam", "lr": 0.001})"};
        for (std::size_t m = 0; m < zoo_case.models.size(); ++m)
            for (std::size_t o = 0; o < optimizers.size(); ++o)
                if (long_suite() || m % 2 == o)
                    trials.push_back({{"model", parse_json_or_throw(zoo_case.models[m], "test")},
                                      {"train.optimizer", parse_json_or_throw(optimizers[o], "test")}});
        on_every_rank(3, [&](World& world) {
            auto const task = zoo_case.data.task;
            auto const prepare = [&](Json& described, std::filesystem::path const& data) {
                make_random_dataset(data, zoo_case.data, 4, 9);
                described["model"] = trials.front().front().second;
                described["train"]["loss"] = Json(task == Task::multilabel   ? "bce_with_logits"
                                                  : task == Task::regression ? "huber"
                                                                             : "cross_entropy");
            };
            run_trials(world, prepare, trials);
        });
    }
}

}  // namespace training_equivalence_test
}  // namespace hopscotch
