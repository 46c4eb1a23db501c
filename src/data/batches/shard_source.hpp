// SPDX-License-Identifier: Apache-2.0
// A trainer's way to the rows of a shard: all in memory, through a bounded window that a thread reads ahead, or row by row
// from the file. The caller chooses the order of rows (batches.hpp); it is the same for all three.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "data/batches/unit.hpp"

namespace hopscotch {

struct DataConfig;
struct Manifest;
struct Shard;
struct ShardFile;

struct PickedRows {
    Shard const& shard;                      // the whole shard, or the part of it that is in memory
    std::span<std::uint32_t const> rows;     // of `shard`
    std::span<std::uint32_t const> numbers;  // the same rows by their number in the file, the key of augmentation
};

class ShardSource {
public:
    virtual ~ShardSource() = default;
    virtual std::int64_t rows() const = 0;

    // Starts a pass: `order` holds row numbers, `cut` its batches in order. Both must outlive the pass; another begin() ends
    // it early. A pass reads nothing for batches that its cut leaves out.
    virtual void begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) = 0;

    // The rows of the pass's next batch, valid until the next call. Throws DataError naming the file if it cannot be read.
    virtual PickedRows next() = 0;

    // Frees the rows that the pass has left in memory (the windows).
    virtual void end() {}

    // The shard, if all of it stays in memory: another thread may read it through a source of its own. Else null.
    virtual std::shared_ptr<Shard const> whole() const { return nullptr; }

    // Identifies this source, also after its end: expires with the source.
    std::weak_ptr<void const> identity() const { return identity_; }

private:
    std::shared_ptr<void const> identity_ = std::make_shared<char>();
};

std::unique_ptr<ShardSource> shard_in_memory(Shard shard);
std::unique_ptr<ShardSource> shard_in_memory(std::shared_ptr<Shard const> shard);

// The trainers that need the rows. Rows in memory that all trainers need are there once for all processes of a host.
enum class NeededBy { this_trainer, all_trainers };

// Throws DataError as read_shard does, and for labels out of range.
std::unique_ptr<ShardSource> open_shard_source(std::filesystem::path const& directory, ShardFile const& file,
                                               Manifest const& manifest, DataConfig const& config,
                                               NeededBy whom = NeededBy::this_trainer);

}  // namespace hopscotch
