// SPDX-License-Identifier: Apache-2.0
// The options that all importers share, and their report. All importers stream: rows go one by one, in source order, to a
// DatasetWriter, which shuffles them globally with memory for one shard, however the source is sorted.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct ImportOptions {
    std::vector<std::filesystem::path> sources;
    std::string encoding;       // of texts, as iconv names it; empty: UTF-8
    std::filesystem::path out;  // dataset directory to make; may exist if it is empty
    std::int64_t shards = 1;    // training shards, and as many of validation and of test; best a multiple of the trainers
    int trainers = 0;           // of the runs to come: fit_shards_to_trainers(); 0: not given
    double valid = 0.2;         // fraction of the (training) rows kept for validation; 0: none
    double test = 0;            // fraction kept for the one test at the end; 0: none
    bool standardise = true;    // targets of a regression: stored in deviations from their mean
    bool stratify = true;       // validation and test get the same share of every class
    std::uint64_t seed = 0;     // of the split and the shuffle
    // Called now and then, from the thread that imports: rows done, rows in all (0: not known yet).
    std::function<void(std::int64_t, std::int64_t)> progress;
};

struct ImportReport {
    Manifest manifest;
    std::int64_t dropped_rows = 0;     // for missing values
    std::vector<std::string> skipped;  // --skip-bad: "file: why", at most 1000 of them
    std::int64_t skipped_files = 0;    // all of them
};

// Throws ConfigError for a missing source or --out, shards, valid or test out of range, or an --out that is in use.
void check_import_options(ImportOptions const& options);

// Sets `shards` to at least four for each of options.trainers, and to a multiple of them. Returns the reason in words; empty
// if no trainers are given.
std::string fit_shards_to_trainers(ImportOptions& options);

// "1x8x8" -> {1, 8, 8}. Throws ConfigError.
std::vector<std::int64_t> parse_shape(std::string const& text);

}  // namespace hopscotch
