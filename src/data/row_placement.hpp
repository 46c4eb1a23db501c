// SPDX-License-Identifier: Apache-2.0
// Where each row of an import goes: a stratified split into training and validation rows, each shuffled globally and dealt
// to S shards whose sizes differ by at most one. A pure function of labels, options and seed; 16 bytes a row at its peak.
#pragma once
#include <cstdint>
#include <vector>

namespace hopscotch {

struct RowPlace {
    std::uint32_t file = 0;      // 0..S-1: training shards, S..2S-1: validation shards
    std::uint32_t position = 0;  // of the row in that file
};

struct SplitOptions {
    std::int64_t shards = 1;  // training shards, and as many validation shards
    double valid = 0.2;       // fraction of the rows
    std::uint64_t seed = 0;
};

struct Placement {
    std::vector<RowPlace> places;    // by source row
    std::vector<std::int64_t> rows;  // by file
    std::int64_t shards = 0;
};

// classes: of each row, 0..class_count-1 (a regression: all 0). Each class gives its share to validation, rounded by
// largest remainder. Throws ConfigError if the rows do not suffice for a row in each of the 2 x S shards.
Placement place_rows(std::vector<std::uint32_t> const& classes, std::size_t class_count, SplitOptions const& options);

}  // namespace hopscotch
