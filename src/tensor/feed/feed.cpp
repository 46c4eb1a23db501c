// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/feed.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "tensor/feed/device_feed.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {

Feed::Feed(DataConfig const& config, Manifest const& manifest, Workspace::Impl& workspace)
    : schema_(schema_of(manifest)),
      type_(manifest.type),
      normaliser_(std::make_unique<Normaliser>(manifest, config)),
      augmenter_(std::make_unique<Augmenter>(config, manifest)),
      workspace_(workspace) {
    if (workspace_.gpu.device_feed && !augmenter_->compact())
        log_info(
            "augmented batches are gathered on the host and copied one by one (an image has more than 4096 pixels a side, "
            "or "
            "data.augment more than 4 cutouts)");
}

// Each position of a language row has its next token as the answer, the last position has the label.
void Feed::copy_answers(PickedRows const& rows, Batch const& host) const {
    if (!has_labels(schema_.task)) {
        auto const width = static_cast<std::size_t>(schema_.outputs);
        auto* targets = host.y.mutable_data_ptr<float>();
        for (auto const row : rows.rows) targets = std::copy_n(&rows.shard.targets[row * width], width, targets);
        return;
    }
    auto* labels = host.y.mutable_data_ptr<std::int64_t>();
    auto const tokens = schema_.task == Task::language ? elements(schema_.shape) : 1;
    auto const* token = host.x.const_data_ptr<float>();
    for (auto const row : rows.rows) {
        for (std::int64_t i = 1; i < tokens; ++i) *labels++ = static_cast<std::int64_t>(token[i]);
        token += tokens;
        *labels++ = rows.shard.labels[row];
    }
}

void Feed::fill(PickedRows const& rows, std::optional<UnitAddress> const& address, Batch const& host) const {
    auto* const features = host.x.mutable_data_ptr<float>();
    if (address)
        augmenter_->gather(rows, *address, features);
    else
        normaliser_->gather(rows.shard, rows.rows, features);
    copy_answers(rows, host);
}

// The part of the order that these batches take.
PassPlan Feed::plan(FeedPass const& pass, std::size_t first, std::size_t end) const {
    auto const from = pass.cut[first].first, to = pass.cut[end - 1].first + pass.cut[end - 1].size;
    auto const rows = pass.order.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    return {*normaliser_, *augmenter_, pass.address, type_, rows};
}

// Planning the augmentation of a pass takes the host a while. So the device gets the plan of one batch first, and while it
// trains on a chunk of batches, the host plans the next chunk.
std::size_t Feed::end_of_chunk(FeedPass const& pass, std::size_t first) const {
    if (!plan(pass, first, first + 1).augments()) return pass.cut.size();
    auto end = first + 1;
    if (pass.upload == 0 || !workspace_.gpu.device_feed->holds(pass.upload)) return end;
    auto const most = pass.cut[first].first + workspace_.gpu.device_feed->plan_rows();
    while (end < pass.cut.size() && pass.cut[end].first + pass.cut[end].size <= most) ++end;
    return end;
}

Feed::~Feed() = default;

FeedPass Feed::begin(ShardSource& source, std::span<std::uint32_t const> order, std::span<BatchRange const> cut,
                     std::optional<UnitAddress> const& address) {
    FeedPass pass{&source, order, cut, address, 0, nullptr, 0};
    auto const whole = workspace_.gpu.device_feed && !cut.empty() ? source.whole() : nullptr;
    auto const in_kernels =
        elements(schema_.shape) <= INT32_MAX && (!address || augmenter_->compact());  // 32 bits index a row
    if (whole && in_kernels) pass.resident = workspace_.gpu.device_feed->resident(whole, plan(pass, 0, cut.size()).bytes());
    if (!pass.resident) source.begin(order, cut);
    return pass;
}

// Brings the chunk of this batch to the device. Returns the number of the batch in the chunk.
std::size_t Feed::plan_batch(FeedPass& pass, std::size_t batch) {
    auto& device = *workspace_.gpu.device_feed;
    if (!device.holds(pass.upload) || batch >= pass.planned_end) {
        pass.planned_end = end_of_chunk(pass, batch);
        pass.planned = batch;
        pass.upload = device.upload(plan(pass, batch, pass.planned_end));
    }
    return batch - pass.planned;
}

Batch Feed::gathered(FeedPass& pass, std::size_t batch) {
    plan_batch(pass, batch);
    auto const& range = pass.cut[batch];
    return workspace_.gpu.device_feed->gather(*pass.resident, schema_,
                                              {range.first - pass.cut[pass.planned].first, range.size});
}

Batch Feed::next(FeedPass& pass) {
    require(pass.next < pass.cut.size(), "the pass has no more batches");
    auto const batch = pass.next++;
    if (pass.resident) return gathered(pass, batch);
    auto const rows = pass.source->next();
    auto const size = static_cast<std::int64_t>(rows.rows.size());  // a source may have batches of its own
    if (workspace_.gpu.device_feed)
        return workspace_.gpu.device_feed->stage(schema_, size, [&](Batch const& host) { fill(rows, pass.address, host); });
    if (!host_.x.defined() || host_.x.size(0) != size) host_ = workspace_.batches.batch(schema_, size);
    fill(rows, pass.address, host_);
    return host_;
}

// The rows of the next batch follow from its number.
bool Feed::counts(FeedPass const& pass) {
    auto const& first = pass.cut.front();
    return pass.resident && pass.cut[pass.next].first - first.first == static_cast<std::int64_t>(pass.next) * first.size;
}

DueBatch Feed::due(FeedPass& pass) {
    require(pass.next < pass.cut.size(), "the pass has no more batches");
    if (!counts(pass)) return {next(pass)};
    auto const number = plan_batch(pass, pass.next);
    auto& device = *workspace_.gpu.device_feed;
    auto const batch = device.place(schema_, pass.cut[pass.next].size);
    auto const all = device.gather_of(*pass.resident, schema_, batch);
    workspace_.steps_gather(all, static_cast<std::uint32_t>(pass.cut.front().size));
    return {batch, pass.planned_end - pass.next, static_cast<std::uint32_t>(number)};
}

void Feed::end(FeedPass& pass) {
    if (pass.source != nullptr && !pass.resident) pass.source->end();
    pass = {};
}

}  // namespace hopscotch
