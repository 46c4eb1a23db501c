// SPDX-License-Identifier: Apache-2.0
#include "job/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/quantity_text.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/row_block.hpp"
#include "data/dataset/verify.hpp"
#include "direct/director.hpp"
#include "experiment/metric.hpp"
#include "experiment/model_files.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/search_section.hpp"
#include "experiment/steps.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/check_metrics.hpp"
#include "job/check_trials.hpp"
#include "job/earlier_jobs.hpp"
#include "job/idle_gpus.hpp"
#include "job/model_measures.hpp"
#include "job/plan_trials.hpp"
#include "job/read_inputs.hpp"
#include "job/run_meter.hpp"
#include "job/run_options.hpp"
#include "job/run_owners.hpp"
#include "job/start_from.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/run_directory.hpp"
#include "rundir/tally.hpp"
#include "schedule/policy.hpp"
#include "search/search.hpp"
#include "strategy/check.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

LossKind natural_loss(Task task) {
    switch (task) {
        case Task::regression: return LossKind::mse;
        case Task::multilabel: return LossKind::bce_with_logits;
        case Task::classification:
        case Task::language: return LossKind::cross_entropy;
    }
    throw Error("a task without a loss of its own");
}

std::string replicas_note(PreparedRun const& prepared) {
    auto const& owners = prepared.fleet.owners;
    std::int64_t shared = 0, rows = 0;
    for (std::size_t s = 0; s < owners.shares.size(); ++s) {
        if (owners.shares[s].empty()) continue;
        ++shared;
        rows += (std::ssize(owners.shares[s]) - 1) * prepared.inputs.manifest.train[s].rows;
    }
    auto const bytes = static_cast<std::uint64_t>(rows) * stored_row_bytes(prepared.inputs.manifest);
    return fmt::format(
        "{} shards on {} trainers: {} of the shards {} held by several trainers, so that all have equal work ({} of rows "
        "more; strategy.owners \"whole\" gives each shard one trainer)",
        prepared.plan.shards, prepared.fleet.trainers, shared, shared == 1 ? "is" : "are", bytes_text(bytes));
}

std::string groups_note(PreparedRun const& prepared) {
    int const size = prepared.inputs.experiment.strategy.group_size, groups = prepared.fleet.owners.trainers;
    std::string out;
    if (int const left = prepared.fleet.trainers - groups * size; left > 0)
        out = fmt::format("{} trainer{} in no group of {} and will be idle", left, left == 1 ? " is" : "s are", size);
    if (prepared.plan.shards % groups == 0) return out;
    return fmt::format("{}{}{} bundles of {} shards on {} groups keep them {:.0f} % busy", out, out.empty() ? "" : "; ",
                       prepared.plan.shards, size, groups, 100 * shard_utilisation(prepared.plan.shards, groups));
}

// Dedicated servers own no shards, so the advice is about the other trainers.
std::string idle_advice(PreparedRun const& prepared) {
    auto const& strategy = prepared.inputs.experiment.strategy;
    auto const& traits = strategy_traits(strategy.name);
    if (strategy.group_size > 1) return groups_note(prepared);
    if (prepared.fleet.owners.replicas() > 0) return replicas_note(prepared);
    if (traits.rows == Rows::travel) return "";
    int const last = prepared.fleet.trainers, workers = traits.all_trainers ? trainers_with_data(strategy, last) : last;
    auto advice = shard_advice(prepared.plan.shards, workers);
    if (advice.empty() || workers == last) return advice;
    if (workers + 1 == last) return fmt::format("trainer {} (rank {}) only serves; without it: {}", workers, last, advice);
    return fmt::format("trainers {}-{} (ranks {}-{}) only serve; without them: {}", workers, last - 1, workers + 1, last,
                       advice);
}

