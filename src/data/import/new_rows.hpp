// SPDX-License-Identifier: Apache-2.0
// Rows of a foreign source in the features of a dataset that was imported before, without an import: the input of predict.
// Streams, in the order of the source; labels are neither needed nor read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/shard.hpp"

namespace hopscotch {

struct NewRows {
    Shard shard;                   // of the features' type; labels and targets are 0
    std::vector<std::string> ids;  // the name of each row: the number of its record from 0, its --id, or its file
};

class NewRowSource {
public:
    virtual ~NewRowSource() = default;
    virtual FeatureType type() const = 0;
    virtual std::string id_name() const = 0;

    // The next rows, at most `most`; none: the end. Throws DataError at the end of a source that has bad rows, and lists
    // them: the rows before must not be used then.
    virtual NewRows next(std::int64_t most) = 0;
};

}  // namespace hopscotch
