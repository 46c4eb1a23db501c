// SPDX-License-Identifier: Apache-2.0
#include "model/feed/feed.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "model/feed/device_feed.hpp"
#include "model/feed/workspace_impl.hpp"

namespace hopscotch {

Feed::Feed(DataConfig const& config, Manifest const& manifest, Workspace::Impl& workspace)
    : schema_(schema_of(manifest)),
      type_(manifest.type),
      normaliser_(std::make_unique<Normaliser>(manifest, config)),
      augmenter_(std::make_unique<Augmenter>(config, manifest)),
      workspace_(workspace) {
    if (workspace_.device_feed && !augmenter_->compact())
        log_info(
            "augmented batches are gathered on the host and copied one by one (an image has more than 4096 pixels a side, "
            "or "
            "data.augment more than 4 cutouts)");
}

// Every position of a language row is answered by its next token, the last one by the label.
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

// The part of the order that its batches take.
PassPlan Feed::plan(FeedPass const& pass) const {
    auto const first = pass.cut.front().first, end = pass.cut.back().first + pass.cut.back().size;
    auto const rows = pass.order.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
    return {*normaliser_, *augmenter_, pass.address, type_, rows};
}

Feed::~Feed() = default;

FeedPass Feed::begin(ShardSource& source, std::span<std::uint32_t const> order, std::span<BatchRange const> cut,
                     std::optional<UnitAddress> const& address) {
    FeedPass pass{&source, order, cut, address, 0, nullptr, 0};
    auto const whole = workspace_.device_feed && !cut.empty() ? source.whole() : nullptr;
    auto const in_kernels =
        elements(schema_.shape) <= INT32_MAX && (!address || augmenter_->compact());  // 32 bits index a row
    if (whole && in_kernels) pass.resident = workspace_.device_feed->resident(whole, plan(pass).bytes());
    if (!pass.resident) source.begin(order, cut);
    return pass;
}

Batch Feed::gathered(FeedPass& pass, BatchRange const& range) {
    auto& device = *workspace_.device_feed;
    if (!device.holds(pass.upload)) pass.upload = device.upload(plan(pass));
    return device.gather(*pass.resident, schema_, {range.first - pass.cut.front().first, range.size});
}

Batch Feed::next(FeedPass& pass) {
    require(pass.next < pass.cut.size(), "the pass has no more batches");
    auto const& range = pass.cut[pass.next++];
    if (pass.resident) return gathered(pass, range);
    auto const rows = pass.source->next();
    auto const size = static_cast<std::int64_t>(rows.rows.size());  // a source may have batches of its own
    if (workspace_.device_feed)
        return workspace_.device_feed->stage(schema_, size, [&](Batch const& host) { fill(rows, pass.address, host); });
    if (!host_.x.defined() || host_.x.size(0) != size) host_ = workspace_.batches.batch(schema_, size);
    fill(rows, pass.address, host_);
    return host_;
}

void Feed::end(FeedPass& pass) {
    if (pass.source != nullptr && !pass.resident) pass.source->end();
    pass = {};
}

}  // namespace hopscotch
