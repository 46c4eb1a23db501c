// SPDX-License-Identifier: Apache-2.0
#include "job/run_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "data/batches/row_block.hpp"
#include "data/dataset/verify.hpp"
#include "direct/trial_view.hpp"
#include "experiment/space.hpp"
#include "experiment/steps.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/idle_gpus.hpp"
#include "job/prepared_run.hpp"
#include "schedule/visit.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

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

}  // namespace

std::vector<std::string> warnings_of(PreparedRun const& prepared) {
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

}  // namespace hopscotch
