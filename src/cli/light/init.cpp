// SPDX-License-Identifier: Apache-2.0
// hopscotch init: a first experiment for a dataset, with the reason of each line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/common/commands.hpp"
#include "cli/common/out_file.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/metric.hpp"
#include "experiment/search_config.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_steps_an_epoch = 50;  // at least, if the rows suffice
constexpr std::int64_t k_steps = 3000;         // of a trial that is trained to its end
constexpr std::int64_t k_most_folds = 5;

struct InitOptions {
    std::string dataset;
    std::string out;  // default: standard output
};

struct Choice {
    std::string text;  // JSON
    std::string why;
};

// A model, and the keys of it that are worth a search.
struct ModelChoice {
    Choice model;
    std::vector<Choice> space;
    std::string optimizer;  // JSON
    double least_lr, most_lr;
};

ModelChoice model_for(Manifest const& data) {
    Choice const dropout{R"("model.dropout": { "type": "float", "low": 0.0, "high": 0.5 })", "against overfitting"};
    std::string const adam = R"("name": "adam")";
    if (data.task == Task::language)
        return {{R"("name": "gpt", "layers": 4, "width": 128)", "predicts every next token"},
                {dropout},
                R"("name": "adamw", "weight_decay": 0.1)",
                1e-4,
                3e-3};
    if (data.shape.size() == 3) {
        auto const side = std::min(data.shape[1], data.shape[2]);
        std::string const sgd = R"("name": "sgd", "momentum": 0.9, "weight_decay": 0.0005)";
        if (side < 16) return {{R"("name": "lenet")", "small images"}, {dropout}, adam, 3e-4, 1e-2};
        if (side < 64) return {{R"("name": "cnn")", "images; resnet20 is better and slower"}, {}, sgd, 0.005, 0.2};
        return {{R"("name": "resnet18")", "large images; weights to start from: docs/training.md, init_from"},
                {},
                sgd,
                0.005,
                0.2};
    }
    if (data.shape.size() == 2) return {{R"("name": "lstm", "hidden": 64)", "sequences"}, {dropout}, adam, 3e-4, 1e-2};
    Choice const hidden{R"("model.hidden": [[32], [64], [128, 64], [256, 128]])", "width and depth"};
    if (std::ranges::any_of(data.categories, [](auto count) { return count > 0; }) && data.categories.size() > 1)
        return {
            {R"("name": "wide_and_deep", "hidden": [64])", "a table with categories"}, {hidden, dropout}, adam, 3e-4, 3e-2};
    return {{R"("name": "mlp", "hidden": [64])", "a table"}, {hidden, dropout}, adam, 3e-4, 3e-2};
}

std::int64_t batch_size_for(Manifest const& data) {
    auto const rows = data.rows(Split::train);
    auto const shard = rows / std::ssize(data.train);
    std::int64_t out = 16;
    while (out < 256 && 2 * out * k_steps_an_epoch <= rows && 2 * out <= shard) out *= 2;
    return out;
}

// 3, 9, 27 or 81: asha's rungs are powers of 3.
std::int64_t epochs_for(Manifest const& data, std::int64_t batch) {
    auto const steps = std::max<std::int64_t>(1, data.rows(Split::train) / batch);
    std::int64_t out = 3;
    while (out < 81 && 3 * out * steps <= k_steps) out *= 3;
    return out;
}

Choice loss_for(Task task) {
    switch (task) {
        case Task::regression: return {R"("loss": "mse")", "numbers are predicted; huber and mae mind outliers less"};
        case Task::multilabel: return {R"("loss": "bce_with_logits")", "each output is true or false by itself"};
        default: return {};
    }
}

std::string metric_for(Task task) {
    if (task == Task::regression) return std::string(k_val_r2);
    return task == Task::classification ? SearchConfig().metric : std::string(k_val_loss);
}

Choice search_for(Manifest const& data, std::int64_t epochs) {
    auto const metric = metric_for(data.task);
    if (data.rows(Split::valid) > 0)
        return {fmt::format(R"("procedure": "asha", "trials": 27, "metric": "{}")", metric),
                fmt::format("27 random configurations; after each rung (1, 3, ... of {} epochs) the best third goes on",
                            epochs)};
    auto const folds = std::min<std::int64_t>(k_most_folds, std::ssize(data.train));
    if (folds < 2)
        throw ConfigError(
            "the dataset has no validation rows, and one shard cannot be cut into folds (nothing can be "
            "compared); import it with --valid 0.2");
    return {fmt::format(R"("procedure": "random", "trials": 9, "folds": {}, "metric": "{}")", folds, metric),
            fmt::format("the dataset has no validation rows: each of 9 configurations is trained {} times, each time "
                        "without a part",
                        folds)};
}

