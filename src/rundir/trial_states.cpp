// SPDX-License-Identifier: Apache-2.0
#include "rundir/trial_states.hpp"

#include "rundir/journal.hpp"

namespace hopscotch {

std::map<TrialId, StatusOfTrial> trial_states(Journal const& journal) {
    std::map<TrialId, StatusOfTrial> out;
    for (auto const& [trial, assignment] : journal.assignments) out[trial] = {};
    for (auto const& decision : journal.decisions)
        if (decision.kind == Decision::Kind::pause)
            out[decision.trial] = {"paused", decision.why};
        else if (decision.kind == Decision::Kind::resume)
            out[decision.trial] = {};
    std::map<TrialId, int> alive;  // number of orders that had it go on, less its ends
    for (auto const& lap : journal.laps)
        for (auto const& order : lap.orders) alive[order.trial] += order.kind == Order::Kind::resume ? 1 : 0;
    for (auto const& end : journal.ended) {
        bool const interrupted = end.status == name_of(TrialStatus::interrupted);
        if (interrupted ? !journal.end.status.empty() : --alive[end.trial] < 0) out[end.trial] = {end.status, end.reason};
    }
    return out;
}

}  // namespace hopscotch
