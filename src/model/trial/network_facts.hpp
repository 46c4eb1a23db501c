// SPDX-License-Identifier: Apache-2.0
// What others ask of a network before it trains.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hopscotch {

enum class Mode;

// A metric that a network of the user's own brings with it.
struct OwnMetricName {
    std::string name;
    Mode mode;  // which values are better
};

// The frozen layers at the start of a network, for model.cache_frozen.
struct FrozenPart {
    double share = 0;          // of the network's multiply-adds
    std::int64_t outputs = 0;  // floats for each row, which the rest of the network reads
};

struct NetworkFacts {
    double multiply_adds = 0;  // of one row, forward, without a cached start
    std::vector<OwnMetricName> metrics;
    std::optional<FrozenPart> frozen;  // none: the first layer trains
    bool draws_from_torch = false;     // from torch's own generator, which trainers of one process would share
};

}  // namespace hopscotch
