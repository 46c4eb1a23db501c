// SPDX-License-Identifier: Apache-2.0
#include "job/run_owners.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/batches/row_block.hpp"
#include "direct/trial_view.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepared_run.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/trainer/free_memory.hpp"

namespace hopscotch {
namespace {

// Replicas may take a quarter of the memory that is free on rank 0's host, which stands for all, with all trainers on it.
// Rows that are read from files take none.
bool replicas_fit(PreparedRun const& prepared, OwnerTable const& owners) {
    if (prepared.inputs.experiment.data.cache != Cache::all) return true;
    std::int64_t rows = 0;
    for (std::size_t s = 0; s < owners.shares.size(); ++s)
        rows += std::max<std::int64_t>(0, std::ssize(owners.shares[s]) - 1) * prepared.inputs.manifest.train[s].rows;
    return static_cast<std::uint64_t>(rows) * stored_row_bytes(prepared.inputs.manifest) <= free_memory_bytes() / 4;
}

}  // namespace

OwnersRequest owners_request(PreparedRun const& prepared, std::vector<double> const& speed) {
    auto const& strategy = prepared.inputs.experiment.strategy;
    OwnersRequest out;
    out.shards = prepared.plan.shards;
    out.trials = prepared.director ? std::ssize(prepared.trials()) : 1;
    out.by = owners_by(prepared);
    out.speed = speed;
    if (speed.empty())
        out.speed.assign(static_cast<std::size_t>(trainers_with_data(strategy, prepared.fleet.trainers)), 1.0);
    if (out.by == OwnersBy::shares && !replicas_fit(prepared, plan_owners(out))) out.by = OwnersBy::whole;
    return out;
}

std::string speeds_text(std::vector<double> const& speed) {
    constexpr std::size_t k_shown = 16;
    std::vector<std::string> out;
    for (auto const each : speed)
        if (each > 0) out.push_back(fmt::format("{:.2f}", each));
    auto const more = out.size() > k_shown ? fmt::format(" and {} more", out.size() - k_shown) : "";
    out.resize(std::min(out.size(), k_shown));
    return fmt::format("{}{}", fmt::join(out, " "), more);
}

OwnerTable owners_of_run(PreparedRun const& prepared, std::span<TrialCost const> trials, std::vector<double> const& speed) {
    auto request = owners_request(prepared, speed);
    if (!trials.empty()) request.trials = std::ssize(trials);
    return choose_owners(policy_named(prepared.inputs.experiment.strategy.policy), trials, request);
}

// Few trials are dealt other owners than many (make_owners).
void keep_owners(PreparedRun& prepared) {
    auto const& facts = prepared.inputs.earlier->facts;
    auto const& strategy = prepared.inputs.experiment.strategy.name;
    if (facts.plan.extended.empty() || strategy_traits(strategy).bits != Bits::same_trainers ||
        !prepared.fleet.owners.owner.empty())
        return;
    prepared.fleet.owners = owners_of_run(prepared, {});
    if (prepared.inputs.earlier->extends && prepared.fleet.owners.owner != facts.fleet.owners.owner)
        prepared.notes.other_bits = fmt::format(
            "a new run of {} trials would give the shards to other trainers (this run keeps its own), and {} would end with "
            "other states",
            prepared.trials().size(), strategy);
    prepared.fleet.owners.owner = facts.fleet.owners.owner;
}

}  // namespace hopscotch
