// SPDX-License-Identifier: Apache-2.0
#include "job/largest_trial.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "direct/trial_view.hpp"
#include "experiment/reader.hpp"
#include "job/prepared_run.hpp"
#include "model/state/layout.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"

namespace hopscotch {

std::string state_shape_of(Assignment assignment) {
    for (auto& [path, value] : assignment)
        if (path.starts_with("train.") && value.is_number()) value = Json(value.number() != 0);
    return to_json(assignment).dump();
}

TrialBytes largest_trial(PreparedRun const& prepared) { return largest_trial(prepared, prepared.trials()); }

TrialBytes largest_trial(PreparedRun const& prepared, std::vector<TrialView> const& trials) {
    TrialBytes out{prepared.plan.state_bytes, prepared.plan.weight_bytes};
    if (out.state > 0) return out;
    std::set<std::string> seen;
    Workspace workspace("cpu", 1);
    for (auto const& trial : trials) {
        if (!seen.insert(state_shape_of(trial.assignment)).second) continue;
        auto const model = make_trial_model(*trial.config, prepared.inputs.manifest, workspace);
        auto const& layout = model.state->layout();
        out.state = std::max<std::uint64_t>(out.state, layout.bytes);
        out.weights = std::max<std::uint64_t>(out.weights, layout.end_of(Block::parameter));
    }
    return out;
}

}  // namespace hopscotch
