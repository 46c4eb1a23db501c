// SPDX-License-Identifier: Apache-2.0
// dataset.json: the contents of a dataset directory (docs/formats.md). Rows are shuffled once at import, so a shard is a
// sample.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

inline constexpr int k_dataset_format = 1;

// multilabel: any number of the outputs is true, targets 0 or 1. language: a row of n tokens, the label is the token after
// them; every position predicts its next token.
enum class Task { classification, regression, multilabel, language };
inline bool has_labels(Task task) { return task == Task::classification || task == Task::language; }  // else targets
std::string_view name_of(Task task);
enum class FeatureType { uint8, float32 };
enum class Split { train, valid, test };

struct ShardFile {     // or rows.h5
    std::string file;  // "train-00003.h5", beside dataset.json
    std::int64_t rows = 0;
    std::uint64_t xxh64 = 0;  // of the whole file
};

// As a shard stores features, by channel (rows of rank 3) or by feature; of the training rows.
struct FeatureScale {
    std::vector<double> mean, stddev;  // stddev > 0
    std::vector<double> offset;        // by feature: an integer that the import subtracted (float32 has 24 bits), or empty
};

// Of a regression, by target, of the training rows: a stored target is (target - mean) / stddev. Empty: as it is.
struct TargetScale {
    std::vector<double> mean, stddev;
};

// Rows of each class (multilabel: rows where the output is 1) in every split; empty for other tasks and older datasets.
struct ClassRows {
    std::vector<std::int64_t> train, valid, test;
};

// How the import made the dataset.
struct DatasetOrigin {
    std::uint64_t seed = 0;              // of the shuffle
    Json provenance;                     // sources, columns, mappings
    std::vector<std::string> decisions;  // a sentence each, for people
};

struct Manifest {
    Task task = Task::classification;
    std::vector<std::int64_t> shape;  // of one row: {64} or {1, 8, 8} (CHW)
    FeatureType type = FeatureType::float32;
    std::int64_t outputs = 0;              // classes, targets of a regression, labels of a multilabel, size of a vocabulary
    std::vector<std::string> class_names;  // by label (of every output); empty if the labels were numbers 0..n-1
    // Features that are integers 0..n-1 standing for a category or a token, and are not normalised. Empty: none; one number:
    // n of every feature (a vocabulary); else by feature, 0 where it is a number. float32 holds them exactly below 2^24.
    std::vector<std::int64_t> categories;
    std::vector<ShardFile> train, valid, test;
    std::optional<ShardFile> source_rows;  // source_rows.hpp; no trainer needs it
    FeatureScale features;
    TargetScale targets;
    ClassRows class_rows;
    DatasetOrigin origin;

    std::int64_t row_size() const;  // elements in a row
    std::int64_t rows(Split split) const;
    std::vector<ShardFile> const& files(Split split) const;
};

// Throws DataError: "<dir>: not a dataset directory ...", another format version, malformed.
Manifest read_manifest(std::filesystem::path const& directory);
void write_manifest(std::filesystem::path const& directory, Manifest const& manifest);

// The shape, the means, the offsets and the names must agree. Adds a sentence for each that does not.
void check_rows(Manifest const& manifest, Problems& problems);

// Of a class or a label, or of a target by its column in the source. Unnamed ones: "0", "1", ...
std::string output_name(Manifest const& manifest, std::size_t output);

// A target of a regression as it is stored, and in the units of the source.
double stored_target(Manifest const& manifest, std::size_t output, double in_units);
double target_in_units(Manifest const& manifest, std::size_t output, double stored);

// Identifies the dataset in the roll call: xxh3 over the manifest's canonical JSON (which holds every shard's hash), without
// counts, decisions and source_rows, which describe the same rows.
std::uint64_t dataset_hash(Manifest const& manifest);

}  // namespace hopscotch
