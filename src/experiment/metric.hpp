// SPDX-License-Identifier: Apache-2.0
// The metrics that a search can go by, in one table: for the reader, the director and the files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/config.hpp"

namespace hopscotch {

std::string_view name_of(LossKind loss);  // as in an experiment: "bce_with_logits"

std::vector<std::string> metric_names();

// What better means unless search.mode says otherwise. Throws Error for a name that is none.
Mode natural_mode(std::string_view metric);

// Accuracy is of classes, top5 of one class a row, the mean absolute error of targets ... Throws Error likewise.
std::string_view needed_by(std::string_view metric);  // "classes", "targets": what its rows must have
bool has_metric(LossKind loss, std::string_view metric);

}  // namespace hopscotch
