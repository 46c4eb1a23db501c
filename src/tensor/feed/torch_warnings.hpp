// SPDX-License-Identifier: Apache-2.0
// Torch's warnings go to the log, each text once per process, because some operators repeat a warning with every batch.
#pragma once

namespace hopscotch {

// For the calling thread, from now on.
void log_torch_warnings();

}  // namespace hopscotch
