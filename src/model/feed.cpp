// SPDX-License-Identifier: Apache-2.0
#include "model/feed.hpp"

#include <algorithm>

#include "model/arguments.hpp"

namespace hopscotch {

void Feed::view_buffers(std::int64_t rows) {
    std::vector<std::int64_t> shape{rows};
    shape.insert(shape.end(), schema_.shape.begin(), schema_.shape.end());
    host_.x = workspace_.features(rows * elements(schema_.shape)).view(shape);
    host_.y = schema_.task == Task::classification
                  ? workspace_.labels(rows)
                  : workspace_.targets(rows * schema_.outputs).view({rows, schema_.outputs});
}

Batch Feed::gather(Shard const& shard, std::span<std::uint32_t const> picked) {
    auto const rows = static_cast<std::int64_t>(picked.size());
    if (!host_.x.defined() || host_.x.size(0) != rows) view_buffers(rows);
    normaliser_.gather(shard, picked, host_.x.mutable_data_ptr<float>());
    if (schema_.task == Task::classification) {
        auto* const labels = host_.y.mutable_data_ptr<std::int64_t>();
        for (std::size_t i = 0; i < picked.size(); ++i) labels[i] = shard.labels[picked[i]];
    } else {
        auto const width = static_cast<std::size_t>(schema_.outputs);
        auto* const targets = host_.y.mutable_data_ptr<float>();
        for (std::size_t i = 0; i < picked.size(); ++i)
            std::copy_n(&shard.targets[picked[i] * width], width, targets + i * width);
    }
    if (workspace_.device.is_cpu()) return host_;
    return {host_.x.to(workspace_.device), host_.y.to(workspace_.device)};
}

}  // namespace hopscotch
