// SPDX-License-Identifier: Apache-2.0
// The rows of an imported dataset, independent of split and shuffle.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {

// Whether the account of the import has this sentence.
inline bool decided(Manifest const& manifest, std::string const& sentence) {
    return std::ranges::find(manifest.origin.decisions, sentence) != manifest.origin.decisions.end();
}

using Rows = std::vector<std::vector<float>>;

// Those of some splits, sorted, each [features..., label or targets...].
inline Rows split_rows(std::filesystem::path const& dir, std::vector<Split> const& splits) {
    auto const manifest = read_manifest(dir);
    Rows out;
    auto const size = static_cast<std::size_t>(manifest.row_size()), outputs = static_cast<std::size_t>(manifest.outputs);
    for (auto split : splits)
        for (auto const& file : manifest.files(split)) {
            auto const shard = read_shard(dir, file, manifest);
            for (std::size_t r = 0; r < static_cast<std::size_t>(shard.rows); ++r) {
                std::vector<float> row(size);
                if (manifest.type == FeatureType::float32)
                    std::memcpy(row.data(), shard.features.data() + r * size * 4, size * 4);
                if (manifest.type == FeatureType::uint8)
                    for (std::size_t i = 0; i < size; ++i)
                        row[i] = std::to_integer<std::uint8_t>(shard.features[r * size + i]);
                if (has_labels(manifest.task)) row.push_back(static_cast<float>(shard.labels[r]));
                for (std::size_t i = 0; !has_labels(manifest.task) && i < outputs; ++i)
                    row.push_back(shard.targets[r * outputs + i]);
                out.push_back(std::move(row));
            }
        }
    std::sort(out.begin(), out.end());
    return out;
}

inline Rows all_rows(std::filesystem::path const& dir) { return split_rows(dir, {Split::train, Split::valid, Split::test}); }

}  // namespace hopscotch
