// SPDX-License-Identifier: Apache-2.0
#include "job/prepared_run.hpp"

#include "direct/director.hpp"
#include "job/earlier_jobs.hpp"

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

}  // namespace hopscotch
