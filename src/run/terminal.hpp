// SPDX-License-Identifier: Apache-2.0
// Is a person watching, and how wide is the window? Under mpirun rank 0 writes into a pipe (or a pseudo-terminal that
// mpirun made) whatever the user looks at, so there the question is put to mpirun's own descriptor.
#pragma once

namespace hopscotch {

struct Terminal {
    enum class Kind { live, plain } kind = Kind::plain;  // live: lines may be redrawn
    int columns = 80;                                    // $COLUMNS, else the window's, else 80
};

// fd: 1 or 2. Local to this process; only reads.
Terminal terminal_of(int fd);

}  // namespace hopscotch
