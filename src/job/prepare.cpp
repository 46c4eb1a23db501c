// SPDX-License-Identifier: Apache-2.0
#include "job/prepare.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"
#include "data/dataset/manifest.hpp"
#include "direct/director.hpp"
#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/search_section.hpp"
#include "job/check_metrics.hpp"
#include "job/check_trials.hpp"
#include "job/earlier_jobs.hpp"
#include "job/model_files_of_run.hpp"
#include "job/model_measures.hpp"
#include "job/prepare_director.hpp"
#include "job/read_inputs.hpp"
#include "job/run_options.hpp"
#include "job/run_owners.hpp"
#include "job/run_warnings.hpp"
#include "job/start_from.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/run_directory.hpp"

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

}  // namespace

RunDirUse run_dir_use(RunOptions const& options) {
    return options.resume ? RunDirUse::resume : options.overwrite ? RunDirUse::overwrite : RunDirUse::fresh;
}

void prepare_to_go_on(PreparedRun& prepared) {
    prepared.inputs.earlier = std::make_unique<EarlierJobs>(
        read_earlier_jobs(prepared.inputs.experiment,
                          {to_hex(dataset_hash(prepared.inputs.manifest)), prepared.inputs.files, prepared.fleet.trainers}));
    prepared.inputs.experiment.step_values = step_values_of(prepared.inputs.experiment, prepared.inputs.earlier->journal);
    if (procedure_traits(prepared.inputs.experiment.search.procedure).more_trials == MoreTrials::in_stages)
        prepared.inputs.context.stages = prepared.inputs.earlier->facts.plan.extended;
    refuse_new_files(prepared);
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
    prepared.inputs.files = hashes_of_model_files(experiment);
    if (resumes)
        prepare_to_go_on(prepared);
    else
        prepare_director(prepared);
    if (prepared.fleet.owners.owner.empty()) prepared.fleet.owners = owners_of_run(prepared, {});
    auto const why_groups = form_groups(prepared, groups_of);
    prepared.inputs.synthetic = is_synthetic(experiment.model.name);
    prepared.notes.warnings = warnings_of(prepared);
    prepared.notes.known_trials = known.counted;
    prepared.notes.warnings.insert(prepared.notes.warnings.end(), known.notes.begin(), known.notes.end());
    if (!why_groups.empty()) prepared.notes.warnings.push_back(why_groups);
    check_run_dir(experiment.run.dir, run_dir_use(options));
    return prepared;
}

}  // namespace hopscotch
