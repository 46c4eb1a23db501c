// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/feature_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/log.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace {

bool same(std::weak_ptr<void const> const& a, std::weak_ptr<void const> const& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

std::uint64_t FeatureStore::bytes() const {
    std::uint64_t out = 0;
    for (auto const& entry : entries_) out += entry.features->shard->features.size();
    return out;
}

void FeatureStore::forget(std::uint64_t room) {
    while (!entries_.empty() && bytes() + room > limit_) {
        entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
        if (!std::exchange(told_, true))
            log_info(
                fmt::format("the outputs of frozen layers do not all fit in {:.2f} GB (as run.state_memory): some are "
                            "computed more than once",
                            static_cast<double>(limit_) * 1e-9));
    }
}

std::shared_ptr<Features> FeatureStore::of(std::string const& layers, ShardSource const& source,
                                           std::function<Features()> const& make) {
    std::erase_if(entries_, [](Entry const& entry) { return entry.source.expired(); });
    auto known = std::ranges::find_if(entries_, [&](Entry const& entry) {
        return same(entry.source, source.identity()) && entry.layers == layers;
    });
    if (known == entries_.end()) {
        auto made = std::make_shared<Features>(make());
        forget(made->shard->features.size());
        known = entries_.insert(entries_.end(), {layers, source.identity(), std::move(made)});
    }
    known->used = ++uses_;
    return known->features;
}

}  // namespace hopscotch
