// SPDX-License-Identifier: Apache-2.0
// The errors of a trained model on rows with known answers: the classes that it confuses, the residuals of targets, and the
// standard error of the metric (how far other rows of the same kind would move the metric).
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "model/trial/evaluation.hpp"

namespace hopscotch {

class ErrorAnalysis final : public RowListener {
public:
    // metric: search.metric. A metric of training or of the user's own gets no standard error, and neither does val_auc of
    // more than two million rows x outputs, which must be sorted 20 times. `data` and `train` must outlive the analysis. Not
    // for language: its rows have an answer for each token.
    ErrorAnalysis(Manifest const& data, TrainConfig const& train, std::string metric);

    void labels(std::span<float const> outputs, std::span<std::int64_t const> labels) override;
    void targets(std::span<float const> outputs, std::span<float const> targets) override;

    Json document() const;  // of all rows heard: best/validation.json without its trial (docs/formats.md)

private:
    struct Residuals {                                  // of one target, in its unit
        std::vector<float> all;                         // predicted - target
        std::vector<std::pair<double, double>> sample;  // target, predicted: of every stride-th row
    };
    void hear_row(std::span<float const> outputs, std::int64_t label);
    void hear_row(std::span<float const> outputs, std::span<float const> targets);
    void add_to_group(auto const& add);
    double standard_error() const;
    void add_classes(Json& document) const;
    Json residuals_of(std::size_t target, Evaluation::TargetScores const& scores) const;

    Manifest const& data_;
    TrainConfig const& train_;
    std::string metric_;
    std::int64_t rows_ = 0, stride_ = 1;
    std::vector<Evaluation> groups_;                          // row i counts in group i mod k_groups
    std::map<std::pair<int, int>, std::int64_t> confused_;    // label, predicted: rows; classification
    std::vector<std::int64_t> labelled_, predicted_, right_;  // rows by class, or by label
    std::vector<Residuals> residuals_;                        // of the first targets
};

}  // namespace hopscotch