std::vector<std::string> notes_for(PreparedRun const& prepared) {
    std::vector<std::string> notes;
    if (auto idle = idle_gpus(prepared.inputs.experiment.run.device); !idle.empty()) notes.push_back(std::move(idle));
    if (auto advice = idle_advice(prepared); !advice.empty()) notes.push_back(std::move(advice));
    std::int64_t smallest = INT64_MAX;
    for (auto const& shard : prepared.inputs.manifest.train) smallest = std::min(smallest, shard.rows);
    std::int64_t largest_batch = 0;
    for (auto const& trial : prepared.trials())
        largest_batch = std::max<std::int64_t>(largest_batch, trial.config->train.batch_size);
    if (largest_batch > smallest)
        notes.push_back(
            fmt::format("batch_size {} is larger than a shard ({} rows): such a unit is one step with all rows of the shard",
                        largest_batch, smallest));
    if (auto const links = links_out_of(prepared.inputs.experiment.data.path, prepared.inputs.manifest); !links.empty())
        notes.push_back(fmt::format("shards are links out of {}: {}", prepared.inputs.experiment.data.path, links));
    Problems told("");  // of the space: said when the experiment was read
    auto never = rules_never_met(read_space(prepared.inputs.experiment, told));
    std::ranges::move(never, std::back_inserter(notes));
    if (!prepared.notes.other_bits.empty()) notes.push_back(prepared.notes.other_bits);
    if (prepared.inputs.synthetic)
        notes.push_back("the model is synthetic: it sleeps instead of training, its losses and accuracies mean nothing");
    return notes;
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
    auto const& config = prepared.inputs.experiment.search;
    auto search = make_search(prepared.inputs.experiment, prepared.inputs.context);
    auto const& strategy = prepared.inputs.experiment.strategy.name;
    if (search->clones() && strategy_traits(strategy).state_in_parts)
        throw ConfigError(fmt::format(
            "/search/procedure: {} lets trials take over each other's states ({} keeps them in parts on several trainers); "
            "use another strategy",
            config.procedure, strategy));
    if (keeps_every_best(prepared.inputs.experiment) && has_best_state_in_parts(prepared.inputs.experiment.strategy))
        throw ConfigError(fmt::format(
            "{} the best state of every trial ({} with strategy.momentum \"local\" keeps it in parts on several trainers); "
            "use \"averaged\" or another strategy",
            config.copies.count() > 1 ? "/search: repeats and folds need" : "/run/keep_best: trial needs", strategy));
    prepared.plan.decides = !search->decides_nothing();
    prepared.plan.search = plan_of(prepared.inputs.experiment, prepared.inputs.context);
    DirectorOptions options;
    options.unit_cost = [schema = prepared.inputs.schema, shards = prepared.shard_files()](TrialConfig const& trial) {
        return unit_cost_of(trial, schema, shards);
    };
    options.shards = prepared.plan.shards;
    options.lookahead = config.decide.lookahead;
    options.decide_by = config.decide.deterministic ? DecideBy::virtual_time : DecideBy::arrival;
    plan_trials(prepared, options);
    prepared.director = make_director(prepared.inputs.experiment, std::move(search), std::move(options));
    if (prepared.trials().empty())
        throw ConfigError(fmt::format(
            "/search/start_from: {} has tried every configuration of the space (nothing is left to train); widen the space",
            config.proposals.start_from));
    prepared.plan.in_flight = std::min(static_cast<std::int64_t>(prepared.trials().size()), prepared.plan.admits);
}

}  // namespace

OwnersBy owners_by(PreparedRun const& prepared) {
    auto const& strategy = prepared.inputs.experiment.strategy;
    bool const chooses = has_setting(strategy.name, "owners") && !policy_named(strategy.policy).dispatched();
    if (strategy.group_size > 1) return OwnersBy::equal;
    return chooses && !prepared.fleet.equal_owners ? strategy.owners : OwnersBy::equal;
}

double unit_cost_of(TrialConfig const& config, DataSchema const& schema, int shards) {
    return flops_per_row(config.model, schema) * static_cast<double>(schema.train_rows) / shards;
}

RunDirUse run_dir_use(RunOptions const& options) {
    return options.resume ? RunDirUse::resume : options.overwrite ? RunDirUse::overwrite : RunDirUse::fresh;
}

