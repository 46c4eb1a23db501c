// SPDX-License-Identifier: Apache-2.0
// Whether the output goes to a terminal, and the size of its window. Under mpirun rank 0 always writes into a pipe (or a
// pseudo-terminal of mpirun), so there this code asks about mpirun's own descriptor.
#pragma once

namespace hopscotch {

struct Terminal {
    enum class Kind { live, plain } kind = Kind::plain;  // live: lines may be redrawn
    int columns = 80;                                    // the window's, else $COLUMNS, else 80, or 120 of a file
    int rows = 24;                                       // the window's, else 24
};

// fd: 1 or 2. Local to this process; only reads.
Terminal terminal_of(int fd);

}  // namespace hopscotch
