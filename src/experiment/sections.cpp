// SPDX-License-Identifier: Apache-2.0
#include "experiment/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/section_keys.hpp"

namespace hopscotch {
namespace {

constexpr std::array<Name<AugmentKind>, 3> k_augments{
    {{"flip", AugmentKind::flip}, {"crop", AugmentKind::crop}, {"cutout", AugmentKind::cutout}}};

// All other keys of the section are the model's own.
constexpr std::array<std::string_view, 5> k_model_keys{"name", "file", "init_from", "init_mode", "freeze"};

void read_augment_keys(ObjectReader& reader, AugmentConfig& out) {
    auto here = read_name(reader, "name", k_augments, out.kind);
    if (!reader.has("name")) {
        reader.missing("name", "write \"flip\", \"crop\" or \"cutout\"");
        here.clear();  // there is no default
    }
    OwnKeys const own(reader, here);
    if (out.kind == AugmentKind::cutout) out.probability = 1;
    if (own.include("probability", {"flip", "cutout"})) reader.read("probability", out.probability, between(0, 1));
    if (own.include("padding", {"crop"})) reader.read("padding", out.padding, at_least(1));
    if (own.include("size", {"cutout"})) reader.read("size", out.size, at_least(1));
    reader.finish();
}

// A name, or an object with a name and its keys.
AugmentConfig read_augment(Json const& entry, std::string const& path, Problems& problems) {
    AugmentConfig out;
    if (!entry.is_object() && !entry.is_string()) {
        problems.add(entry.at_position(), path, fmt::format("expected a name or an object (got {})", entry.kind()));
        return out;
    }
    auto named = Json::object({{"name", entry}});
    named.place(entry.at_position());
    // A bare name is told at itself: it has no key "name" in the file.
    Problems bare("");
    ObjectReader reader(entry.is_string() ? named : entry, path, entry.is_string() ? bare : problems);
    read_augment_keys(reader, out);
    for (auto const& each : bare.entries()) problems.add(each.at, path, each.problem);
    return out;
}

std::vector<AugmentConfig> read_augments(ObjectReader& reader, Problems& problems) {
    std::vector<AugmentConfig> out;
    auto const* augment = reader.take("augment");
    if (augment == nullptr) return out;
    if (!augment->is_array()) {
        reader.problem("augment", fmt::format("expected an array (got {})", augment->kind()));
        return out;
    }
    for (auto const& entry : augment->array())
        out.push_back(read_augment(entry, fmt::format("{}/{}", reader.path_of("augment"), out.size()), problems));
    return out;
}

}  // namespace

DataConfig read_data(ObjectReader reader, Problems& problems) {
    DataConfig out;
    require_text(reader, "path", out.path, "write the dataset directory, for example \"data/digits\"");
    out.augment = read_augments(reader, problems);
    reader.read("normalise", out.normalise);
    constexpr std::array<Name<LastBatch>, 2> last{{{"keep", LastBatch::keep}, {"drop", LastBatch::drop}}};
    read_name(reader, "last_batch", last, out.last_batch);
    std::string validation = "auto";
    read_choice(reader, "validation", validation, {"auto", "replicated"}, {"sharded"});
    if (validation == "replicated") out.validation = ValidationData::replicated;
    constexpr std::array<Name<Cache>, 3> caches{{{"all", Cache::all}, {"window", Cache::window}, {"none", Cache::none}}};
    read_name(reader, "cache", caches, out.cache);
    reader.read("stage", out.stage);
    reader.read("shuffle_rows", out.shuffle_rows, at_least(0));
    reader.finish();
    return out;
}

ModelConfig read_model(ObjectReader reader, Json const& section) {
    ModelConfig out;
    require_text(reader, "name", out.name, "see `hopscotch models`");
    if (out.name == "plugin" || out.name == "torchscript")
        require_text(reader, "file", out.file, "name the shared object of a plugin, the .pt of a torchscript");
    else
        OwnKeys(reader, out.name).include("file", {"plugin", "torchscript"});
    reader.read("init_from", out.init_from);
    constexpr std::array<Name<InitFrom>, 3> modes{
        {{"strict", InitFrom::strict}, {"head", InitFrom::head}, {"partial", InitFrom::partial}}};
    read_name(reader, "init_mode", modes, out.init_mode);
    reader.read("freeze", out.freeze);
    if (out.init_from.empty() && !out.freeze.empty())
        reader.problem("freeze", "needs init_from (frozen parameters are not trained, so they need values); name a file");
    if (out.init_from.empty() && reader.has("init_mode"))
        reader.problem("init_mode",
                       "needs init_from (the mode says how that file must fit); name a file, or leave init_mode out");
    Json::Object arguments;
    if (section.is_object())
        for (auto const& member : section.object())
            if (std::find(k_model_keys.begin(), k_model_keys.end(), member.key) == k_model_keys.end())
                arguments.push_back(member);
    out.arguments = Json(std::move(arguments));
    // Each argument keeps its own place. What is said of them as a whole is said of the model that was named.
    auto const* name = section.find("name");
    out.arguments.place(name != nullptr ? name->at_position() : section.at_position());
    return out;
}

namespace {

void read_run_limits(ObjectReader& reader, RunConfig& out) {
    auto const limit = up_to(1e9, above(0));  // longer ones are more than clocks count
    reader.read("checkpoint_every_s", out.checkpoint_every_s, above(0));
    reader.read("checkpoint_mbps", out.checkpoint_mbps, at_least(0));
    reader.read("checkpoint_keep", out.checkpoint_keep, up_to(1000, at_least(1)));
    reader.read("report_every_s", out.report_every_s, up_to(1e9, at_least(0)));
    reader.read("grace_s", out.grace_s, limit);
    reader.read("silence_s", out.silence_s, limit);
    reader.read("deadline_s", out.deadline_s, limit);
    reader.read("stall_s", out.stall_s, limit);
    if (reader.has("setup_s"))
        reader.read("setup_s", out.setup_s, limit);
    else
        out.setup_s = std::max(out.setup_s, out.deadline_s);
}

}  // namespace

RunConfig read_run(ObjectReader reader) {
    RunConfig out;
    require_text(reader, "dir", out.dir, "write the run directory, for example \"runs/digits\"");
    read_choice(reader, "device", out.device, {"auto", "cpu", "cuda"});
    if (auto const* threads = reader.take("threads"); threads != nullptr && threads->is_string()) {
        if (threads->string() != "auto")
            reader.problem("threads", fmt::format("expected \"auto\" or an integer (got \"{}\")", threads->string()));
    } else {
        reader.read("threads", out.threads, up_to(1024, at_least(1)));
    }
    constexpr std::array<Name<SchedulerPlacement>, 2> schedulers{
        {{"dedicated", SchedulerPlacement::dedicated}, {"shared", SchedulerPlacement::shared}}};
    constexpr std::array<Name<KeepBest>, 2> kept{{{"run", KeepBest::run}, {"trial", KeepBest::trial}}};
    read_name(reader, "scheduler", schedulers, out.scheduler);
    read_bytes(reader, "state_memory", out.state_memory);
    reader.read("spill", out.spill);
    read_name(reader, "keep_best", kept, out.keep_best);
    reader.read("exact", out.exact);
    reader.read("deterministic", out.deterministic);
    reader.read("tf32", out.tf32);
    reader.read("cudnn_benchmark", out.cudnn_benchmark);
    if (out.deterministic && out.cudnn_benchmark.value_or(false))
        reader.problem(
            "cudnn_benchmark",
            "needs deterministic false (each run may pick another algorithm, with other bits); set run.deterministic"
            " to false or leave it out");
    reader.read("cuda_graphs", out.cuda_graphs);
    reader.read("tensorboard", out.tensorboard);
    read_run_limits(reader, out);
    read_inject(reader, out.inject);
    reader.finish();
    return out;
}

}  // namespace hopscotch