void require_same_files(PreparedRun const& prepared) {
    for (auto const& [path, hash] : hashes_of(model_files(prepared.inputs.experiment)))
        if (hash != prepared.inputs.files.at(path))
            throw CommError(fmt::format(
                "{}: was replaced while the run went on (the trials began with another file); restore it, then continue "
                "with --resume",
                path));
}

std::string new_file_of(PreparedRun const& prepared, ModelConfig const& model) {
    for (auto const& file : {model.file, model.init_from})
        if (!file.empty() && !prepared.inputs.files.contains(file)) return file;
    return "";
}

namespace {

void refuse_new_files(PreparedRun const& prepared, std::vector<Order> const& orders) {
    for (auto const& order : orders) {
        if (order.kind != Order::Kind::clone) continue;
        auto const file =
            new_file_of(prepared, resolve(prepared.inputs.experiment, order.assignment, "journal.jsonl").model);
        if (!file.empty())
            throw ConfigError(fmt::format(
                "{}/journal.jsonl: an order names the model file {} (the run did not begin with it); start a separate run",
                prepared.inputs.experiment.run.dir, file));
    }
}

}  // namespace

void prepare_to_go_on(PreparedRun& prepared) {
    prepared.inputs.earlier = std::make_unique<EarlierJobs>(
        read_earlier_jobs(prepared.inputs.experiment,
                          {to_hex(dataset_hash(prepared.inputs.manifest)), prepared.inputs.files, prepared.fleet.trainers}));
    prepared.inputs.experiment.step_values = step_values_of(prepared.inputs.experiment, prepared.inputs.earlier->journal);
    if (procedure_traits(prepared.inputs.experiment.search.procedure).more_trials == MoreTrials::in_stages)
        prepared.inputs.context.stages = prepared.inputs.earlier->facts.plan.extended;
    refuse_new_files(prepared, prepared.inputs.earlier->journal.orders);
    for (auto const& lap : prepared.inputs.earlier->journal.laps) refuse_new_files(prepared, lap.orders);
    prepared.inputs.run_id = prepared.inputs.earlier->facts.run_id;
    prepare_director(prepared);
    keep_owners(prepared);
}

namespace {

// All units have as many shards as a group has trainers.
void check_groups(PreparedRun const& prepared, Problems& problems) {
    int const size = prepared.inputs.experiment.strategy.group_size, files = prepared.shard_files();
    if (size > prepared.fleet.trainers)
        problems.add({}, "/strategy/group_size",
                     fmt::format("groups of {} trainers cannot be made of {} trainer{}; start at least {}, or use a smaller "
                                 "group_size",
                                 size, prepared.fleet.trainers, prepared.fleet.trainers == 1 ? "" : "s", size));
    if (files % size != 0)
        problems.add({}, "/strategy/group_size",
                     fmt::format("{} shards cannot be bundled by {} (each member of a group trains on one shard of a "
                                 "bundle); use a divisor of {}, or import with {} shards",
                                 files, size, files, (files + size - 1) / size * size));
    problems.throw_if_any();
}

// Reads the dataset, and sets the defaults of the experiment that depend on its task.
void prepare_data(PreparedRun& prepared, Problems& problems) {
    prepared.inputs.manifest = manifest_of(prepared.inputs.experiment, problems);
    default_loss(prepared.inputs.experiment, natural_loss(prepared.inputs.manifest.task), problems);
    if (prepared.inputs.manifest.task == Task::regression) default_metric(prepared.inputs.experiment, k_val_loss, problems);
    problems.throw_if_any();
    prepared.inputs.schema = schema_of(prepared.inputs.manifest);
    check_groups(prepared, problems);
    prepared.plan.shards = prepared.shard_files() / prepared.inputs.experiment.strategy.group_size;
    prepared.inputs.context.measure = make_measure(prepared.inputs.experiment, prepared.inputs.manifest);
    check_own_metrics(prepared.inputs.experiment, prepared.inputs.manifest, problems);
}

// strategy.group_size "auto": the run was prepared without groups. Returns the reason for their size.
std::string form_groups(PreparedRun& prepared, std::function<ChosenGroups(PreparedRun const&)> const& groups_of) {
    if (!prepared.inputs.experiment.strategy.auto_groups) return "";
    auto const groups = groups_of && !prepared.inputs.earlier ? groups_of(prepared) : ChosenGroups{};
    set_groups(prepared.inputs.experiment, groups.size);
    if (groups.size == 1) return groups.why;
    prepared.plan.shards = prepared.shard_files() / groups.size;
    prepared.fleet.owners = {};
    prepare_director(prepared);
    if (prepared.fleet.owners.owner.empty()) prepared.fleet.owners = owners_of_run(prepared, {});
    return groups.why;
}

}  // namespace

PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of,
                        std::function<ChosenGroups(PreparedRun const&)> const& groups_of) {
    if (options.resume && options.overwrite)
        throw ConfigError(
            "--resume and --overwrite exclude each other (one continues a run, the other deletes it); choose one");
    fault_point("start.prepare");
    Problems problems(options.run_dir.empty() ? options.experiment
                                              : (std::filesystem::path(options.run_dir) / "experiment.json").string());
    PreparedRun prepared;
    prepared.inputs.experiment = experiment_of(options, problems);
    if (!problems.empty()) refuse_with_all_problems(prepared.inputs.experiment, problems);
    auto const& experiment = prepared.inputs.experiment;
    prepared.fleet.trainers = trainers_of(experiment.run);
    if (prepared.fleet.trainers < 1)
        throw ConfigError(fmt::format("{} trainers cannot train (at least 1 is needed); use --trainers N or mpirun -np N+1",
                                      prepared.fleet.trainers));
    prepare_data(prepared, problems);
    check_metrics(experiment, prepared.inputs.manifest, problems);
    check_target(experiment, problems);
    bool const resumes = options.resume && holds_run(experiment.run.dir);
    auto known = resumes ? resume_start_from(experiment)
                         : read_start_from(experiment, to_hex(dataset_hash(prepared.inputs.manifest)), problems);
    prepared.inputs.context.past = std::move(known.context.past);
    check_trials(prepared, problems);
    problems.throw_if_any();
    prepared.inputs.files = hashes_of(model_files(experiment));
    if (resumes)
        prepare_to_go_on(prepared);
    else
        prepare_director(prepared);
    if (prepared.fleet.owners.owner.empty()) prepared.fleet.owners = owners_of_run(prepared, {});
    auto const why_groups = form_groups(prepared, groups_of);
    prepared.inputs.synthetic = is_synthetic(experiment.model.name);
    prepared.notes.warnings = notes_for(prepared);
    prepared.notes.known_trials = known.counted;
    prepared.notes.warnings.insert(prepared.notes.warnings.end(), known.notes.begin(), known.notes.end());
    if (!why_groups.empty()) prepared.notes.warnings.push_back(why_groups);
    check_run_dir(experiment.run.dir, run_dir_use(options));
    return prepared;
}

void check_threads(PreparedRun const& prepared) {
    auto const loads = prepared.owners_of_files().loads();
    auto const owning = std::ranges::count_if(loads, [](double load) { return load > 0; });
    bool const rows_travel = strategy_traits(prepared.inputs.experiment.strategy.name).rows == Rows::travel;
    auto const working = rows_travel ? prepared.fleet.trainers : owning;
    if (working < 2) return;
    for (auto const& trial : prepared.trials()) {
        auto const& model = trial.config->model;
        if (!draws_from_torch(model, prepared.inputs.schema)) continue;
        throw ConfigError(fmt::format(
            "{}: {} trainers cannot share one process (the {} model draws from torch's own random generator, which "
            "the whole process shares); use --trainers 1, or one process per trainer: mpirun -np {}",
            model.file, working, model.name, working + 1));
    }
}

}  // namespace hopscotch
