// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "app/check_metrics.hpp"
#include "app/measure.hpp"
#include "app/prepared_run.hpp"
#include "app/start_from.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/augment.hpp"
#include "data/shard_writer.hpp"
#include "data/verify.hpp"
#include "experiment/model_files.hpp"
#include "experiment/search_section.hpp"
#include "run/run_directory.hpp"
#include "search/search.hpp"
#include "strategy/check.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

constexpr int k_checked_trials = 32;

std::string read_text(std::string const& path) {
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path))
        throw ConfigError(
            fmt::format("{}: cannot be read (no such file?) give the path of an experiment, for example "
                        "configs/digits-grid.json",
                        path));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// What the document calls its strategy, mop by default; none if what stands there is no name.
std::optional<std::string> strategy_in(Json const& document) {
    auto const* section = document.find("strategy");
    auto const* name = section != nullptr ? section->find("name") : nullptr;
    if (name == nullptr) return StrategyConfig{}.name;
    return name->is_string() ? std::optional(name->string()) : std::nullopt;
}

// --strategy comes before the settings, which may add to it. A section of the file that has this name already stays.
std::vector<std::string> all_overrides(RunOptions const& options, std::string const& text) {
    auto overrides = options.overrides;
    Problems told("");  // of the file: read_experiment says them
    if (options.strategy && strategy_in(parse_json(text, told)) != options.strategy)
        overrides.insert(overrides.begin(), "strategy=" + Json::object({{"name", *options.strategy}}).dump());
    if (!options.inject.empty()) overrides.push_back("run.inject=" + Json(options.inject).dump());
    return overrides;
}

Experiment experiment_of(RunOptions const& options, Problems& problems) {
    if (options.strategy) strategy_named(*options.strategy);
    auto const text = read_text(options.experiment);
    auto experiment = read_experiment(text, all_overrides(options, text), problems);
    auto const name = strategy_in(experiment.document);
    if (options.strategy && experiment.document.is_object() && name && name != options.strategy)
        throw ConfigError(fmt::format("--strategy says \"{}\" and --set says \"{}\" (strategy.name) leave one of them out",
                                      *options.strategy, *name));
    return experiment;
}

// A missing or foreign dataset is bad input, told at the place in the file that names it.
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

// Where the value at this path ("/data/augment/0") is written: there, in the space, or at the innermost part that exists.
Position place_of(std::string_view path, Json document, Assignment const& assignment) {
    for (auto const& [dotted, value] : assignment) document.set(dotted, value);
    auto const* at = &document;
    for (std::size_t begin = 1; begin < path.size();) {
        auto const end = std::min(path.find('/', begin), path.size());
        auto const part = path.substr(begin, end - begin);
        auto const* child = at->find(part);
        if (std::size_t const i = std::strtoul(std::string(part).c_str(), nullptr, 10);
            at->is_array() && i < at->array().size())
            child = &at->array()[i];
        if (child == nullptr) break;
        at = child;
        begin = end + 1;
    }
    return at->at_position();
}

// What else is wrong with an experiment that the reader has refused: its dataset, its model's arguments. All errors are told
// at once.
[[noreturn]] void tell_the_rest(Experiment const& experiment, Problems& problems) {
    auto const sound = [&](std::string_view section) {
        return std::ranges::none_of(problems.entries(), [&](auto const& entry) {
            return entry.path.size() <= 1 || entry.path.starts_with(section);
        });
    };
    bool const has_model = sound("/model"), has_loss = sound("/train/loss");
    if (sound("/data")) {
        auto const manifest = manifest_of(experiment, problems);
        Problems found("");
        if (has_model && has_loss)
            check_model(TrialConfig{experiment.model, experiment.train, experiment.data}, schema_of(manifest), found);
        for (auto const& [at, path, problem] : found.entries())
            if (path.starts_with("/model"))
                problems.add(at.line != 0 ? at : place_of(path, experiment.document, {}), path, problem);
    }
    throw ConfigError(problems.text());
}

LossKind natural_loss(Task task) {
    switch (task) {
        case Task::regression: return LossKind::mse;
        case Task::multilabel: return LossKind::bce_with_logits;
        default: return LossKind::cross_entropy;
    }
}

// Every trial's configuration as the model zoo sees it; the first trial that has complaints is enough.
void check_trials(PreparedRun const& prepared, Problems& problems) {
    auto const& experiment = prepared.experiment;
    auto const check = [&](TrialConfig const& config, Assignment const& assignment = {}) {
        Problems found("");
        check_model(config, prepared.schema, found);
        check_augment(config.data, prepared.manifest, found);
        check_strategy(experiment, config, prepared.trainers, prepared.shards, found);
        for (auto const& [at, path, problem] : found.entries())
            problems.add(at.line != 0 ? at : place_of(path, experiment.document, assignment), path, problem);
    };
    check(TrialConfig{experiment.model, experiment.train, experiment.data});
    auto const search = make_search(experiment, prepared.context);
    // Of a search that decides, the first ones: what comes later and cannot be built ends its own trial only.
    for (int i = 0; problems.empty() && (search->decides_nothing() || i < k_checked_trials); ++i) {
        auto const proposal = search->next();
        if (!proposal) return;
        auto const config = resolve(experiment, proposal->assignment, problems);
        if (problems.empty()) check(config, proposal->assignment);
    }
}

