// SPDX-License-Identifier: Apache-2.0
#include "job/read_inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "core/cpu_features.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "core/log.hpp"
#include "experiment/model_files.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/run_code.hpp"
#include "job/run_options.hpp"
#include "model/zoo/trusted_code.hpp"
#include "rundir/recorded_run.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

// UTF-16 and UTF-32 have bytes of zero, and mostly a mark at the beginning.
bool is_wide_text(std::string const& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    auto const begin = read_beginning(path, 4);
    return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff") || begin.find('\0') != begin.npos;
}

std::string read_text(std::string const& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        throw ConfigError(
            fmt::format("{}: cannot be read (no such file?); give the path of an experiment, for example "
                        "configs/digits-grid.json",
                        path));
    try {
        return read_whole(path, ReadFrom::file_or_pipe);
    } catch (DataError const& error) {
        if (is_wide_text(path))
            throw ConfigError(fmt::format("{}: is not UTF-8 (it looks like UTF-16); save the file as UTF-8", path));
        throw ConfigError(error.what());
    }
}

// The experiment as the run keeps it, with the settings of its first command. run.dir is where the directory is now. Leaves
// out the keys that start commands or write elsewhere: the file may come from another user.
std::string text_of_run(RunOptions const& options) {
    if (!holds_run(options.run_dir))
        throw ConfigError(
            fmt::format("{}: holds no run (journal.jsonl or experiment.json is missing); name the run.dir of a "
                        "run",
                        options.run_dir));
    auto document = read_run_facts(options.run_dir).experiment;
    document.set("run.dir", options.run_dir);
    if (options.allow_code) return document.dump(2);
    for (auto const& key : take_out_risky_keys(document))
        log_info(fmt::format("{} of {} is not used (the directory may come from another person); --allow-code uses it", key,
                             options.run_dir));
    return document.dump(2);
}

// The strategy's name in the document, mop by default; none if the value is not a name.
std::optional<std::string> strategy_in(Json const& document) {
    auto const* section = document.find("strategy");
    auto const* name = section != nullptr ? section->find("name") : nullptr;
    if (name == nullptr) return StrategyConfig{}.name;
    return name->is_string() ? std::optional(name->string()) : std::nullopt;
}

// --strategy comes before the settings, which may add to it. A section of the file that has this name already stays.
std::vector<std::string> all_overrides(RunOptions const& options, std::string const& text) {
    auto overrides = options.overrides;
    Problems told("");  // of the file: read_experiment reports them
    if (options.strategy && strategy_in(parse_json(plain_json(text), told)) != options.strategy)
        overrides.insert(overrides.begin(), "strategy=" + Json::object({{"name", *options.strategy}}).dump());
    if (!options.inject.empty()) overrides.push_back("run.inject=" + Json(options.inject).dump());
    return overrides;
}

// The experiment as the run began, which --resume continues; null: it has not begun, or read_earlier_jobs reports an error.
Json began_with(std::string const& run_dir) {
    if (!holds_run(run_dir)) return {};
    try {
        return read_run_facts(run_dir).experiment;
    } catch (DataError const&) {
        return {};
    }
}

// strategy.group_size "auto": a run goes on with the number that it began with.
void keep_groups(Experiment& experiment, Json const& before) {
    if (!experiment.strategy.auto_groups) return;
    auto const* section = before.find("strategy");
    auto const* size = section != nullptr ? section->find("group_size") : nullptr;
    if (size != nullptr && size->is_integer()) set_groups(experiment, static_cast<int>(size->integer()));
}

// train.engine "auto": a run goes on with the step that it began with, and a new one takes the lean step if this CPU can.
void choose_engine(Experiment& experiment, Json const& before) {
    auto& engine = experiment.train.arithmetic.engine;
    if (engine != Engine::automatic) return;
    auto const* section = before.find("train");
    auto const* known = section != nullptr ? section->find("engine") : nullptr;
    bool const lean = known != nullptr ? *known == Json("lean") : cpu_features().has_lean_step();
    engine = lean ? Engine::lean : Engine::torch;
    experiment.document.set("train.engine", lean ? "lean" : "torch");
}

// search.min_epochs: a run goes on with the number that it began with.
void choose_first_decision(Experiment& experiment, Json const& before) {
    auto& first = experiment.search.rule.min_epochs;
    if (first || procedure_traits(experiment.search.procedure).first_share == 0) return;
    auto const* section = before.find("search");
    auto const* known = section != nullptr ? section->find("min_epochs") : nullptr;
    if (known != nullptr && known->is_integer()) first = static_cast<int>(known->integer());
    experiment.document.set("search.min_epochs", first_decision(experiment));
}

}  // namespace

void set_groups(Experiment& experiment, int group_size) {
    experiment.strategy.group_size = group_size;
    experiment.strategy.auto_groups = false;
    experiment.document.set("strategy.group_size", group_size);
}

Experiment experiment_of(RunOptions const& options, Problems& problems) {
    if (options.strategy) strategy_traits(*options.strategy);
    bool const from_run = !options.run_dir.empty();
    auto const text = from_run ? text_of_run(options) : read_text(options.experiment);
    auto const before_choice = options.resume ? began_with : BeganWith();
    auto experiment = read_experiment(text, all_overrides(options, text), problems, before_choice);
    auto const name = strategy_in(experiment.document);
    if (options.strategy && experiment.document.is_object() && name && name != options.strategy)
        throw ConfigError(fmt::format("--strategy says \"{}\" and --set says \"{}\" (strategy.name); leave one of them out",
                                      *options.strategy, *name));
    auto const before = options.resume ? began_with(experiment.run.dir) : Json();
    keep_groups(experiment, before);
    if (problems.empty()) {
        choose_engine(experiment, before);
        choose_first_decision(experiment, before);
    }
    auto files = model_files(experiment);
    if (!from_run) {
        trust_code(files);
    } else {
        std::erase_if(files, [](auto const& file) { return file.ends_with(".safetensors"); });  // weights of init_from
        require_allowed(if_allowed(options.allow_code), std::move(files), options.run_dir);
    }
    return experiment;
}

Manifest manifest_of(Experiment const& experiment, Problems& problems) {
    auto const* data = experiment.document.find("data");
    auto const* path = data != nullptr ? data->find("path") : nullptr;
    try {
        return read_manifest(experiment.data.path);
    } catch (DataError const& error) {
        problems.add(path != nullptr ? path->at_position() : Position{}, "/data/path", error.what());
        problems.throw_if_any();
        throw;
    }
}

}  // namespace hopscotch
