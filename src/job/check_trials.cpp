// SPDX-License-Identifier: Apache-2.0
#include "job/check_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/batches/augment.hpp"
#include "direct/trial_view.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/check_metrics.hpp"
#include "job/prepared_run.hpp"
#include "job/read_inputs.hpp"
#include "model/zoo/zoo.hpp"
#include "search/search.hpp"
#include "strategy/check.hpp"

namespace hopscotch {
namespace {

constexpr int k_checked_trials = 32;

// The place of the value at this path ("/data/augment/0"): its own, in the space, or of the innermost part that exists.
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

}  // namespace

void refuse_with_all_problems(Experiment const& experiment, Problems& problems) {
    if (!experiment.document.is_object()) problems.throw_if_any();  // not read: without it there is no dataset to check
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
        auto with_defaults = experiment;
        if (found.empty() && sound("/search")) check_own_metrics(with_defaults, manifest, problems);
        for (auto const& [at, path, problem] : found.entries())
            if (path.starts_with("/model"))
                problems.add(at.line != 0 ? at : place_of(path, experiment.document, {}), path, problem);
    }
    throw ConfigError(problems.text());
}

void check_trials(PreparedRun const& prepared, Problems& problems) {
    auto const& experiment = prepared.inputs.experiment;
    auto const check = [&](TrialConfig const& config, Assignment const& assignment = {}) {
        Problems found("");
        check_model(config, prepared.inputs.schema, found);
        check_augment(config.data, prepared.inputs.manifest, found);
        check_strategy(experiment, config, prepared.fleet.trainers, prepared.plan.shards, found);
        for (auto const& [at, path, problem] : found.entries())
            problems.add(at.line != 0 ? at : place_of(path, experiment.document, assignment), path, problem);
    };
    check(TrialConfig{experiment.model, experiment.train, experiment.data});
    auto const search = make_search(experiment, prepared.inputs.context);
    // If the search decides during training, only the first trials. A later trial that cannot be built ends alone.
    for (int i = 0; problems.empty() && (search->decides_nothing() || i < k_checked_trials); ++i) {
        auto const proposal = search->next();
        if (!proposal) return;
        auto const config = resolve(experiment, proposal->assignment, problems);
        if (problems.empty()) check(config, proposal->assignment);
    }
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
