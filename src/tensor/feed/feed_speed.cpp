// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/feed_speed.hpp"

#include "core/clock.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "tensor/feed/feed.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {

double feed_seconds(TrialConfig const& config, Manifest const& manifest, Workspace& workspace, ShardSource& shard) {
    UnitAddress const address{1, TrialId(0), 0, ShardId(0)};
    Feed feed(config.data, manifest, workspace.impl());
    auto const start = monotonic_s();
    auto const order = shuffled_rows(shard.rows(), address, rows_shuffled_together(config.data));
    auto const cut = batches(shard.rows(), config.train.batch_size, config.data.last_batch);
    auto pass = feed.begin(shard, order, cut, address);
    Batch batch;
    for (std::size_t i = 0; i < cut.size(); ++i) batch = feed.next(pass);
    if (!cut.empty()) static_cast<void>(batch.y.to(at::kCPU));  // waits for the device
    feed.end(pass);
    return monotonic_s() - start;
}

}  // namespace hopscotch
