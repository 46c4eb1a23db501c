// SPDX-License-Identifier: Apache-2.0
#include "experiment/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace hopscotch {
namespace {

using Names = std::vector<std::string>;

template <class Enum>
struct Name {
    char const* text;
    Enum value;
};

template <class Enum, std::size_t n>
void read_name(ObjectReader& reader, std::string_view key, std::array<Name<Enum>, n> const& table, Enum& out) {
    Names names;
    for (auto const& row : table) names.emplace_back(row.text);
    std::string text;
    reader.read(key, text, one_of(names));
    for (auto const& row : table)
        if (text == row.text) out = row.value;
}

// A choice of which this version has only some.
Check<std::string> available(std::string what, Names now, Names const& later) {
    return [=, known = one_of(now)](std::string const& v) -> std::string {
        if (std::find(later.begin(), later.end(), v) == later.end()) return known(v);
        return fmt::format("{} \"{}\" is not available in this version (available: {})", what, v, fmt::join(now, ", "));
    };
}

void refuse_later_keys(ObjectReader& reader, Names const& later) {
    for (auto const& key : later)
        if (reader.take(key) != nullptr)
            reader.problem(key, fmt::format("\"{}\" is not available in this version (leave it out)", key));
}

// Keys that mean something for another kind only; ignoring them would hide a mistake.
void refuse_foreign_keys(ObjectReader& reader, Names const& keys, std::string_view owner, std::string_view here) {
    for (auto const& key : keys)
        if (reader.take(key) != nullptr)
            reader.problem(key, fmt::format("{} belongs to {} (the name here is \"{}\") leave it out", key, owner, here));
}

Check<double> at_least_zero_below_one() {
    return [](double v) { return v >= 0 && v < 1 ? "" : fmt::format("must be at least 0 and below 1 (got {})", v); };
}

Check<std::string> not_empty() {
    return [](std::string const& v) { return v.empty() ? "must not be empty" : ""; };
}

void require_text(ObjectReader& reader, std::string_view key, std::string& out, std::string_view suggestion) {
    if (!reader.has(key)) {
        reader.take(key);
        return reader.missing(key, suggestion);
    }
    reader.read(key, out, not_empty());
}

OptimizerConfig read_optimizer(ObjectReader reader) {
    OptimizerConfig out;
    constexpr std::array<Name<OptimizerKind>, 3> kinds{
        {{"sgd", OptimizerKind::sgd}, {"adam", OptimizerKind::adam}, {"adamw", OptimizerKind::adamw}}};
    read_name(reader, "name", kinds, out.kind);
    reader.read("lr", out.lr, at_least(0));
    reader.read("weight_decay", out.weight_decay, at_least(0));
    if (out.kind == OptimizerKind::sgd) {
        reader.read("momentum", out.momentum, at_least_zero_below_one());
        reader.read("nesterov", out.nesterov);
        if (out.nesterov && out.momentum <= 0)
            reader.problem("nesterov", "needs momentum > 0 (got 0) set momentum or leave nesterov out");
        refuse_foreign_keys(reader, {"beta1", "beta2", "epsilon"}, "adam and adamw", "sgd");
    } else {
        reader.read("beta1", out.beta1, at_least_zero_below_one());
        reader.read("beta2", out.beta2, at_least_zero_below_one());
        reader.read("epsilon", out.epsilon, above(0));
        refuse_foreign_keys(reader, {"momentum", "nesterov"}, "sgd", out.kind == OptimizerKind::adam ? "adam" : "adamw");
    }
    reader.finish();
    return out;
}

ScheduleConfig read_schedule(ObjectReader reader) {
    ScheduleConfig out;
    constexpr std::array<Name<ScheduleKind>, 3> kinds{
        {{"constant", ScheduleKind::constant}, {"step", ScheduleKind::step}, {"cosine", ScheduleKind::cosine}}};
    constexpr std::array<char const*, 3> names{"constant", "step", "cosine"};
    read_name(reader, "name", kinds, out.kind);
    auto const here = names[static_cast<std::size_t>(out.kind)];
    reader.read("warmup_epochs", out.warmup_epochs, at_least(0));
    if (out.kind == ScheduleKind::step) {
        reader.read("step_epochs", out.step_epochs, above(0));
        reader.read("gamma", out.gamma, above(0));
    } else {
        refuse_foreign_keys(reader, {"step_epochs", "gamma"}, "step", here);
    }
    if (out.kind == ScheduleKind::cosine)
        reader.read("min_lr", out.min_lr, at_least(0));
    else
        refuse_foreign_keys(reader, {"min_lr"}, "cosine", here);
    reader.finish();
    return out;
}

}  // namespace

