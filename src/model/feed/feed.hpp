// SPDX-License-Identifier: Apache-2.0
// Brings the rows of a pass, batch by batch, from a shard into tensors on the device, augmented and normalised.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "data/batches/unit.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "model/feed/batch_buffers.hpp"
#include "model/feed/workspace.hpp"

namespace hopscotch {

class Augmenter;
class Normaliser;
class ShardSource;
struct DataConfig;
struct PickedRows;

struct DeviceShard;  // model/feed/device_feed.hpp
struct PassPlan;

// A pass under way. Order and cut are the caller's, and outlive it.
struct FeedPass {
    ShardSource* source = nullptr;
    std::span<std::uint32_t const> order;
    std::span<BatchRange const> cut;
    std::optional<UnitAddress> address;  // none: nothing is augmented
    std::size_t next = 0;
    std::shared_ptr<DeviceShard const> resident;  // null: rows come from the source
    std::uint64_t upload = 0;                     // DeviceFeed::upload of its plan
};

class Feed {
public:
    Feed(DataConfig const& config, Manifest const& manifest, Workspace::Impl& workspace);
    ~Feed();

    // address: of a training pass, whose rows are augmented.
    FeedPass begin(ShardSource& source, std::span<std::uint32_t const> order, std::span<BatchRange const> cut,
                   std::optional<UnitAddress> const& address);

    // Valid until the next batch of any model of this workspace.
    Batch next(FeedPass& pass);

    void end(FeedPass& pass);

    void reset() { host_ = {}; }  // drops the views that are kept from batch to batch

private:
    void fill(PickedRows const& rows, std::optional<UnitAddress> const& address, Batch const& host) const;
    void copy_answers(PickedRows const& rows, Batch const& host) const;
    PassPlan plan(FeedPass const& pass) const;
    Batch gathered(FeedPass& pass, BatchRange const& range);

    DataSchema schema_;
    FeatureType type_;
    std::unique_ptr<Normaliser const> normaliser_;
    std::unique_ptr<Augmenter const> augmenter_;
    Workspace::Impl& workspace_;
    Batch host_;
};

}  // namespace hopscotch
