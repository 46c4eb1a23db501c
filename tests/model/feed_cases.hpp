// SPDX-License-Identifier: Apache-2.0
// Made-up datasets of every kind that a feed can meet, and what it makes of them.
#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/compact_plan.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/config.hpp"
#include "tensor/feed/feed.hpp"

namespace hopscotch::testing {

struct FeedCase {
    Manifest manifest;
    DataConfig config;
    std::shared_ptr<Shard const> shard;
};

inline AugmentConfig random_augment(std::int64_t side, Rng& rng) {
    auto const below = [&](std::int64_t n) { return static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(n))); };
    AugmentConfig const choices[] = {
        {AugmentKind::flip, 0.5}, {AugmentKind::crop, 1, below(side)}, {AugmentKind::cutout, 0.7, 4, 1 + below(side)}};
    return choices[below(3)];
}

inline Shard made_up_shard(Manifest const& manifest, std::int64_t rows, Rng& rng) {
    Shard shard;
    shard.rows = rows;
    auto const put = [&](auto value) {
        auto const bytes = std::as_bytes(std::span(&value, 1));
        shard.features.own().insert(shard.features.own().end(), bytes.begin(), bytes.end());
    };
    for (std::int64_t i = 0; i < rows * manifest.row_size(); ++i) {
        if (manifest.type == FeatureType::uint8)
            put(static_cast<std::uint8_t>(rng.below(manifest.task == Task::language ? 100 : 256)));
        else
            put(manifest.task == Task::language ? static_cast<float>(rng.below(100)) : static_cast<float>(rng.normal()));
    }
    auto const outputs = static_cast<std::uint32_t>(manifest.outputs);
    for (std::int64_t i = 0; i < rows; ++i) {
        if (has_labels(manifest.task))
            shard.labels.push_back(rng.below(outputs));
        else
            for (std::uint32_t k = 0; k < outputs; ++k) shard.targets.push_back(static_cast<float>(rng.normal()));
    }
    return shard;
}

inline FeedCase random_case(Rng& rng) {
    auto const below = [&](std::uint32_t n) { return static_cast<std::int64_t>(rng.below(n)); };
    FeedCase out;
    auto& m = out.manifest;
    m.task = std::vector{Task::classification, Task::regression, Task::multilabel, Task::language}[rng.below(4)];
    m.type = rng.below(2) == 0 ? FeatureType::uint8 : FeatureType::float32;
    m.outputs = m.task == Task::language ? 100 : 1 + below(5);
    auto const images = m.task != Task::language && rng.below(3) > 0;
    m.shape = images ? std::vector{1 + below(4), 1 + below(12), 1 + below(12)} : std::vector{1 + below(40)};
    for (std::int64_t i = 0; i < m.shape[0]; ++i) {
        m.features.mean.push_back(100 * rng.uniform());
        m.features.stddev.push_back(1 + 10 * rng.uniform());
    }
    if (m.task == Task::language) m.categories = {100};
    out.config.normalise = rng.below(3) > 0;
    if (images)
        for (auto n = rng.below(6); n > 0; --n)
            out.config.augment.push_back(random_augment(std::min(m.shape[1], m.shape[2]), rng));
    out.shard = std::make_shared<Shard const>(made_up_shard(m, 1 + below(60), rng));
    m.train = {{"train-00000.h5", out.shard->rows, 0}};
    return out;
}

// What a pass goes by; its own copy, as a FeedPass only looks at it.
struct PassOrder {
    std::optional<UnitAddress> address;
    std::vector<std::uint32_t> order;
    std::vector<BatchRange> cut;
};

inline PassOrder random_pass(FeedCase const& from, Rng& rng) {
    PassOrder out;
    UnitAddress const unit{rng.next_u64(), TrialId(3), static_cast<int>(rng.below(9)), ShardId(5)};
    out.order = shuffled_rows(from.shard->rows, unit);
    out.cut = batches(from.shard->rows, 1 + rng.below(20), LastBatch::keep);
    out.cut.erase(out.cut.begin(), out.cut.begin() + rng.below(static_cast<std::uint32_t>(out.cut.size())));  // skip_to
    if (rng.below(3) > 0) out.address = unit;
    return out;
}

// A shard whose rows travel: its source never has all of it.
class Travelling : public ShardSource {
public:
    explicit Travelling(std::shared_ptr<Shard const> const& shard) : rows_(shard_in_memory(shard)) {}
    std::int64_t rows() const override { return rows_->rows(); }
    void begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) override { rows_->begin(order, cut); }
    PickedRows next() override { return rows_->next(); }

private:
    std::unique_ptr<ShardSource> rows_;
};

inline bool same_bits(at::Tensor const& a, at::Tensor const& b) {
    return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
           std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

inline std::vector<Batch> host_batches(FeedCase const& from, PassOrder const& pass) {
    Workspace workspace("cpu", 1);
    Feed feed(from.config, from.manifest, workspace.impl());
    auto const source = shard_in_memory(from.shard);
    auto under_way = feed.begin(*source, pass.order, pass.cut, pass.address);
    std::vector<Batch> out;
    for (std::size_t i = 0; i < pass.cut.size(); ++i) {
        auto const batch = feed.next(under_way);
        out.push_back({batch.x.clone(), batch.y.clone()});
    }
    feed.end(under_way);
    return out;
}

}  // namespace hopscotch::testing
