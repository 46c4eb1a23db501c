// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/device_feed.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/log.hpp"
#include "core/unit_parts.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace {

using Event = FeedDevice::Event;
using Stream = FeedDevice::Stream;

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::int64_t bytes_of(Shard const& shard) {
    return static_cast<std::int64_t>(shard.features.size() + shard.labels.size() * sizeof(std::int64_t) +
                                     shard.targets.size() * sizeof(float));
}

template <class Values>
at::Tensor view_of(Values const& values, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(static_cast<void const*>(values.data())),
                         {static_cast<std::int64_t>(values.size())}, at::TensorOptions(type));
}

// The places of an upload's parts: floats first, so that each is aligned.
struct PlanPlaces {
    explicit PlanPlaces(PassPlan const& plan)
        : scales(plan.normaliser.scale().size()),
          fills(plan.augments() ? plan.augmenter.fill().size() : 0),
          rows(plan.order.size()),
          images(plan.augments() ? rows * plan.augmenter.plan_size() : 0) {}
    std::size_t shift() const { return scales * sizeof(float); }
    std::size_t fill() const { return 2 * scales * sizeof(float); }
    std::size_t order() const { return fill() + fills * sizeof(float); }
    std::size_t image_plans() const { return order() + rows * sizeof(std::uint32_t); }
    std::size_t bytes() const { return image_plans() + images * sizeof(std::uint16_t); }
    std::size_t scales, fills, rows, images;
};

void write_plan(PassPlan const& plan, std::byte* out) {
    PlanPlaces const places(plan);
    auto const put = [&](auto const& values, std::size_t at) {
        auto const bytes = std::as_bytes(std::span(values));
        std::copy(bytes.begin(), bytes.end(), out + at);
    };
    put(plan.normaliser.scale(), 0);
    put(plan.normaliser.shift(), places.shift());
    put(plan.order, places.order());
    if (!plan.augments()) return;
    put(plan.augmenter.fill(), places.fill());
    plan.augmenter.plan(plan.order, *plan.address, reinterpret_cast<std::uint16_t*>(out + places.image_plans()));
}

FeatureGather gather_by(PassPlan const& plan, std::byte const* uploaded) {
    PlanPlaces const places(plan);
    FeatureGather out;
    out.scale = reinterpret_cast<float const*>(uploaded);
    out.shift = reinterpret_cast<float const*>(uploaded + places.shift());
    out.rows = reinterpret_cast<std::uint32_t const*>(uploaded + places.order());
    out.run = static_cast<std::uint32_t>(plan.normaliser.run());
    if (!plan.augments()) return out;
    out.fill = reinterpret_cast<float const*>(uploaded + places.fill());
    out.plans = reinterpret_cast<std::uint16_t const*>(uploaded + places.image_plans());
    out.height = static_cast<std::uint32_t>(plan.augmenter.height());
    out.width = static_cast<std::uint32_t>(plan.augmenter.width());
    return out;
}

// The memory of a step is known only once it has run, hence shares of the whole.
Residency::Reserve reserve_of(std::int64_t total) { return {total / 4, total / 8}; }

}  // namespace

bool PassPlan::augments() const { return address && !augmenter.idle(); }

std::int64_t PassPlan::bytes() const { return static_cast<std::int64_t>(PlanPlaces(*this).bytes()); }

DeviceFeed::DeviceFeed(std::unique_ptr<FeedDevice> device, std::int64_t plan_rows)
    : device_(std::move(device)),
      plan_rows_(plan_rows),
      residency_(reserve_of(device_->memory().total)),
      batch_(device_->on_device()),
      slots_{{{BatchBuffers(device_->on_host()), BatchBuffers(device_->on_device()), Event::copied_0, Event::taken_0},
              {BatchBuffers(device_->on_host()), BatchBuffers(device_->on_device()), Event::copied_1, Event::taken_1}}} {}

void DeviceFeed::forget_dead() {
    std::erase_if(shards_, [&](auto const& entry) {
        auto const dead = entry.second.host.expired();
        if (dead) residency_.forget(entry.first);
        return dead;
    });
}

std::shared_ptr<DeviceShard const> DeviceFeed::copied(Shard const& shard) try {
    c10::InferenceMode const ordinary(false);
    auto const place = device_->on_device();
    auto out = std::make_shared<DeviceShard>();
    auto const put = [&](at::Tensor const& values) {
        auto there = at::empty(values.sizes(), place.dtype(values.scalar_type()));
        device_->copy(there, values, Stream::compute);
        return there;
    };
    out->features = put(view_of(shard.features, at::kByte));
    out->answers = shard.targets.empty() ? put(view_of(shard.labels, at::kLong)) : put(view_of(shard.targets, at::kFloat));
    return out;
} catch (c10::OutOfMemoryError const&) {
    residency_.give_up(&shard);
    return nullptr;
}