DataConfig read_data(ObjectReader reader) {
    DataConfig out;
    require_text(reader, "path", out.path, "write the dataset directory, for example \"data/digits\"");
    if (auto const* augment = reader.take("augment"); augment != nullptr) {
        if (!augment->is_array())
            reader.problem("augment", fmt::format("expected an array (got {})", augment->kind()));
        else if (!augment->array().empty())
            reader.problem("augment", "augmentation is not available in this version (write [] or leave it out)");
    }
    constexpr std::array<Name<LastBatch>, 2> last{{{"keep", LastBatch::keep}, {"drop", LastBatch::drop}}};
    read_name(reader, "last_batch", last, out.last_batch);
    std::string validation = "auto";
    reader.read("validation", validation, available("validation", {"auto", "replicated"}, {"sharded"}));
    if (validation == "replicated") out.validation = ValidationData::replicated;
    reader.finish();
    return out;
}

ModelConfig read_model(ObjectReader reader, Json const& section) {
    ModelConfig out;
    require_text(reader, "name", out.name, "see `hopscotch models`");
    Json::Object arguments;
    if (section.is_object())
        for (auto const& member : section.object())
            if (member.key != "name") arguments.push_back(member);
    out.arguments = Json(std::move(arguments));
    out.arguments.place(section.at_position());
    return out;
}

TrainConfig read_train(ObjectReader reader) {
    TrainConfig out;
    reader.read("epochs", out.epochs, at_least(1));
    reader.read("batch_size", out.batch_size, at_least(1));
    constexpr std::array<Name<LossKind>, 2> losses{{{"cross_entropy", LossKind::cross_entropy}, {"mse", LossKind::mse}}};
    read_name(reader, "loss", losses, out.loss);
    reader.read("precision", out.precision, available("precision", {"fp32"}, {"tf32", "fp16", "bf16", "mixed", "fp64"}));
    if (auto const* clip = reader.take("clip_norm"); clip != nullptr && !clip->is_null())
        reader.problem("clip_norm", "gradient clipping is not available yet (write null or leave it out)");
    out.optimizer = read_optimizer(reader.child("optimizer"));
    out.schedule = read_schedule(reader.child("schedule"));
    reader.finish();
    return out;
}

SearchConfig read_search(ObjectReader reader) {
    SearchConfig out;
    reader.read(
        "procedure", out.procedure,
        available("procedure", {"grid", "random"}, {"asha", "hyperband", "pbt", "tpe", "sha", "bohb", "median", "cmaes"}));
    reader.read("metric", out.metric, one_of({"val_accuracy", "val_loss", "val_top5", "train_loss"}));
    out.mode =
        out.metric == "val_loss" || out.metric == "train_loss" ? Mode::min : Mode::max;  // what "better" means by default
    constexpr std::array<Name<Mode>, 2> modes{{{"min", Mode::min}, {"max", Mode::max}}};
    read_name(reader, "mode", modes, out.mode);
    reader.read("trials", out.trials, at_least(1));
    if (out.procedure == "random" && !out.trials)
        if (auto const* given = reader.take("trials"); given == nullptr || given->is_null())
            reader.missing("trials", "say how many configurations random search should draw, for example 16");
    reader.read("in_flight", out.in_flight, at_least(1));
    for (auto const& [key, place] : {std::pair{"start_with", &out.start_with}, std::pair{"forbid", &out.forbid}}) {
        auto const* given = reader.take(key);
        if (given == nullptr) continue;
        if (given->is_array())
            *place = *given;
        else
            reader.problem(key, fmt::format("expected an array of objects (got {})", given->kind()));
    }
    refuse_later_keys(reader, {"sampler", "eta", "min_epochs", "max_epochs", "deterministic", "start_from", "lookahead",
                               "repeats", "folds", "retries", "budget"});
    reader.finish();
    return out;
}

StrategyConfig read_strategy(ObjectReader reader) {
    StrategyConfig out;
    reader.read(
        "name", out.name,
        available("strategy", {"mop", "sequential"}, {"task_parallel", "allreduce", "parameter_server", "model_averaging"}));
    reader.read("policy", out.policy, available("policy", {"planned"}, {"lrtf", "random", "ring"}));
    refuse_later_keys(reader, {"bundle", "algorithm", "bucket_mb", "batch", "mode", "servers", "placement", "staleness",
                               "aggregate", "every", "momentum", "via", "outer", "data"});
    reader.finish();
    return out;
}

RunConfig read_run(ObjectReader reader) {
    RunConfig out;
    require_text(reader, "dir", out.dir, "write the run directory, for example \"runs/digits\"");
    reader.read("device", out.device, one_of({"auto", "cpu", "cuda"}));
    if (auto const* threads = reader.take("threads"); threads != nullptr && threads->is_string()) {
        if (threads->string() != "auto")
            reader.problem("threads", fmt::format("expected \"auto\" or an integer (got \"{}\")", threads->string()));
    } else {
        reader.read("threads", out.threads, at_least(1));
    }
    reader.read("exact", out.exact);
    reader.read("checkpoint_every_s", out.checkpoint_every_s, above(0));
    reader.read("deadline_s", out.deadline_s, above(0));
    reader.read("stall_s", out.stall_s, above(0));
    reader.finish();
    return out;
}

}  // namespace hopscotch
