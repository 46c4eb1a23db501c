// SPDX-License-Identifier: Apache-2.0
// A trial's state in a checkpoint file: the description that a trainer writes with it, and the way back.
#pragma once
#include <cstdint>

#include "core/byte_view.hpp"
#include "core/error.hpp"

namespace hopscotch {

class Buffer;
struct Checkpoint;
struct Journey;
struct LapId;
struct StateLayout;
struct WorkerResources;

// A file holds a state whose hash is not the one in the journal. This ends the job and not the trial.
class WrongState : public DataError {
public:
    using DataError::DataError;
};

// Hashes of a state, and of its layout.
struct StateHashes {
    std::uint64_t layout = 0, state = 0;
};
StateHashes hashes_of(ByteView state, StateLayout const& layout);

// Of a state in the middle of a lap, and of a state at the end of this lap, which is the beginning of the next lap.
Checkpoint checkpoint_within(Journey const& journey, StateHashes const& hashes);
Checkpoint checkpoint_at_end(LapId const& lap, StateHashes const& hashes);

// The state in the file journey.lap.from; the journey continues from the file's place. Compares the state with the hash that
// the journal has of it. Throws DataError, WrongState.
Buffer load_state(WorkerResources const& resources, Journey& journey);

}  // namespace hopscotch
