// SPDX-License-Identifier: Apache-2.0
// A metric of the user's own, which comes with a plug-in: sums over the rows of each batch, added up in the order of the
// batches as the sums of the built-in metrics are, and a value of all rows.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "experiment/search_config.hpp"

namespace hopscotch {

struct NetworkMetric {
    std::string name;  // "val_cost"
    Mode mode = Mode::max;
    std::size_t sums = 1;
    // Both throw Error that names the metric and its file. Tensors are those of include/hopscotch/model.hpp.
    std::function<void(at::Tensor const& outputs, at::Tensor const& answers, std::span<double> sums)> add;
    std::function<double(std::span<double const> sums, std::int64_t rows)> value;
};

}  // namespace hopscotch
