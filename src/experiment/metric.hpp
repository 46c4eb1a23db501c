// SPDX-License-Identifier: Apache-2.0
// The metrics that a search can compare, one row each: everything that the reader, the director, the files and the texts of
// results ask about a metric.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/search_config.hpp"
#include "experiment/validation_scores.hpp"

namespace hopscotch {

enum class LossKind;

struct MetricTraits {
    enum class Needs { rows, classes, one_class, targets };  // the answers of a row
    enum class Fits { every_dataset, no_tokens, two_classes_or_labels };
    enum class Column { always, where_it_exists };  // of trials.csv
    enum class Shown { always, in_predictions, for_tokens, never };

    std::string_view name;  // in experiments and in every file
    Mode mode = Mode::max;  // which values are better, unless search.mode says otherwise
    Needs needs = Needs::rows;
    double (*value)(ValidationScores const&) = nullptr;  // of at least one row; null: the metric is of training
    Fits fits = Fits::every_dataset;
    Column column = Column::where_it_exists;
    bool is_share = false;        // of the rows, from 0 to 1
    Shown shown = Shown::always;  // in the texts of results on test shards and of predictions

    bool is_of_validation() const { return value != nullptr; }
    std::string_view short_name() const { return is_of_validation() ? name.substr(4) : name; }  // without "val_"
};

// The metrics that every loss has; the second one needs validation rows.
inline constexpr std::string_view k_train_loss = "train_loss", k_val_loss = "val_loss";
// Of every regression, and of two classes or labels.
inline constexpr std::string_view k_val_r2 = "val_r2", k_val_mae = "val_mae", k_val_auc = "val_auc", k_val_f1 = "val_f1";
// Of one class a row; of tokens.
inline constexpr std::string_view k_val_top5 = "val_top5", k_val_perplexity = "val_perplexity";

std::vector<MetricTraits> const& metric_traits();
MetricTraits const& metric_traits(std::string_view name);  // throws Error that lists the known names
std::vector<std::string> metric_names();
bool is_metric(std::string_view name);

// Whether a metric of the user's own may have this name: val_, then small letters, digits and _, and not that of a metric of
// the table.
bool may_be_own_metric(std::string_view name);

Mode natural_mode(std::string_view metric);  // throws Error for an unknown name, as the functions below

// Accuracy is of classes, top5 of one class a row, the mean absolute error of targets ...
std::string_view needed_by(std::string_view metric);  // "classes", "targets": the answers that rows must have
bool has_metric(LossKind loss, std::string_view metric);
bool has_metric(LossKind loss, MetricTraits const& metric);

}  // namespace hopscotch
