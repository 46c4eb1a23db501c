// SPDX-License-Identifier: Apache-2.0
#include "model/feed.hpp"

#include <algorithm>

#include "model/zoo/arguments.hpp"

namespace hopscotch {

Feed::Feed(DataConfig const& config, Manifest const& manifest, Workspace::Impl& workspace)
    : schema_(schema_of(manifest)), normaliser_(manifest, config), augmenter_(config, manifest), workspace_(workspace) {}

void Feed::view_buffers(std::int64_t rows) {
    std::vector<std::int64_t> shape{rows};
    shape.insert(shape.end(), schema_.shape.begin(), schema_.shape.end());
    host_.x = workspace_.features(rows * elements(schema_.shape)).view(shape);
    if (schema_.task == Task::language)
        host_.y = workspace_.labels(rows * elements(schema_.shape)).view({rows, elements(schema_.shape)});
    else if (schema_.task == Task::classification)
        host_.y = workspace_.labels(rows);
    else
        host_.y = workspace_.targets(rows * schema_.outputs).view({rows, schema_.outputs});
}

// Every position of a language row is answered by its next token, the last one by the label.
void Feed::copy_answers(PickedRows const& rows) {
    if (!has_labels(schema_.task)) {
        auto const width = static_cast<std::size_t>(schema_.outputs);
        auto* targets = host_.y.mutable_data_ptr<float>();
        for (auto const row : rows.rows) targets = std::copy_n(&rows.shard.targets[row * width], width, targets);
        return;
    }
    auto* labels = host_.y.mutable_data_ptr<std::int64_t>();
    auto const tokens = schema_.task == Task::language ? elements(schema_.shape) : 1;
    auto const* token = host_.x.const_data_ptr<float>();
    for (auto const row : rows.rows) {
        for (std::int64_t i = 1; i < tokens; ++i) *labels++ = static_cast<std::int64_t>(token[i]);
        token += tokens;
        *labels++ = rows.shard.labels[row];
    }
}

Batch Feed::on_device() const {
    if (workspace_.device.is_cpu()) return host_;
    return {host_.x.to(workspace_.device), host_.y.to(workspace_.device)};
}

Batch Feed::train(PickedRows const& rows, UnitAddress const& address) {
    if (augmenter_.idle()) return plain(rows);
    auto const count = static_cast<std::int64_t>(rows.rows.size());
    if (!host_.x.defined() || host_.x.size(0) != count) view_buffers(count);
    augmenter_.gather(rows, address, host_.x.mutable_data_ptr<float>());
    copy_answers(rows);
    return on_device();
}

Batch Feed::plain(PickedRows const& rows) {
    auto const count = static_cast<std::int64_t>(rows.rows.size());
    if (!host_.x.defined() || host_.x.size(0) != count) view_buffers(count);
    normaliser_.gather(rows.shard, rows.rows, host_.x.mutable_data_ptr<float>());
    copy_answers(rows);
    return on_device();
}

}  // namespace hopscotch
