// SPDX-License-Identifier: Apache-2.0
// What is not a function of the experiment and yet decides: a user's wish, a limit of hours. PURE. An order comes with the
// record of a lap and is obeyed when that lap is: so whoever hears the same records takes the same decisions (DESIGN 4.1).
#pragma once
#include <string>
#include <string_view>

#include "core/ids.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

struct Order {
    enum class Kind {
        stop,    // the trial ends now, as stopped; for the search it has failed
        resume,  // it is paused or has stopped: it goes on to its train.epochs, and the search has no say in it any more
        clone,  // a new trial begins with the state after the source's lap, when that has ended; if it never does, after the
                // source's last one before, and if there is none, when it is taken up. The search knows nothing of it
        finish  // no trial starts or goes on
    } kind = Kind::stop;
    TrialId trial = {};          // clone: the source; finish: none
    int epoch = -1;              // clone: the source's lap
    Assignment assignment = {};  // clone: all of the new trial's
    std::string why;             // "stopped by a user"
};
std::string_view name_of(Order::Kind kind);

}  // namespace hopscotch