// Dedicated servers own no shards: the advice is about the trainers before them.
std::string idle_advice(PreparedRun const& prepared) {
    auto const& strategy = prepared.experiment.strategy;
    auto const& entry = strategy_named(strategy.name);
    if (entry.rows == Rows::travel) return "";
    int const last = prepared.trainers, workers = entry.all_trainers ? trainers_with_data(strategy, last) : last;
    auto advice = shard_advice(prepared.shards, workers);
    if (advice.empty() || workers == last) return advice;
    if (workers + 1 == last) return fmt::format("trainer {} (rank {}) only serves; without it: {}", workers, last, advice);
    return fmt::format("trainers {}-{} (ranks {}-{}) only serve; without them: {}", workers, last - 1, workers + 1, last,
                       advice);
}

std::vector<std::string> notes_for(PreparedRun const& prepared) {
    std::vector<std::string> notes;
    if (auto advice = idle_advice(prepared); !advice.empty()) notes.push_back(std::move(advice));
    std::int64_t smallest = INT64_MAX;
    for (auto const& shard : prepared.manifest.train) smallest = std::min(smallest, shard.rows);
    std::int64_t largest_batch = 0;
    for (auto const& trial : prepared.director->trials())
        largest_batch = std::max<std::int64_t>(largest_batch, prepared.config_of(trial.assignment).train.batch_size);
    if (largest_batch > smallest)
        notes.push_back(
            fmt::format("batch_size {} is larger than a shard ({} rows): such a unit is a single step of all its rows",
                        largest_batch, smallest));
    if (auto const links = links_out_of(prepared.experiment.data.path, prepared.manifest); !links.empty())
        notes.push_back(fmt::format("shards are links out of {}: {}", prepared.experiment.data.path, links));
    if (prepared.synthetic)
        notes.push_back("the model is synthetic: it sleeps instead of training, its losses and accuracies mean nothing");
    return notes;
}

TrialConfig trial_config_of(Experiment const& experiment, Assignment const& assignment) {
    Problems problems("trial");
    auto config = resolve(experiment, assignment, problems);
    problems.throw_if_any();
    return config;
}

std::map<std::string, std::uint64_t> hashes_of(std::set<std::string> const& files) {
    std::map<std::string, std::uint64_t> out;
    for (auto const& file : files) {
        try {
            out[file] = hash_file(file);
        } catch (DataError const& error) {
            throw ConfigError(error.what());
        }
    }
    return out;
}

void prepare_director(PreparedRun& prepared) {
    auto const& config = prepared.experiment.search;
    auto search = make_search(prepared.experiment, prepared.context);
    auto const& strategy = prepared.experiment.strategy.name;
    if (search->clones() && (strategy == "parameter_server" || strategy == "model_averaging"))
        throw ConfigError(fmt::format(
            "/search/procedure: {} lets trials take over each other's states, which {} keeps in parts on several trainers "
            "use another strategy",
            config.procedure, strategy));
    auto const& strategy_config = prepared.experiment.strategy;
    if (config.copies() > 1 && strategy == "model_averaging" && strategy_config.momentum == SlotPolicy::local)
        throw ConfigError(
            "/search: repeats and folds need the best state of every trial, which model_averaging with strategy.momentum "
            "\"local\" "
            "has in parts on several trainers; use \"averaged\" or another strategy");
    prepared.decides = !search->decides_nothing();
    prepared.plan = plan_of(prepared.experiment, prepared.context);
    // Decisions must not depend on the trainers.
    auto in_flight = config.in_flight.value_or(prepared.decides ? 2 * prepared.shards : 4 * prepared.trainers);
    // What was alive at a time in a job before is so again, however many trainers there are now.
    if (prepared.resumption && !prepared.decides && !config.in_flight) {
        auto const& [facts, journal, files, damaged] = *prepared.resumption;
        in_flight =
            std::max(in_flight, facts.in_flight > 0 ? facts.in_flight : static_cast<std::int64_t>(journal.most_alive));
    }
    prepared.admits = in_flight;
    DirectorOptions options;
    options.unit_cost = [experiment = prepared.experiment, schema = prepared.schema, shards = prepared.shards](
                            Assignment const& assignment) { return unit_cost_of(experiment, assignment, schema, shards); };
    options.shards = prepared.shards;
    options.in_flight = in_flight;
    options.lookahead = config.lookahead;
    options.decide_by = config.deterministic ? DecideBy::virtual_time : DecideBy::arrival;
    prepared.director = make_director(prepared.experiment, std::move(search), std::move(options));
    if (prepared.director->trials().empty())
        throw ConfigError(fmt::format(
            "/search/start_from: {} has tried every configuration of the space (nothing is left to train) widen the space",
            config.start_from));
    prepared.in_flight = std::min(static_cast<std::int64_t>(prepared.director->trials().size()), in_flight);
}

}  // namespace