// One JSON object that a person may read: `//` comments, a comma after every member.
class Page {
public:
    void comment(std::string const& text) { out_ += fmt::format("{:{}}// {}\n", "", depth_, text); }
    void member(std::string const& text, std::string const& why = "") {
        out_ += fmt::format("{:{}}{},{}\n", "", depth_, text, why.empty() ? "" : "  // " + why);
    }
    void member(Choice const& choice) {
        if (!choice.text.empty()) member(choice.text, choice.why);
    }
    void open(std::string const& key) {
        out_ += fmt::format("{:{}}{}{{\n", "", depth_, key.empty() ? "" : fmt::format("\"{}\": ", key));
        depth_ += 2;
    }
    void close() {
        depth_ -= 2;
        out_ += fmt::format("{:{}}}}{}\n", "", depth_, depth_ > 0 ? "," : "");
    }
    std::string take() { return std::move(out_); }

private:
    std::string out_;
    int depth_ = 0;
};

void write_train(Page& page, Manifest const& data, ModelChoice const& model, std::int64_t batch, std::int64_t epochs) {
    page.open("train");
    page.member(fmt::format("\"epochs\": {}", epochs), "of a trial that is trained to its end");
    page.member(fmt::format("\"batch_size\": {}", batch),
                fmt::format("{} steps an epoch", std::max<std::int64_t>(1, data.rows(Split::train) / batch)));
    page.member(fmt::format("\"optimizer\": {{ {}, \"lr\": {} }}", model.optimizer, model.least_lr), "lr: see space");
    page.member(loss_for(data.task));
    page.close();
}

std::string experiment_for(std::string const& path, Manifest const& data) {
    auto const folder = std::filesystem::absolute(path).lexically_normal();
    auto const name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    auto const model = model_for(data);
    auto const batch = batch_size_for(data), epochs = epochs_for(data, batch);
    bool const photos = data.shape.size() == 3 && data.shape[0] == 3;
    Page page;
    page.comment(fmt::format("{} training and {} validation rows of {}, {} {}, in {} shards", data.rows(Split::train),
                             data.rows(Split::valid), fmt::join(data.shape, "x"), data.outputs,
                             data.task == Task::classification ? "classes" : "outputs", data.train.size()));
    page.comment("docs/experiment.md lists every key.");
    page.open("");
    page.member(fmt::format("\"name\": {}", Json(name).dump()));
    page.member("\"seed\": 42", "the same seed gives the same bits, on any number of trainers");
    page.member(fmt::format("\"data\": {{ \"path\": {}{} }}", Json(path).dump(),
                            photos ? R"(, "augment": ["flip", { "name": "crop", "padding": 4 }])" : ""),
                photos ? "remove \"flip\" where left and right differ in meaning" : "");
    page.member(fmt::format("\"model\": {{ {} }}", model.model.text), model.model.why + "; others: hopscotch models");
    write_train(page, data, model, batch, epochs);
    auto const search = search_for(data, epochs);
    page.comment(search.why);
    page.member(fmt::format("\"search\": {{ {} }}", search.text));
    page.open("space");
    page.member(fmt::format(R"("train.optimizer.lr": {{ "type": "float", "low": {}, "high": {}, "log": true }})",
                            model.least_lr, model.most_lr),
                "matters most");
    for (auto const& choice : model.space) page.member(choice);
    page.close();
    page.member(fmt::format("\"run\": {{ \"dir\": {} }}", Json("runs/" + name).dump()), "results, journal, checkpoints");
    page.close();
    return page.take();
}

int init_command(InitOptions const& options) {
    auto const text = experiment_for(options.dataset, read_manifest(options.dataset));
    if (options.out.empty()) {
        fmt::print("{}", text);
        return 0;
    }
    check_out_file(options.out, "experiment file");
    if (std::filesystem::exists(options.out))
        throw ConfigError(
            fmt::format("--out {}: exists (it may have been edited); name another file, or remove it", options.out));
    write_atomically(options.out, text);
    fmt::print("{}\nnext: hopscotch run {} --dry-run\n", options.out, options.out);
    return 0;
}

}  // namespace

Work add_init(Command command) {
    auto const options = std::make_shared<InitOptions>();
    command.add_option("dataset", options->dataset, "A dataset directory (hopscotch data import)")
        .required()
        .type_name("DATASET");
    command.add_option("--out", options->out, "The experiment file to write (default: standard output)")
        .type_name("FILE.json");
    command.footer("Example: hopscotch init data/digits --out digits.json");
    return on_first_rank([options] { return init_command(*options); });
}

}  // namespace hopscotch
