// SPDX-License-Identifier: Apache-2.0
// What torch warns of goes to the log, each text once a process: some operators repeat theirs with every batch.
#pragma once

namespace hopscotch {

// Of the calling thread, from now on.
void log_torch_warnings();

}  // namespace hopscotch
