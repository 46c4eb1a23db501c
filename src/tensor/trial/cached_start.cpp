// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/cached_start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "data/batches/shard_source.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/config.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "tensor/feed/feature_store.hpp"
#include "tensor/feed/feed.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/network/network.hpp"
#include "tensor/step/step.hpp"
#include "tensor/trial/pretrained_weights.hpp"

namespace hopscotch {
namespace {

std::string layers_of(TrialConfig const& config, FrozenStart const& start) {
    auto const& model = config.model;
    return fmt::format("{} {} {} from {} up to {} {} NHWC {} normalise {}", model.name, model.arguments.dump(),
                       start.parameters().size(), PretrainedWeights::identity_of(model.init_from),
                       fmt::join(start.output_shape(), "x"),
                       config.train.arithmetic.precision == Precision::bf16 ? "bf16" : "fp32",
                       config.train.arithmetic.channels_last, config.data.normalise);
}

std::int64_t rows_in_evaluation(Manifest const& manifest) { return evaluation_batch(manifest.row_size(), manifest.outputs); }

template <class Value>
void copy_rows(at::Tensor const& from, Value* to) {
    auto const values = from.to(at::kCPU).contiguous();
    std::memcpy(to, values.const_data_ptr(), values.nbytes());
}

FeatureStore& store_of(Workspace::Impl& workspace) {
    auto& features = workspace.features;
    if (!features.store) features.store = std::make_shared<FeatureStore>(features.bytes);
    return *features.store;
}

DataConfig without_augmentation(DataConfig data) {
    data.augment.clear();
    return data;
}

}  // namespace

Manifest manifest_of_features(Manifest const& manifest, FrozenStart const& start) {
    auto out = manifest;
    out.shape = start.output_shape();
    out.type = FeatureType::float32;
    out.categories.clear();
    out.features.offset.clear();
    out.features.mean = {0};
    out.features.stddev = {1};
    return out;
}

CachedStart::CachedStart(TrialConfig const& config, Manifest const& manifest, FrozenStart& start, Step& step,
                         Workspace::Impl& workspace)
    : has_labels_(has_labels(manifest.task)),
      outputs_(manifest.outputs),
      start_(start),
      step_(step),
      workspace_(workspace),
      feed_(std::make_unique<Feed>(without_augmentation(config.data), manifest, workspace)),
      layers_(layers_of(config, start)),
      batch_(rows_in_evaluation(manifest)) {
    PretrainedWeights const weights(config.model.init_from, workspace);
    for (auto const& spec : start.parameters()) parameters_.push_back(weights.get(spec.name, spec.shape, Element::float32));
    for (auto const& spec : start.buffers())  // files of old versions of PyTorch count no batches
        buffers_.push_back(weights.get(spec.name, spec.shape, spec.element, PretrainedWeights::Missing::zeros));
    start_.bind(parameters_, buffers_);
}

CachedStart::~CachedStart() = default;

Features CachedStart::room_for(ShardSource const& shard) const {
    auto const rows = static_cast<std::size_t>(shard.rows());
    Features out{std::make_shared<Shard>(), {}};
    out.shard->rows = shard.rows();
    out.shard->features.own().resize(rows * static_cast<std::size_t>(elements(start_.output_shape())) * sizeof(float));
    if (has_labels_)
        out.shard->labels.resize(rows);
    else
        out.shard->targets.resize(rows * static_cast<std::size_t>(outputs_));
    out.there.resize((rows + static_cast<std::size_t>(batch_) - 1) / static_cast<std::size_t>(batch_));
    return out;
}

std::unique_ptr<ShardSource> CachedStart::features(ShardSource& shard, BatchRange const& rows, TrainingNeed const& held,
                                                   std::function<void()> const& on_batch) {
    auto const kept = store_of(workspace_).of(layers_, shard, [&] { return room_for(shard); });
    // A GPU takes the whole shard, if it fits.
    auto const wanted = workspace_.gpu.device_feed ? BatchRange{0, shard.rows()} : rows;
    std::vector<BatchRange> missing;
    for (auto first = wanted.first / batch_ * batch_; first < wanted.first + wanted.size; first += batch_)
        if (!kept->there[static_cast<std::size_t>(first / batch_)])
            missing.push_back({first, std::min(batch_, shard.rows() - first)});
    if (!missing.empty()) compute(shard, *kept, missing, held, on_batch);
    return shard_in_memory(std::shared_ptr<Shard const>(kept->shard));
}

void CachedStart::compute(ShardSource& shard, Features& into, std::vector<BatchRange> const& missing,
                          TrainingNeed const& held, std::function<void()> const& on_batch) {
    std::vector<std::uint32_t> order;
    std::vector<BatchRange> cut;  // of the order
    for (auto const& range : missing) {
        cut.push_back({static_cast<std::int64_t>(order.size()), range.size});
        order.resize(order.size() + static_cast<std::size_t>(range.size));
        std::iota(order.end() - range.size, order.end(), static_cast<std::uint32_t>(range.first));
    }
    auto const width = elements(start_.output_shape());
    auto* const features = reinterpret_cast<float*>(into.shard->features.own().data());
    auto pass = feed_->begin(shard, order, cut, {});
    for (auto const& range : missing) {
        auto const batch = feed_->next(pass);
        auto const work = [&] { copy_rows(step_.start_outputs(batch.x), features + range.first * width); };
        if (workspace_.gpu.admission)
            workspace_.gpu.admission->run({{layers_, range.size}, held, work, [] {}});
        else
            work();
        if (has_labels_)
            copy_rows(batch.y, into.shard->labels.data() + range.first);
        else
            copy_rows(batch.y, into.shard->targets.data() + range.first * outputs_);
        into.there[static_cast<std::size_t>(range.first / batch_)] = true;
        if (on_batch) on_batch();
    }
    feed_->end(pass);
}

std::vector<NamedTensor> CachedStart::tensors() {
    std::vector<NamedTensor> out;
    on_host_.clear();
    auto const add = [&](std::string const& name, Element element, std::vector<std::int64_t> const& shape,
                         at::Tensor const& value) {
        auto const& kept = on_host_.emplace_back(value.to(at::kCPU).contiguous());
        out.push_back({name, element, shape, {static_cast<std::byte const*>(kept.const_data_ptr()), kept.nbytes()}});
    };
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        add(start_.parameters()[i].name, Element::float32, start_.parameters()[i].shape, parameters_[i]);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        add(start_.buffers()[i].name, start_.buffers()[i].element, start_.buffers()[i].shape, buffers_[i]);
    return out;
}

}  // namespace hopscotch
