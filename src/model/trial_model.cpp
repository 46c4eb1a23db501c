// SPDX-License-Identifier: Apache-2.0
#include "model/trial_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "model/arguments.hpp"

namespace hopscotch {

DataSchema schema_of(Manifest const& manifest) {
    return {manifest.task, manifest.shape, manifest.outputs, manifest.rows(Split::train)};
}

Sums& Sums::operator+=(Sums const& other) {
    rows += other.rows;
    loss += other.loss;
    correct += other.correct;
    top5 += other.top5;
    return *this;
}

Check<double> fraction() {
    return [](double v) { return v >= 0 && v < 1 ? "" : fmt::format("must be at least 0 and less than 1 (got {})", v); };
}

std::int64_t elements(std::vector<std::int64_t> const& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string shape_text(std::vector<std::int64_t> const& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace hopscotch