double unit_cost_of(Experiment const& experiment, Assignment const& assignment, DataSchema const& schema, int shards) {
    return flops_per_row(trial_config_of(experiment, assignment).model, schema) * static_cast<double>(schema.train_rows) /
           shards;
}

TrialConfig PreparedRun::config_of(Assignment const& assignment) const { return trial_config_of(experiment, assignment); }

void require_same_files(PreparedRun const& prepared) {
    for (auto const& [path, hash] : hashes_of(model_files(prepared.experiment)))
        if (hash != prepared.files.at(path))
            throw CommError(fmt::format(
                "{}: was replaced while the run went on (the trials began with another file) restore it, then --resume goes "
                "on",
                path));
}

void prepare_to_go_on(PreparedRun& prepared) {
    prepared.resumption =
        read_resumption(prepared.experiment, {to_hex(dataset_hash(prepared.manifest)), prepared.files, prepared.trainers});
    prepared.run_id = prepared.resumption->facts.run_id;
    prepare_director(prepared);
}

namespace {

// The dataset, and what of the experiment depends on its task.
void prepare_data(PreparedRun& prepared, Problems& problems) {
    prepared.manifest = manifest_of(prepared.experiment, problems);
    default_loss(prepared.experiment, natural_loss(prepared.manifest.task), problems);
    if (prepared.manifest.task == Task::regression) default_metric(prepared.experiment, "val_loss", problems);
    problems.throw_if_any();
    prepared.schema = schema_of(prepared.manifest);
    prepared.shards = static_cast<int>(prepared.manifest.train.size());
    prepared.context.measure = make_measure(prepared.experiment, prepared.manifest);
}

}  // namespace

PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of) {
    if (options.resume && options.overwrite)
        throw ConfigError(
            "--resume and --overwrite exclude each other (one goes on with a run, the other deletes it) choose one");
    Problems problems(options.experiment);
    PreparedRun prepared;
    prepared.experiment = experiment_of(options, problems);
    if (!problems.empty()) tell_the_rest(prepared.experiment, problems);
    auto const& experiment = prepared.experiment;
    auto const trainers = trainers_of(experiment.run);
    if (trainers < 1)
        throw ConfigError(
            fmt::format("{} trainers cannot train (at least 1 is needed) use --trainers N or mpirun -np N+1", trainers));
    prepared.trainers = trainers;
    prepare_data(prepared, problems);
    check_metrics(experiment, prepared.manifest, problems);
    check_target(experiment, problems);
    bool const resumes = options.resume && holds_run(experiment.run.dir);
    auto known = resumes ? resume_start_from(experiment)
                         : read_start_from(experiment, to_hex(dataset_hash(prepared.manifest)), problems);
    prepared.context.past = std::move(known.context.past);
    check_trials(prepared, problems);
    problems.throw_if_any();
    prepared.files = hashes_of(model_files(experiment));
    if (resumes)
        prepare_to_go_on(prepared);
    else
        prepare_director(prepared);
    auto const trials = static_cast<std::int64_t>(prepared.director->trials().size());
    prepared.owners = make_owners(prepared.shards, trainers_with_data(experiment.strategy, trainers), trials);
    for (auto const& entry : zoo())
        if (entry.name == experiment.model.name) prepared.synthetic = entry.synthetic;
    prepared.notes = notes_for(prepared);
    prepared.notes.insert(prepared.notes.end(), known.notes.begin(), known.notes.end());
    check_run_dir(experiment.run.dir, run_dir_use(options));
    return prepared;
}

void check_threads(PreparedRun const& prepared) {
    std::set<TrainerId> const owning(prepared.owners.owner.begin(), prepared.owners.owner.end());
    bool const rows_travel = strategy_named(prepared.experiment.strategy.name).rows == Rows::travel;
    auto const working = rows_travel ? static_cast<std::size_t>(prepared.trainers) : owning.size();
    if (working < 2) return;
    for (auto const& trial : prepared.director->trials()) {
        auto const model = prepared.config_of(trial.assignment).model;
        if (!draws_from_torch(model, prepared.schema)) continue;
        throw ConfigError(fmt::format(
            "{}: {} trainers cannot share one process (the {} model draws from torch's own random generator, which "
            "the whole process shares) use --trainers 1, or a process for each: mpirun -np {}",
            model.file, working, model.name, working + 1));
    }
}

}  // namespace hopscotch
