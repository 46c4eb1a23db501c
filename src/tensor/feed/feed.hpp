// SPDX-License-Identifier: Apache-2.0
// Brings the rows of a pass, batch by batch, from a shard into tensors on the device, augmented and normalised.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "data/batches/unit.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "model/trial/workspace.hpp"
#include "tensor/feed/batch_buffers.hpp"

namespace hopscotch {

class Augmenter;
class Normaliser;
class ShardSource;
struct DataConfig;
struct PickedRows;

struct DeviceShard;  // tensor/feed/device_feed.hpp
struct PassPlan;

// A pass under way. Order and cut are the caller's, and outlive it.
struct FeedPass {
    ShardSource* source = nullptr;
    std::span<std::uint32_t const> order;
    std::span<BatchRange const> cut;
    std::optional<UnitAddress> address;  // none: nothing is augmented
    std::size_t next = 0;
    std::shared_ptr<DeviceShard const> resident;  // null: rows come from the source
    std::uint64_t upload = 0;                     // DeviceFeed::upload of the plan of these batches
    std::size_t planned = 0, planned_end = 0;
};

// The batch that comes next, for a step that can gather by itself.
struct DueBatch {
    Batch batch;              // its values, or where the step gathers them
    std::size_t planned = 0;  // 0: it is there; else the step may gather this many batches, this one first
    std::uint32_t first = 0;  // its number among the batches whose plan is on the device
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

    // For workspaces with StepNumbers, in place of next(). The step gathers batches of a shard that lies on the device: the
    // caller adds the number of trained batches to pass.next.
    DueBatch due(FeedPass& pass);

    void end(FeedPass& pass);

    void reset() { host_ = {}; }  // drops the views that are kept from batch to batch

private:
    void fill(PickedRows const& rows, std::optional<UnitAddress> const& address, Batch const& host) const;
    void copy_answers(PickedRows const& rows, Batch const& host) const;
    PassPlan plan(FeedPass const& pass, std::size_t first, std::size_t end) const;
    std::size_t end_of_chunk(FeedPass const& pass, std::size_t first) const;
    std::size_t plan_batch(FeedPass& pass, std::size_t batch);
    Batch gathered(FeedPass& pass, std::size_t batch);
    static bool counts(FeedPass const& pass);

    DataSchema schema_;
    FeatureType type_;
    std::unique_ptr<Normaliser const> normaliser_;
    std::unique_ptr<Augmenter const> augmenter_;
    Workspace::Impl& workspace_;
    Batch host_;
};

}  // namespace hopscotch
