// SPDX-License-Identifier: Apache-2.0
// Shard files that are sound HDF5 but not what hopscotch writes: other types, ranks and sizes, links, data kept in other
// files.
#pragma once
#include <filesystem>

#include "core/rng.hpp"
#include "data/dataset/manifest.hpp"

namespace hopscotch::fuzz {

struct OddShard {
    bool leads_outside = false;  // a dataset whose bytes lie in another file: a reader must refuse it
    std::int64_t rows = 0;       // what the manifest should say
};

// outside: an existing shard of the same form in another folder; what leads outside leads there.
OddShard write_odd_shard(std::filesystem::path const& path, Manifest const& manifest, std::filesystem::path const& outside,
                         Rng& rng);

}  // namespace hopscotch::fuzz
