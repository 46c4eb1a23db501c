// SPDX-License-Identifier: Apache-2.0
// Batches on a GPU, without waiting for it. A shard that fits is copied there once and gathered by kernels; the order of a
// pass and the random changes of its rows are computed on the host, as on a CPU, and uploaded in chunks. Batches of other
// shards are gathered on the host into one of two page-locked buffers and copied while the batch before them trains. In both
// cases a batch lies at the same address as the one before it. One per workspace; one thread.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "data/batches/unit.hpp"
#include "data/dataset/manifest.hpp"
#include "tensor/feed/batch_buffers.hpp"
#include "tensor/gpu/feed_device.hpp"
#include "tensor/gpu/residency.hpp"

namespace hopscotch {

class Augmenter;
class Normaliser;
struct Shard;

struct DeviceShard {
    at::Tensor features;  // bytes, as they are stored
    at::Tensor answers;   // labels or targets
};

// The data that a pass uploads for its rows.
struct PassPlan {
    Normaliser const& normaliser;
    Augmenter const& augmenter;
    std::optional<UnitAddress> address;  // none: not augmented
    FeatureType type;
    std::span<std::uint32_t const> order;

    bool augments() const;
    std::int64_t bytes() const;
};

class DeviceFeed {
public:
    // plan_rows: of a chunk: a millisecond or more of the host's time.
    explicit DeviceFeed(std::unique_ptr<FeedDevice> device, std::int64_t plan_rows = 2048);
    std::int64_t plan_rows() const { return plan_rows_; }

    // The shard on the device, where it is copied if it fits; else null, and the log says so once. The host's stays whole
    // until the copy is done. upload_bytes: further bytes that a pass over it needs.
    std::shared_ptr<DeviceShard const> resident(std::shared_ptr<Shard const> const& shard, std::int64_t upload_bytes);

    // Shards leave the device until this many bytes are free for training. Passes that are under way keep theirs.
    void make_room(std::int64_t bytes);

    // Makes this the plan of the next gather()s. Returns its number; another upload makes it void.
    std::uint64_t upload(PassPlan const& plan);
    bool holds(std::uint64_t upload) const { return upload != 0 && upload == upload_; }

    // Where the next batch will lie, and the gather of the plan's first rows to there, without their count.
    Batch place(DataSchema const& schema, std::int64_t rows) { return batch_.batch(schema, rows); }
    AnswerGather gather_of(DeviceShard const& shard, DataSchema const& schema, Batch const& to) const;

    // Rows [range.first, ...) of the plan. The batch is valid until the next.
    Batch gather(DeviceShard const& shard, DataSchema const& schema, BatchRange const& range);

    // fill writes a batch of this many rows on the host; returns it on the device, valid until the next.
    Batch stage(DataSchema const& schema, std::int64_t rows, std::function<void(Batch const&)> const& fill);

private:
    struct Seen {
        std::weak_ptr<Shard const> host;
        std::shared_ptr<DeviceShard const> device;  // null: it stays on the host
    };
    struct Slot {
        BatchBuffers pinned, device;
        FeedDevice::Event copied, taken;
    };
    std::shared_ptr<DeviceShard const> copied(Shard const& shard);  // null: the memory is there, but not in one piece
    void forget_dead();

    std::unique_ptr<FeedDevice> device_;
    std::int64_t plan_rows_;
    Residency residency_;
    std::map<Residency::Key, Seen> shards_;
    BatchBuffers batch_;
    std::array<Slot, 2> slots_;
    std::size_t next_slot_ = 0;
    at::Tensor pinned_plan_, device_plan_;
    FeatureGather plan_;  // of the upload, its first row
    FeatureType type_ = FeatureType::float32;
    std::uint64_t upload_ = 0;
};

}  // namespace hopscotch
