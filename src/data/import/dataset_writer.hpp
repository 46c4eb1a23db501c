// SPDX-License-Identifier: Apache-2.0
// Turns a stream of rows in source order into a finished dataset directory, with memory for one shard and the places of all
// rows. Rows are first appended to a spill file a shard, then each shard is brought into its shuffled order and written as
// HDF5. The writer works in a temporary directory beside the target, which is renamed at the very end: an import that fails
// leaves nothing behind.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"
#include "data/dataset/feature_stats.hpp"
#include "data/dataset/manifest.hpp"
#include "data/import/number_range.hpp"
#include "data/import/row_placement.hpp"

namespace hopscotch {

// A feature that is missing in the source; it becomes the mean of the training rows.
inline constexpr float k_missing = std::numeric_limits<float>::quiet_NaN();

// Throws ConfigError if the directory holds anything: an import never overwrites.
void require_free(std::filesystem::path const& out);

class DatasetWriter {
public:
    using Progress = std::function<void(std::int64_t, std::int64_t)>;  // as in ImportOptions; may throw to end the import

    // `description` has task, shape, type, outputs, class names, categories, seed and provenance; the writer adds the rest.
    // `progress` (may be empty) is called every few rows, and between the shards that finish() writes.
    DatasetWriter(std::filesystem::path out, Manifest description, Placement placement, Progress progress = {});
    ~DatasetWriter();  // removes an unfinished dataset
    DatasetWriter(DatasetWriter const&) = delete;
    DatasetWriter& operator=(DatasetWriter const&) = delete;

    // The next row in source order: row_size features, and its class (one number) or its `outputs` targets. The second form
    // is for uint8 datasets; the first may have k_missing, and in a uint8 dataset whole numbers 0..255. Throws Error if
    // there are more rows than were placed, or if a class is out of range.
    void add(std::span<float const> features, std::span<double const> labels);
    void add(std::span<std::uint8_t const> features, std::span<double const> labels);

    // Where the last row comes from: the number of its record in the source, and its name (empty: rows have none). Either
    // for all rows or for none: then they come one after another, from 0.
    void came_from(std::int64_t number, std::string_view name);

    // Targets of a regression are stored as they are, and not in deviations from their mean. Before the first row.
    void keep_targets();

    // More for Manifest::decisions and Manifest::provenance, before finish().
    void decide(std::vector<std::string> const& decisions);
    void record(std::string_view key, Json value);

    // Throws Error unless every row of the placement has been added, DataError if the disk refuses.
    Manifest finish();

private:
    std::span<std::byte> begin_record();  // record_'s features
    void append_record(std::span<double const> labels);
    void put_labels(std::span<double const> labels);
    std::filesystem::path spill_path(std::size_t file) const;
    void write_spill(std::size_t file, ByteView bytes) const;
    void report() const;
    bool trains(std::size_t row) const;
    ShardFile write_shard(std::size_t file, std::string const& name);
    void fill_missing(std::span<std::byte> row) const;
    void count(std::span<double const> labels);
    void decide_about_classes();
    void decide_about_the_largest_class();
    void decide_about_targets();
    void decide_about_lost_targets();
    void put_targets(std::byte const* spilled, std::span<float> out);
    ShardFile write_rows() const;

    std::filesystem::path out_, unfinished_;
    Manifest manifest_;
    Placement placement_;
    Progress progress_;
    // A spilled row: [features | labels as in the shard | position]. Spills never outlive the process, so the layout is the
    // machine's.
    std::size_t row_bytes_, label_bytes_, record_bytes_, buffer_bytes_;
    std::vector<std::byte> record_;               // that is being added
    std::vector<std::vector<std::byte>> spills_;  // not written yet, of each file
    FeatureStats stats_;
    bool standardise_;                                  // the targets, which are spilled as doubles
    std::vector<RunningMoments> target_stats_;          // of the training rows
    std::vector<RoundingWatch> target_rounding_;        // of the first targets, of all rows
    std::array<std::vector<std::int64_t>*, 3> counts_;  // of manifest_, by split
    std::size_t next_row_ = 0;
    std::vector<std::int64_t> numbers_;  // came_from, in the order of the source
    std::vector<std::string> names_;
};

}  // namespace hopscotch
