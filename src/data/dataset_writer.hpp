// SPDX-License-Identifier: Apache-2.0
// Turns a stream of rows in source order into a finished dataset directory, with memory for one shard. Rows are first
// appended to a spill file a shard, then each shard is brought into its shuffled order and written as HDF5. All happens in
// a temporary directory beside the target, which is renamed at the very end: an import that fails leaves nothing behind.
#pragma once
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/feature_stats.hpp"
#include "data/manifest.hpp"
#include "data/row_placement.hpp"

namespace hopscotch {

// A feature that is missing in the source; it becomes the mean of the training rows.
inline constexpr float k_missing = std::numeric_limits<float>::quiet_NaN();

// Throws ConfigError if the directory holds anything: an import never overwrites.
void require_free(std::filesystem::path const& out);

class DatasetWriter {
public:
    // `description` has task, shape, type, outputs, class names, seed and provenance; the writer adds the rest.
    DatasetWriter(std::filesystem::path out, Manifest description, Placement placement);
    ~DatasetWriter();  // removes what is unfinished
    DatasetWriter(DatasetWriter const&) = delete;
    DatasetWriter& operator=(DatasetWriter const&) = delete;

    // The next row in source order: row_size features, and its class or target.
    void add(std::span<float const> features, double label);

    // Throws Error unless every row of the placement has been added, DataError if the disk refuses.
    Manifest finish();

private:
    struct Spill {
        std::vector<std::byte> buffer;
        std::int64_t rows = 0;
    };
    std::filesystem::path spill_path(std::size_t file) const;
    void flush(std::size_t file);
    ShardFile write_shard(std::size_t file, std::string const& name) const;
    void fill_missing(std::span<std::byte> row) const;

    std::filesystem::path out_, unfinished_;
    Manifest manifest_;
    Placement placement_;
    std::size_t row_bytes_, record_bytes_, buffer_bytes_;
    std::vector<Spill> spills_;
    FeatureStats stats_;
    std::size_t next_row_ = 0;
};

}  // namespace hopscotch