std::shared_ptr<DeviceShard const> DeviceFeed::resident(std::shared_ptr<Shard const> const& shard,
                                                        std::int64_t upload_bytes) {
    forget_dead();
    auto const [found, first] = shards_.try_emplace(shard.get(), Seen{shard, nullptr});
    auto& seen = found->second;
    auto const bytes = bytes_of(*shard) + upload_bytes;
    auto const free = seen.device ? 0 : device_->memory().free;  // asking takes longer than a small batch
    auto const place = residency_.use(shard.get(), bytes, free);
    if (place == Residency::Place::device && !seen.device) seen.device = copied(*shard);
    if (!seen.device && first)
        log_info(
            fmt::format("a shard of {} rows ({:.1f} MB) stays in host memory, its batches are copied one by one (the GPU "
                        "has {:.1f} MB free, {:.1f} MB of which are kept for training)",
                        shard->rows, megabytes(bytes), megabytes(free), megabytes(residency_.reserve().training)));
    return seen.device;
}

void DeviceFeed::make_room(std::int64_t bytes) {
    auto const free = device_->memory().free;
    for (auto const key : residency_.make_room(bytes, free)) {
        auto& seen = shards_.at(key);
        auto const host = seen.host.lock();
        if (host)
            log_info(fmt::format(
                "a shard of {} rows ({:.1f} MB) leaves the GPU, where training needs memory ({:.1f} MB were free); "
                "its batches are copied one by one from now on",
                host->rows, megabytes(bytes_of(*host)), megabytes(free)));
        seen.device = nullptr;
    }
}

std::uint64_t DeviceFeed::upload(PassPlan const& plan) {
    PartTimer const timing(UnitPart::plan);
    auto const bytes = plan.bytes();
    device_->wait(Event::uploaded);  // the upload before has left the page-locked buffer
    auto const pinned = grown(pinned_plan_, bytes, device_->on_host().dtype(at::kByte));
    auto const there = grown(device_plan_, bytes, device_->on_device().dtype(at::kByte));
    write_plan(plan, reinterpret_cast<std::byte*>(pinned.mutable_data_ptr<std::uint8_t>()));
    device_->copy(there, pinned, Stream::compute);  // after the last gather by the plan before
    device_->record(Event::uploaded, Stream::compute);
    plan_ = gather_by(plan, reinterpret_cast<std::byte const*>(there.const_data_ptr<std::uint8_t>()));
    type_ = plan.type;
    return ++upload_;
}

AnswerGather DeviceFeed::gather_of(DeviceShard const& shard, DataSchema const& schema, Batch const& to) const {
    AnswerGather out;
    auto& features = out.features = plan_;
    auto const* const stored = shard.features.const_data_ptr<std::uint8_t>();
    if (type_ == FeatureType::uint8)
        features.bytes = stored;
    else
        features.floats = reinterpret_cast<float const*>(stored);
    features.row_size = static_cast<std::uint32_t>(elements(schema.shape));
    features.out = to.x.mutable_data_ptr<float>();
    if (has_labels(schema.task)) {
        out.labels = shard.answers.const_data_ptr<std::int64_t>();
        out.label_out = to.y.mutable_data_ptr<std::int64_t>();
        out.width = schema.task == Task::language ? features.row_size : 1;
    } else {
        out.targets = shard.answers.const_data_ptr<float>();
        out.target_out = to.y.mutable_data_ptr<float>();
        out.width = static_cast<std::uint32_t>(schema.outputs);
    }
    return out;
}

Batch DeviceFeed::gather(DeviceShard const& shard, DataSchema const& schema, BatchRange const& range) {
    auto const out = batch_.batch(schema, range.size);
    auto gather = gather_of(shard, schema, out);
    auto& features = gather.features;
    features.rows += range.first;
    if (features.plans != nullptr) features.plans += range.first * (features.height + features.width);
    features.count = static_cast<std::uint32_t>(range.size);
    device_->gather(features);
    device_->gather(gather);
    return out;
}

// Streams and events, for batches 0, 1, 2 in slots 0, 1, 0 (the host runs ahead of both streams):
//   host     fill 0        fill 1        wait copied_0, fill 2 ...
//   copy     copy 0        copy 1        wait taken_0, copy 2 ...
//   compute  wait copied_0, take 0, train 0, wait copied_1, take 1, train 1 ...
Batch DeviceFeed::stage(DataSchema const& schema, std::int64_t rows, std::function<void(Batch const&)> const& fill) {
    auto& slot = slots_[next_slot_];
    next_slot_ = 1 - next_slot_;
    device_->wait(slot.copied);
    auto const grows = !slot.device.has_room_for(schema, rows);
    auto const there = slot.device.batch(schema, rows);
    if (grows) device_->record(slot.taken, Stream::compute);  // new memory may still be in use by what is queued there
    auto const pinned = slot.pinned.batch(schema, rows);
    fill(pinned);
    device_->wait(slot.taken, Stream::copy);
    device_->copy(there.x, pinned.x, Stream::copy);
    device_->copy(there.y, pinned.y, Stream::copy);
    device_->record(slot.copied, Stream::copy);
    auto const out = batch_.batch(schema, rows);
    device_->wait(slot.copied, Stream::compute);
    device_->copy(out.x, there.x, Stream::compute);
    device_->copy(out.y, there.y, Stream::compute);
    device_->record(slot.taken, Stream::compute);
    return out;
}

}  // namespace hopscotch
