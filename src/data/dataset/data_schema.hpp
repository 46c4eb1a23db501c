// SPDX-License-Identifier: Apache-2.0
// The part of a manifest that a model is built for: task, shapes and sizes, but no files.
#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct DataSchema {
    Task task = Task::classification;
    std::vector<std::int64_t> shape;
    std::int64_t outputs = 0;
    std::int64_t train_rows = 0;                               // schedules count epochs in samples: epoch = train_rows
    std::vector<std::int64_t> categories;                      // as in the manifest
    std::vector<double> target_mean = {}, target_stddev = {};  // likewise; for metrics, not part of the network's structure
};
DataSchema schema_of(Manifest const& manifest);

std::int64_t elements(std::vector<std::int64_t> const& shape);  // 1 for a scalar, whose shape is {}

}  // namespace hopscotch
