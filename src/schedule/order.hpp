// SPDX-License-Identifier: Apache-2.0
// Orders of users, and limits of hours, which act as orders. PURE. Orders are not a function of the experiment. An order
// comes with the record of a lap and is obeyed when that lap is delivered. So a director that gets the same records takes
// the same decisions (docs/decisions/0024).
#pragma once
#include <string>
#include <string_view>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"

namespace hopscotch {

struct Order {
    enum class Kind {
        stop,    // the trial ends now, as stopped; the search hears that it failed
        resume,  // a paused or stopped trial goes on to its train.epochs; the search has no say in it any more
        clone,   // a new trial begins with the source's state at the end of a lap, as soon as that lap has ended. If the
                 // source ends before that lap, the clone begins after the source's last lap. If the source has no lap, the
                 // clone waits until an order resumes the source. The search does not know the clone
        finish   // no trial starts or goes on
    } kind = Kind::stop;
    TrialId trial = {};          // clone: the source; finish: none
    int epoch = -1;              // clone: the source's lap
    Assignment assignment = {};  // clone: every value of the new trial
    std::string why;             // for people: "stopped by a user"
};
std::string_view name_of(Order::Kind kind);

}  // namespace hopscotch
