// SPDX-License-Identifier: Apache-2.0
// The CSV file of predict: one line a row. For classes and tokens: label, prediction, its probability, and (up to 1000
// classes) the probability of every class. For targets: each target and its prediction (multilabel: probability). Labels and
// targets only where they are known.
#pragma once
#include <cstdio>
#include <span>
#include <string>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

enum class RowAnswers { known, unknown };

class PredictionsCsv {
public:
    // Writes to path.tmp and renames in finish(). place: the first cells of the header. `trained` outlives this. Throws
    // ConfigError if it cannot be written.
    PredictionsCsv(std::string path, Manifest const& trained, std::string const& place, RowAnswers answers);
    ~PredictionsCsv();
    PredictionsCsv(PredictionsCsv const&) = delete;
    PredictionsCsv& operator=(PredictionsCsv const&) = delete;

    // place: the first cells; outputs: of the model, logits of classes.
    void add(std::string const& place, std::int64_t label, std::span<float const> outputs);
    void add(std::string const& place, std::span<float const> targets, std::span<float const> outputs);
    void add(std::string const& place, std::span<float const> outputs);  // answers unknown

    void finish();  // throws DataError, such as for a full disk

private:
    std::string name(std::int64_t output) const;
    std::string class_text(std::span<float const> logits) const;  // ",prediction,probability,..."
    double value(float output, std::size_t i) const;              // of a target
    std::string number_text(double value, std::size_t i) const;   // of target i
    void write(std::string const& line);

    std::string path_;
    Manifest const& trained_;
    std::FILE* file_ = nullptr;
    bool probabilities_ = false;
};

}  // namespace hopscotch
