// SPDX-License-Identifier: Apache-2.0
// The place of each imported row: a split into training, validation and test rows, each shuffled globally and dealt to S
// shards whose sizes differ by at most one. A pure function of labels, options and seed; 16 bytes a row at its peak.
#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct RowPlace {
    std::uint32_t file = 0;      // an index of Placement::files
    std::uint32_t position = 0;  // of the row in that file
};

struct SplitOptions {
    std::int64_t shards = 1;  // training shards, and as many of each other split that has rows
    double valid = 0.2;       // fraction of the rows that the source does not assign; 0: none
    double test = 0;          // "
    bool stratify = true;     // each class gives its share, rounded by largest remainder; else drawn from all rows
    std::uint64_t seed = 0;
};

struct PlacedFile {
    Split split = Split::train;
    std::int64_t rows = 0;
};

struct Placement {
    std::vector<RowPlace> places;   // by source row
    std::vector<PlacedFile> files;  // S of train, then S of valid, then S of test; a split without rows has no files
};

// classes: of each row, 0..class_count-1 (no classes: all 0). given: the split of each row if the source has splits of its
// own, else empty; where it has no validation (no test) rows, options.valid (test) draws them from its training rows.
// Throws ConfigError if the rows of a split do not suffice for a row in each of its S shards.
Placement place_rows(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options,
                     std::vector<Split> const& given = {});

}  // namespace hopscotch
