// SPDX-License-Identifier: Apache-2.0
#include "job/prepared_run.hpp"

#include "direct/director.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/earlier_jobs.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

RunInputs::RunInputs() = default;
RunInputs::RunInputs(RunInputs&&) noexcept = default;
RunInputs& RunInputs::operator=(RunInputs&&) noexcept = default;
RunInputs::~RunInputs() = default;

PreparedRun::PreparedRun() = default;
PreparedRun::PreparedRun(PreparedRun&&) noexcept = default;
PreparedRun& PreparedRun::operator=(PreparedRun&&) noexcept = default;
PreparedRun::~PreparedRun() = default;

std::vector<TrialView> const& PreparedRun::trials() const { return director->trials(); }

OwnerTable PreparedRun::owners_of_files() const {
    return with_members(fleet.owners, inputs.experiment.strategy.group_size, fleet.trainers);
}

int PreparedRun::holders() const { return std::max(1, fleet.trainers / inputs.experiment.strategy.group_size); }

OwnersBy owners_by(PreparedRun const& prepared) {
    auto const& strategy = prepared.inputs.experiment.strategy;
    bool const chooses = has_setting(strategy.name, "owners") && !policy_named(strategy.policy).dispatched();
    if (strategy.group_size > 1) return OwnersBy::equal;
    return chooses && !prepared.fleet.equal_owners ? strategy.owners : OwnersBy::equal;
}

}  // namespace hopscotch
