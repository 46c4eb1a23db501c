// SPDX-License-Identifier: Apache-2.0
#include "experiment/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/model_keys.hpp"
#include "experiment/section_keys.hpp"

namespace hopscotch {
namespace {

constexpr std::array<Name<AugmentKind>, 3> k_augments{
    {{"flip", AugmentKind::flip}, {"crop", AugmentKind::crop}, {"cutout", AugmentKind::cutout}}};

void read_augment_keys(ObjectReader& reader, AugmentConfig& out) {
    Names names;
    for (auto const& row : k_augments) names.emplace_back(row.text);
    reader.describe({"name", "The augmentation."},
                    Json::object({{"type", "string"}, {"enum", Json(names)}, {"required", true}}));
    auto here = read_name(reader, {"name", "The augmentation."}, k_augments, out.kind);
    if (!reader.has("name")) {
        reader.missing("name", "write \"flip\", \"crop\" or \"cutout\"");
        here.clear();  // there is no default
    }
    OwnKeys const own(reader, here);
    if (out.kind == AugmentKind::cutout) out.probability = 1;
    if (own.include("probability", {"flip", "cutout"}))
        reader.read({"probability", "The probability that a row is changed."}, out.probability, between(0, 1));
    if (own.include("padding", {"crop"}))
        reader.read({"padding", "Reflect-pad by this many pixels, then cut the image's own size out at random."},
                    out.padding, at_least(1));
    if (own.include("size", {"cutout"}))
        reader.read({"size", "Side of the square that is set to the mean; parts outside of the image are cut off."},
                    out.size, at_least(1));
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
    // Complaints about a bare name stand at the name: the file has no key "name".
    Problems bare("");
    ObjectReader reader(entry.is_string() ? named : entry, path, entry.is_string() ? bare : problems);
    read_augment_keys(reader, out);
    for (auto const& each : bare.entries()) problems.add(each.at, path, each.problem);
    return out;
}

std::vector<AugmentConfig> read_augments(ObjectReader& reader, Problems& problems) {
    std::vector<AugmentConfig> out;
    if (reader.watched()) {
        auto const item = Json::object({{"type", Json(Names{"string", "object"})}});
        reader.describe({"augment", "Changes of the training rows, in this order; a name alone takes its defaults."},
                        Json::object({{"type", "array"}, {"items", item}, {"default", Json::Array{}}}));
        read_augment(Json::object({}), reader.path_of("augment") + "/*", problems);
    }
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
    require_text(reader, {"path", "The dataset directory, relative to the folder where hopscotch is started."}, out.path,
                 "write the dataset directory, for example \"data/digits\"");
    out.augment = read_augments(reader, problems);
    reader.read({"normalise",
                 "Rows become (x - mean) / stddev of the training rows; false: uint8 as x / 255, float32 as it is."},
                out.normalise);
    constexpr std::array<Name<LastBatch>, 2> last{{{"keep", LastBatch::keep}, {"drop", LastBatch::drop}}};
    read_name(reader, {"last_batch", "The remainder of a shard: keep trains it at its true size, drop skips it."}, last,
              out.last_batch);
    std::string validation = "auto";
    read_choice(reader, {"validation", "Where the validation rows are; so far every trainer holds all of them."}, validation,
                {"auto", "replicated"}, {"sharded"});
    if (validation == "replicated") out.validation = ValidationData::replicated;
    constexpr std::array<Name<Cache>, 3> caches{{{"all", Cache::all}, {"window", Cache::window}, {"none", Cache::none}}};
    read_name(reader, {"cache", "all: shards in memory; window: read ahead in pieces; none: each row from the file."},
              caches, out.cache);
    reader.read(
        {"stage",
         "A directory on each host: shards are copied there first, and checked; empty: they are read where they are."},
        out.stage);
    reader.read({"shuffle_rows", "Rows are shuffled in windows of this many rows; 0: in the whole shard."}, out.shuffle_rows,
                at_least(0));
    reader.finish();
    return out;
}

ModelConfig read_model(ObjectReader reader, Json const& section) {
    ModelConfig out;
    require_text(reader, {"name", "A name of `hopscotch models`."}, out.name, "see `hopscotch models`");
    if (out.name == "plugin" || out.name == "torchscript")
        require_text(reader, {"file", "plugin: the shared object; torchscript: the .pt file."}, out.file,
                     "name the shared object of a plugin, the .pt of a torchscript");
    else
        OwnKeys(reader, out.name).include("file", {"plugin", "torchscript"});
    reader.read({"init_from", "A safetensors file with the first weights; empty: fresh weights."}, out.init_from);
    constexpr std::array<Name<InitFrom>, 3> modes{
        {{"strict", InitFrom::strict}, {"head", InitFrom::head}, {"partial", InitFrom::partial}}};
    read_name(reader,
              {"init_mode", "How the file must fit: same names and shapes, all but the last layer, or whatever fits."},
              modes, out.init_mode);
    reader.read({"freeze", "Patterns of parameter names, * for any text: these parameters keep the values of init_from."},
                out.freeze);
    reader.read(
        {"cache_frozen",
         "The frozen layers at the start of the network compute each row once, as in evaluation, instead of in every "
         "epoch."},
        out.cache_frozen);
    if (out.cache_frozen && out.freeze.empty())
        reader.problem("cache_frozen", "needs freeze (it is about frozen layers); name their parameters there");
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
    // Each argument keeps its own place. Complaints about the arguments as a whole stand at the name of the model.
    auto const* name = section.find("name");
    out.arguments.place(name != nullptr ? name->at_position() : section.at_position());
    return out;
}

namespace {

void read_on_end(ObjectReader& reader, RunConfig& out) {
    reader.read({"on_end",
                 "The command that rank 0 starts when the run has finished, failed or been interrupted: the program and its "
                 "arguments, without a shell. The command finds HOPSCOTCH_RUN_DIR, HOPSCOTCH_STATUS, HOPSCOTCH_BEST_TRIAL "
                 "and HOPSCOTCH_BEST_VALUE in its environment."},
                out.on_end);
    if (!out.on_end.empty() && out.on_end.front().empty())
        reader.problem("on_end", "the first element is empty (the first element names the program); name a program");
    reader.read({"on_end_s", "The command of on_end is killed after this many seconds."}, out.limits.on_end_s,
                up_to(1e9, above(0)));
}

void read_run_limits(ObjectReader& reader, RunConfig& out) {
    auto const limit = up_to(1e9, above(0));  // longer ones are more than clocks count
    reader.read({"checkpoint_every_s",
                 "A trial's newest copy on the disk is not older than this many seconds, if the disk keeps up."},
                out.checkpoints.every_s, above(0));
    reader.read({"checkpoint_mbps", "A trainer writes at most this many megabytes a second; 0: no limit."},
                out.checkpoints.mbps, at_least(0));
    reader.read({"checkpoint_keep",
                 "Newest files kept of a trial that goes on: --resume takes an older file if the newest is damaged."},
                out.checkpoints.keep, up_to(1000, at_least(1)));
    reader.read({"report_every_s", "report.html is renewed after this many seconds; 0: only at the end of each job."},
                out.report_every_s, up_to(1e9, at_least(0)));
    reader.read({"grace_s", "After a signal, the job saves its states and ends within this many seconds."},
                out.limits.grace_s, limit);
    reader.read(
        {"silence_s",
         "A trainer that sends nothing for this many seconds is lost. On rank 0's host, a trainer is lost as soon as "
         "its process has ended."},
        out.limits.silence_s, limit);
    reader.read({"deadline_s", "The longest wait for a reply or a transfer, in seconds."}, out.limits.deadline_s, limit);
    reader.read({"stall_s", "The longest wait for progress of a batch, in seconds."}, out.limits.stall_s, limit);
    if (reader.has("setup_s") || reader.watched())
        reader.read(
            {"setup_s",
             "The longest wait for trainers to open their data, in seconds; never less than deadline_s unless given."},
            out.limits.setup_s, limit);
    else
        out.limits.setup_s = std::max(out.limits.setup_s, out.limits.deadline_s);
}

}  // namespace

namespace {

void read_helper(ObjectReader& reader, RunConfig& out) {
    constexpr std::array<Name<HelperThreads>, 3> helpers{
        {{"auto", HelperThreads::automatic}, {"on", HelperThreads::on}, {"off", HelperThreads::off}}};
    read_name(reader,
              {"helper", "A thread hashes states while the trainer trains; auto: where a core is free, and on a GPU."},
              helpers, out.cpu.helper);
}

void read_gpu(ObjectReader& reader, RunConfig& out) {
    reader.read({"deterministic", "The same bits each time on a GPU; false: faster, and replay can verify nothing."},
                out.gpu.deterministic);
    reader.read({"tf32", "Products of 10 bits' precision on a GPU; null: unless deterministic."}, out.gpu.tf32);
    reader.read({"cudnn_benchmark", "cuDNN tries its algorithms out for each new shape; null: unless deterministic."},
                out.gpu.cudnn_benchmark);
    if (out.gpu.deterministic && out.gpu.cudnn_benchmark.value_or(false))
        reader.problem(
            "cudnn_benchmark",
            "needs deterministic false (each run may pick another algorithm, with other bits); set run.deterministic"
            " to false or leave it out");
    reader.read({"cuda_graphs", "Steps on a GPU are captured and launched at once."}, out.gpu.cuda_graphs);
    reader.read({"fused_norm", "Batch norm on a GPU is one operator with what follows it."}, out.gpu.fused_norm);
}

}  // namespace

RunConfig read_run(ObjectReader reader) {
    RunConfig out;
    require_text(reader, {"dir", "The run directory, which the run makes."}, out.dir,
                 "write the run directory, for example \"runs/digits\"");
    read_choice(reader, {"device", "The device that trains; auto: a GPU where there is one."}, out.device,
                {"auto", "cpu", "cuda"});
    read_word_or(reader, {"threads", "Threads of LibTorch on each trainer; auto: 1."}, {"auto", "an integer", "auto"},
                 out.cpu.threads, up_to(1024, at_least(1)));
    constexpr std::array<Name<SchedulerPlacement>, 2> schedulers{
        {{"dedicated", SchedulerPlacement::dedicated}, {"shared", SchedulerPlacement::shared}}};
    constexpr std::array<Name<KeepBest>, 2> kept{{{"run", KeepBest::run}, {"trial", KeepBest::trial}}};
    read_name(reader, {"scheduler", "dedicated: rank 0 only schedules; shared: its process trains too."}, schedulers,
              out.scheduler);
    read_helper(reader, out);
    read_bytes(reader,
               {"state_memory",
                "Memory of waiting states on a trainer; auto: its part of a third of the free memory of the host."},
               out.states.memory);
    reader.read({"spill", "A directory for states that do not fit into memory; empty: in the run directory."},
                out.states.spill);
    read_name(reader, {"keep_best", "Which best models are kept: one of the run, or one of every trial."}, kept,
              out.keep_best);
    reader.read({"exact", "The same bits for any number of trainers."}, out.exact);
    read_gpu(reader, out);
    reader.read({"tensorboard", "Event files for TensorBoard in tb/, one for each trial."}, out.tensorboard);
    read_run_limits(reader, out);
    read_on_end(reader, out);
    read_inject(reader, out.inject);
    reader.finish();
    return out;
}

}  // namespace hopscotch
