// SPDX-License-Identifier: Apache-2.0
// The rows of each batch, and the fused gather-and-normalise loop that writes them. Orders are addressed by
// (seed, trial, epoch, shard): no trainer and no timing can change them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/unit.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

enum class FeatureType;
struct Manifest;
struct Shard;

// shuffle_rows of shuffled_rows() for this configuration, and the rows of a window that `cache: window` reads ahead. The
// order depends on data.shuffle_rows only; a cache only changes the access to the rows.
std::int64_t rows_shuffled_together(DataConfig const& config);

// A random order of 0..rows-1, the one that belongs to this unit. shuffle_rows 0 (or >= rows): of the whole shard; else
// windows of this many rows (the last may be smaller) follow each other in random order, each shuffled in itself.
std::vector<std::uint32_t> shuffled_rows(std::int64_t rows, UnitAddress const& address, std::int64_t shuffle_rows = 0);

// Cuts rows into batches. keep: the remainder is a smaller last batch; a remainder of a single row joins the batch before
// it (batch norm needs two). drop: the remainder is skipped; a batch larger than the shard then is the whole shard.
std::vector<BatchRange> batches(std::int64_t rows, std::int64_t batch_size, LastBatch last);

// x * scale + shift, per channel or per feature of the manifest: (x - mean) / stddev, or with data.normalise off x / 255 for
// uint8 and x for float32. Categories and tokens (manifest.categories) are left as they are.
class Normaliser {
public:
    explicit Normaliser(Manifest const& manifest, DataConfig const& config = {});

    // out: [picked.size(), row_size] floats.
    void gather(Shard const& shard, std::span<std::uint32_t const> picked, float* out) const;

    std::size_t run() const { return run_; }
    std::span<float const> scale() const { return scale_; }
    std::span<float const> shift() const { return shift_; }

private:
    FeatureType type_;
    std::size_t row_size_, run_;  // run_: elements of a row that share a scale (H x W of a channel, or 1)
    std::vector<float> scale_, shift_;
};

}  // namespace hopscotch
