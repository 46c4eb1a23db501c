// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "app/bench/benches.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"
#include "data/import/import_options.hpp"
#include "experiment/config.hpp"
#include "model/feed/feed_speed.hpp"
#include "model/feed/workspace.hpp"
#include "model/gpu/device.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "strategy/common/devices.hpp"

namespace hopscotch {
namespace {

struct BenchStepOptions {
    std::string model = "mlp";
    std::string arguments;     // of the model, as JSON: {"hidden": [128]}; empty: its defaults
    std::string shape = "64";  // of a row: 64, or 3x32x32
    std::int64_t outputs = 10, batch_size = 32, rows = 2048;
    std::vector<std::string> augment;  // flip, crop, cutout
    std::string optimizer = "sgd";     // with momentum; or adam
    std::string device = "cpu";        // as run.device
    std::string precision = "fp32";    // or bf16
    bool fast = false;                 // of a GPU: run.deterministic false
    bool nchw = false;                 // train.channels_last false
    double seconds = 1;
    int repeats = 5;
};

Manifest bench_manifest(BenchStepOptions const& options) {
    Manifest manifest;
    manifest.shape = parse_shape(options.shape);
    manifest.type = FeatureType::uint8;
    manifest.outputs = options.outputs;
    manifest.train = {{"in memory", options.rows, 0}};
    auto const scales = static_cast<std::size_t>(manifest.shape.size() == 3 ? manifest.shape[0] : manifest.row_size());
    manifest.mean.assign(scales, 7.5);
    manifest.stddev.assign(scales, 4.6);
    return manifest;
}

Shard bench_shard(BenchStepOptions const& options, Manifest const& manifest) {
    Shard shard;
    shard.rows = options.rows;
    Rng rng(1);
    for (std::int64_t i = 0; i < options.rows * manifest.row_size(); ++i)
        shard.features.own().push_back(static_cast<std::byte>(rng.below(17)));
    for (std::int64_t i = 0; i < options.rows; ++i)
        shard.labels.push_back(rng.below(static_cast<std::uint32_t>(options.outputs)));
    return shard;
}

TrialConfig bench_config(BenchStepOptions const& options) {
    TrialConfig config;
    config.model.name = options.model;
    config.model.arguments =
        options.arguments.empty() ? Json(Json::Object{}) : parse_json_or_throw(options.arguments, "--arguments");
    config.train.batch_size = static_cast<int>(options.batch_size);
    config.train.epochs = 1000000;
    config.train.optimizer.lr = 0.01;
    for (auto const& name : options.augment) {
        AugmentConfig augment;
        if (name != "flip" && name != "crop" && name != "cutout")
            throw ConfigError(fmt::format("--augment {}: unknown (known: flip, crop, cutout)", name));
        augment.kind = name == "flip" ? AugmentKind::flip : name == "crop" ? AugmentKind::crop : AugmentKind::cutout;
        config.data.augment.push_back(augment);
    }
    if (options.optimizer != "sgd" && options.optimizer != "adam")
        throw ConfigError(fmt::format("--optimizer {}: unknown (known: sgd, adam)", options.optimizer));
    if (options.optimizer == "sgd")
        config.train.optimizer.momentum = 0.9;
    else
        config.train.optimizer.kind = OptimizerKind::adam;
    if (options.precision != "fp32" && options.precision != "bf16")
        throw ConfigError(fmt::format("--precision {}: unknown (known: fp32, bf16)", options.precision));
    config.train.precision = options.precision == "bf16" ? Precision::bf16 : Precision::fp32;
    config.train.channels_last = !options.nchw;
    return config;
}

// The first pass brings the shard to the device.
double least_feed_seconds(TrialConfig const& config, Manifest const& manifest, Workspace& workspace, ShardSource& source) {
    auto least = feed_seconds(config, manifest, workspace, source);
    for (int i = 0; i < 4; ++i) least = std::min(least, feed_seconds(config, manifest, workspace, source));
    return least;
}

int bench_step_command(BenchStepOptions const& options) {
    auto const manifest = bench_manifest(options);
    auto const source = shard_in_memory(bench_shard(options, manifest));
    auto const device = resolve_device(options.device, 0);
    RunConfig run;
    run.deterministic = !options.fast;
    Workspace workspace(device, 1, gpu_mode(run));
    auto const config = bench_config(options);
    auto const model = make_trial_model(config, manifest, workspace);
    auto const pool = std::make_shared<BufferPool>();
    pool->set_pinning(pinning_for(device));
    auto const state = pool->acquire(model.state->layout().bytes);  // where a trainer's states lie
    model.state->initialise(state.bytes(), 1, TrialId(0));
    model.state->bind(state.bytes());
    if (device != "cpu")
        model.training->train_unit(*source, {1, TrialId(0), 0, ShardId(0)}, [] {});  // kernels are loaded, algorithms chosen
    std::vector<double> rates;
    for (int repeat = 0, epoch = 0; repeat < options.repeats; ++repeat) {
        std::int64_t rows = 0;
        auto const start = monotonic_s();
        while (monotonic_s() - start < options.seconds)
            rows += model.training->train_unit(*source, {1, TrialId(0), epoch++, ShardId(0)}, [] {}).rows;
        rates.push_back(static_cast<double>(rows) / (monotonic_s() - start));
    }
    std::sort(rates.begin(), rates.end());
    auto const median = rates[rates.size() / 2];
    auto const feed = least_feed_seconds(config, manifest, workspace, *source) / static_cast<double>(options.rows);
    fmt::print(
        "{{\"bench\": \"step\", \"model\": \"{}\", \"device\": \"{}\", \"precision\": \"{}\", \"batch\": {}, \"optimizer\": "
        "\"{}\", "
        "\"rows_per_s\": {:.0f}, \"min\": "
        "{:.0f}, "
        "\"max\": {:.0f}, \"ms_per_step\": {:.4f}, \"feed_share\": {:.4f}}}\n",
        options.model, device, options.precision, options.batch_size, options.optimizer, median, rates.front(), rates.back(),
        1e3 * static_cast<double>(options.batch_size) / median, feed * median);
    return 0;
}

}  // namespace

Work add_bench_step(CLI::App& command) {
    auto const step = std::make_shared<BenchStepOptions>();
    command.add_option("--model", step->model, "A model of hopscotch models")->capture_default_str()->type_name("MODEL");
    command.add_option("--arguments", step->arguments, "Arguments of the model, as JSON: '{\"hidden\": [512, 256]}'")
        ->type_name("JSON");
    command.add_option("--shape", step->shape, "Shape of a row: 64, or 3x32x32")->capture_default_str();
    command.add_option("--augment", step->augment, "Augmentation (repeatable)")->type_name("flip|crop|cutout");
    command.add_option("--outputs", step->outputs, "Classes")->capture_default_str();
    command.add_option("--batch", step->batch_size, "Rows of a step")->capture_default_str();
    command.add_option("--rows", step->rows, "Rows of the shard")->capture_default_str();
    command.add_option("--optimizer", step->optimizer, "Optimizer; sgd has a momentum")
        ->capture_default_str()
        ->type_name("sgd|adam");
    command.add_option("--device", step->device, "Device of the model")->capture_default_str()->type_name("auto|cpu|cuda");
    command.add_option("--precision", step->precision, "Precision of the step")
        ->capture_default_str()
        ->type_name("fp32|bf16");
    command.add_flag("--fast", step->fast, "On a GPU: with run.deterministic false");
    command.add_flag("--nchw", step->nchw, "With train.channels_last false");
    command.add_option("--seconds", step->seconds, "Length of each repeat")->capture_default_str();
    command.add_option("--repeats", step->repeats, "Number of repeats; their median is printed")->capture_default_str();
    return on_first_rank([step] { return bench_step_command(*step); });
}

}  // namespace hopscotch
