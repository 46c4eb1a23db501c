// SPDX-License-Identifier: Apache-2.0
// Reads every byte of a dataset and reports all errors in it. Also computes the numbers that `inspect` shows.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct VerifyReport {
    std::vector<std::string> failures;  // each names a file and, where there is one, a row (from 0); empty: all is well
    std::int64_t rows = 0, bytes = 0;   // read
};

// Schema, counts, hashes, ranges of labels and categories, NaN and infinity, in pieces (memory for some megabytes); and if
// these are right, mean and stddev of the training rows. At most ten failures of values a file are spelled out, the others
// counted. Throws DataError only if dataset.json itself cannot be used.
VerifyReport verify_files(std::filesystem::path const& directory);

struct SplitSummary {
    std::int64_t rows = 0, shards = 0, smallest = 0, largest = 0;  // smallest, largest: rows of a shard
    std::int64_t bytes = 0;                                        // of the files that exist
    std::int64_t absent = 0;                                       // files that do not
};

// "train-00003.h5 leads to /scratch/x.h5 (and 7 more)": shards that are links out of the directory. Empty: there are none.
std::string links_out_of(std::filesystem::path const& directory, Manifest const& manifest);

SplitSummary summarise(std::filesystem::path const& directory, Manifest const& manifest, Split split);

}  // namespace hopscotch
