// SPDX-License-Identifier: Apache-2.0
// Where and when trainers write checkpoints.
#pragma once
#include <string>

namespace hopscotch {

struct CheckpointTarget {
    std::string run_dir, run_id;  // without a run_dir no checkpoint is written
    int incarnation = 1;
    double every_s = 60, mbps = 0;  // RunConfig's
};
template <class A>
void fields(A& a, CheckpointTarget& m) {
    a(m.run_dir, m.run_id, m.incarnation, m.every_s, m.mbps);
}

}  // namespace hopscotch
