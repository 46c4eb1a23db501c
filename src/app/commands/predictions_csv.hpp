// SPDX-License-Identifier: Apache-2.0
// The CSV file of predict: one line per row of the dataset. For classes and tokens: label, prediction, its probability, and
// (up to 1000 classes) the probability of every class. For targets: each target and its prediction (multilabel:
// probability).
#pragma once
#include <cstdio>
#include <span>
#include <string>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

class PredictionsCsv {
public:
    // Writes to path.tmp and renames in finish(). `trained` outlives this. Throws ConfigError if it cannot be written.
    PredictionsCsv(std::string path, Manifest const& trained);
    ~PredictionsCsv();
    PredictionsCsv(PredictionsCsv const&) = delete;
    PredictionsCsv& operator=(PredictionsCsv const&) = delete;

    // place: "split,shard,row"; logits: one per class.
    void add(std::string const& place, std::int64_t label, std::span<float const> logits);
    void add(std::string const& place, std::span<float const> targets, std::span<float const> outputs);

    void finish();  // throws DataError, such as for a full disk

private:
    std::string name(std::int64_t output) const;
    void write(std::string const& line);

    std::string path_;
    Manifest const& trained_;
    std::FILE* file_ = nullptr;
    bool probabilities_ = false;
};

}  // namespace hopscotch
