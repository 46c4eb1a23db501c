// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lean_trial_state.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/unit_parts.hpp"
#include "data/batches/augment.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "model/state/initial_values.hpp"
#include "model/state/safetensors.hpp"
#include "model/trial/lr_schedule.hpp"
#include "model/trial/pretrained.hpp"

namespace hopscotch {

LeanTrialState::LeanTrialState(TrialConfig config, Manifest const& manifest, LeanModel model,
                               std::shared_ptr<LeanMemory> memory)
    : config_(std::move(config)),
      data_(schema_of(manifest)),
      model_(std::move(model)),
      pretrained_(accepted_pretrained(config_.model, specs_of(model_))),
      layout_(make_layout(layout_request())),
      parameter_floats_(layout_.end_of(Block::parameter) / sizeof(float)),
      network_(model_.spec, layout_),
      normaliser_(std::make_unique<Normaliser>(manifest, config_.data)),
      augmenter_(std::make_unique<Augmenter>(config_.data, manifest)),
      memory_(std::move(memory)) {
    layout_.update_by = UpdateBy::lean;
}

LeanTrialState::~LeanTrialState() = default;

void LeanTrialState::initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) {
    auto const key = stream_key(seed, Purpose::initialisation, {trial.value});
    initialise_state(state, layout_, layout_request(), key, threads);
    load_pretrained(config_.model.init_from, pretrained_, layout_, state);
}

void LeanTrialState::bind(MutableBytes state) {
    PartTimer const timing(UnitPart::bind);
    check_block(state, layout_);
    state_ = state;
    counters_ = counters_of(state, layout_);
}

MutableBytes LeanTrialState::bound(std::string_view work) const {
    if (state_.empty()) throw Error(std::string(work) + " needs a bound state (call bind first)");
    return state_;
}

LeanNetwork& LeanTrialState::network(std::int64_t rows) {
    network_.bind(state_, memory_->layers.at_least(network_.memory_floats(rows)), rows);
    return network_;
}

float const* LeanTrialState::gather(PickedRows const& picked, std::optional<UnitAddress> const& address) {
    auto const rows = picked.rows.size();
    auto* const features = memory_->features.at_least(rows * static_cast<std::size_t>(elements(data_.shape)));
    if (address)
        augmenter_->gather(picked, *address, features);
    else
        normaliser_->gather(picked.shard, picked.rows, features);
    if (has_labels(data_.task)) {
        memory_->labels.resize(rows);
        std::ranges::transform(picked.rows, memory_->labels.begin(), [&](auto row) { return picked.shard.labels[row]; });
        return features;
    }
    auto const width = static_cast<std::size_t>(data_.outputs);
    auto* targets = memory_->targets.at_least(rows * width);
    for (auto const row : picked.rows) targets = std::copy_n(&picked.shard.targets[row * width], width, targets);
    return features;
}

bool LeanTrialState::end_epoch(double loss) {
    bound("end_epoch");
    observe_plateau(counters_, loss, config_.train.schedule);
    return true;
}

bool LeanTrialState::finite() {
    PartTimer const timing(UnitPart::finite);
    return all_finite(state_, layout_);
}

void LeanTrialState::save(std::string const& path, Json const& metadata) {
    auto const state = ByteView(bound("save"));
    std::vector<NamedTensor> tensors;
    auto const add = [&](std::string const& name, std::string const& stored) {
        auto const& tensor = layout_.find(stored);
        tensors.push_back({name, tensor.element, tensor.shape, state.subspan(tensor.offset, tensor.bytes)});
    };
    for (auto const& spec : model_.parameters)
        add(spec.name, config_.train.ema > 0 ? slot_name(spec.name, k_ema_slot) : spec.name);
    for (auto const& buffer : model_.buffers) add(buffer.name, buffer.name);
    write_safetensors(path, tensors, metadata);
}

}  // namespace hopscotch
