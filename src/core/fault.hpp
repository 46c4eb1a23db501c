// SPDX-License-Identifier: Apache-2.0
// Faults on purpose, for tests: HOPSCOTCH_FAULT=POINT:NTH:KIND[:RANK][,...]. When this process (or only this rank under a
// launcher) reaches the point for the NTH time, the fault happens once; jitter happens each time from then on.
// Compiled in always, off unless the variable is set.
//   HOPSCOTCH_FAULT=checkpoint.sync:3:kill:2    rank 2 dies just before its third checkpoint reaches the disk
#pragma once
#include <string>
#include <string_view>

namespace hopscotch {

// The faults that the caller performs. kill (SIGKILL), stop (SIGSTOP), signal (SIGUSR1), throw (Error), delay (0.3 s), hold
// (3 s, or HOPSCOTCH_FAULT_HOLD_S, or until there is a file HOPSCOTCH_FAULT_HOLD_UNTIL) and jitter (up to 10 ms) have
// happened when fault_at returns.
enum class Fault {
    none,
    enospc,   // as if the disk were full
    partial,  // half of the bytes reach the file, then the disk is full
    eio,      // as if the disk had failed
    tear,     // half of the bytes reach the file, then the process dies
    flip      // one bit is flipped
};
Fault fault_at(std::string_view point);

// The error number that the system would report for a fault; 0: no error.
int error_of(Fault fault);

// For points where nothing is written: a fault with an error number throws IoError, tear kills, flip does nothing.
void fault_point(std::string_view point);

// The points, one a line.
std::string fault_points_text();

// Throws ConfigError if the variable cannot be understood.
void check_faults();

}  // namespace hopscotch
