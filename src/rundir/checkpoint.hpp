// SPDX-License-Identifier: Apache-2.0
// A trial's state on disk, with its place: the numbers of finished laps, of finished units in the next lap, and of finished
// batches in the next unit. The state after the last batch of epoch 4 and its validation is at epoch 5, step 0, batch 0.
//
// A file is whole or not there: temporary name, fsync, rename, fsync of the directory. It holds, little-endian:
//   "HOPSCOTCHCKPT1\n\0"   u64 bytes of the header   u64 bytes of the state   u64 xxh3 of the header   u64 xxh3 of the state
//   header: JSON           state: the block as it hops (model/state/state.hpp)                 parts: Checkpoint::parts
// A journal line names a file only when it is there (docs/formats.md).
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"
#include "core/json.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// The place of a trial in its training, in the order of training.
struct Place {
    int epoch = 0, step = 0;
    std::int64_t batch = 0;
    auto operator<=>(Place const&) const = default;
};

struct Checkpoint {
    std::string run_id;  // RunFacts::run_id: a file of another run is foreign
    Place place;
    LapRecord record;       // of the lap under way, its finished units
    ShardId shard = {};     // of the unit under way, where a dispatched policy has chosen it; else -1
    std::int64_t rows = 0;  // of the unit under way, trained so far
    double loss_sum = 0;    // over them
    std::uint64_t layout_hash = 0;
    std::uint64_t state_hash = 0;  // the journal's kind of hash; 0: not known (a file of an older version)
    bool whole =
        true;  // false: other trainers held parts of this state, so training cannot continue from it; its weights are valid
    std::vector<std::byte>
        parts;  // of a lap that several trainers train together: the part that each holds alone, in the strategy's encoding
};

struct CheckpointFacts {
    std::int64_t written = 0;
    double longest_gap_s = 0;   // the most training that a lost trainer could have cost: SavedState::gap_s
    std::set<TrialId> at_risk;  // trials not ended whose newest state could not be written
};

// "checkpoints/trial-00003-e0004-s002-b00000016-i1.ckpt". attempt: of the run, so that no two writers share a name.
std::string checkpoint_name(Checkpoint const& checkpoint, int incarnation);

// Whether checkpoint_name() gives this name in some incarnation. A name in a damaged journal must not lead to other files.
bool is_checkpoint_name(std::string_view name, SavedState const& saved);

// The longest file of a state of this many bytes: each trainer may add a part of its own.
std::uint64_t most_checkpoint_bytes(std::uint64_t state_bytes, int trainers);

// On return the file survives a power cut. Throws Error with errno's text; then no part of it is left under that name.
void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint, ByteView state);

// Throws DataError that names the file and the problem: missing, not a checkpoint, torn, damaged.
class CheckpointFile {
public:
    // Reads and checks the header and the parts. most_bytes: a longer file is refused before memory is taken for it.
    explicit CheckpointFile(std::filesystem::path path, std::uint64_t most_bytes = UINT64_MAX);
    ~CheckpointFile();
    CheckpointFile(CheckpointFile const&) = delete;
    CheckpointFile& operator=(CheckpointFile const&) = delete;

    Checkpoint const& about() const { return about_; }
    std::size_t state_bytes() const { return state_bytes_; }
    void read_state(MutableBytes into) const;  // state_bytes() of them; checks the hash
    void verify() const;                       // checks the hash, with little memory

private:
    void check_hash(std::uint64_t found) const;

    std::filesystem::path path_;
    int fd_ = -1;
    std::size_t state_offset_ = 0, state_bytes_ = 0;
    std::uint64_t state_hash_ = 0;
    Checkpoint about_;
};

}  // namespace hopscotch
