// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/data_schema.hpp"

#include <functional>
#include <numeric>

namespace hopscotch {

DataSchema schema_of(Manifest const& manifest) {
    return {manifest.task,       manifest.shape,        manifest.outputs,       manifest.rows(Split::train),
            manifest.categories, manifest.targets.mean, manifest.targets.stddev};
}

std::int64_t elements(std::vector<std::int64_t> const& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace hopscotch
