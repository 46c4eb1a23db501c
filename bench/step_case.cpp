// SPDX-License-Identifier: Apache-2.0
#include "bench/step_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "core/rng.hpp"
#include "data/import/import_options.hpp"

namespace hopscotch {
namespace {

StepCase read_case(Json const& json, std::string const& path, Problems& problems, StepCase out) {
    ObjectReader reader(json, path, problems);
    reader.read("name", out.name);
    reader.read("model", out.model);
    if (auto const* arguments = reader.take("arguments")) out.arguments = arguments->dump();
    reader.read("shape", out.shape);
    reader.read("outputs", out.outputs, at_least(1));
    reader.read("batch", out.batch, at_least(1));
    reader.read("rows", out.rows, at_least(1));
    reader.read("augment", out.augment);
    reader.read("optimizer", out.optimizer);
    reader.read("precision", out.precision);
    reader.read("engine", out.engine);
    reader.read("fast", out.fast);
    reader.read("nchw", out.nchw);
    reader.read("graphs", out.graphs);
    reader.take("bars");  // the values to compare the result with: not used here
    reader.finish();
    return out;
}

AugmentKind augmentation_named(std::string const& name) {
    if (name == "flip") return AugmentKind::flip;
    if (name == "crop") return AugmentKind::crop;
    if (name == "cutout") return AugmentKind::cutout;
    throw ConfigError(fmt::format("--augment {}: unknown (known: flip, crop, cutout)", name));
}

}  // namespace

std::vector<StepCase> read_step_cases(std::filesystem::path const& file, StepCase const& defaults) {
    auto const json = parse_json_or_throw(read_whole(file), file.string());
    if (!json.is_array())
        throw ConfigError(file.string() + ": expected an array of cases (got " + std::string(json.kind()) + ")");
    Problems problems(file.string());
    std::vector<StepCase> out;
    for (auto const& each : json.array()) out.push_back(read_case(each, fmt::format("/{}", out.size()), problems, defaults));
    problems.throw_if_any();
    return out;
}

Manifest manifest_of(StepCase const& step) {
    Manifest manifest;
    manifest.shape = parse_shape(step.shape);
    manifest.type = FeatureType::uint8;
    manifest.outputs = step.outputs;
    manifest.train = {{"in memory", step.rows, 0}};
    auto const scales = static_cast<std::size_t>(manifest.shape.size() == 3 ? manifest.shape[0] : manifest.row_size());
    manifest.features.mean.assign(scales, 7.5);
    manifest.features.stddev.assign(scales, 4.6);
    return manifest;
}

// Bytes from 0 to 15, eight at a time: the rows of a bench of ResNet-50 are 616 MB.
Shard shard_of(StepCase const& step, Manifest const& manifest) {
    Shard shard;
    shard.rows = step.rows;
    Rng rng(1);
    auto& bytes = shard.features.own();
    bytes.resize(static_cast<std::size_t>(step.rows * manifest.row_size()));
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
        auto const word = rng.next_u64() & 0x0f0f0f0f0f0f0f0fU;
        std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
    }
    for (std::int64_t i = 0; i < step.rows; ++i) shard.labels.push_back(rng.below(static_cast<std::uint32_t>(step.outputs)));
    return shard;
}

TrialConfig config_of(StepCase const& step) {
    TrialConfig config;
    config.model.name = step.model;
    config.model.arguments =
        step.arguments.empty() ? Json(Json::Object{}) : parse_json_or_throw(step.arguments, "--arguments");
    config.train.batch_size = static_cast<int>(step.batch);
    config.train.epochs = 1000000;
    config.train.optimizer.lr = 0.01;
    for (auto const& name : step.augment) {
        AugmentConfig augment;
        augment.kind = augmentation_named(name);
        config.data.augment.push_back(augment);
    }
    if (step.optimizer != "sgd" && step.optimizer != "adam")
        throw ConfigError(fmt::format("--optimizer {}: unknown (known: sgd, adam)", step.optimizer));
    if (step.optimizer == "sgd")
        config.train.optimizer.momentum = 0.9;
    else
        config.train.optimizer.kind = OptimizerKind::adam;
    if (step.precision != "fp32" && step.precision != "bf16")
        throw ConfigError(fmt::format("--precision {}: unknown (known: fp32, bf16)", step.precision));
    config.train.arithmetic.precision = step.precision == "bf16" ? Precision::bf16 : Precision::fp32;
    if (step.engine != "lean" && step.engine != "torch")
        throw ConfigError(fmt::format("--engine {}: unknown (known: lean, torch)", step.engine));
    config.train.arithmetic.engine = step.engine == "lean" ? Engine::lean : Engine::torch;
    config.train.arithmetic.channels_last = !step.nchw;
    return config;
}

}  // namespace hopscotch
