// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/torch_trial_state.hpp"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "core/rng.hpp"
#include "core/unit_parts.hpp"
#include "data/batches/shard_source.hpp"
#include "model/gpu/device.hpp"
#include "model/state/initial_values.hpp"
#include "model/trial/lr_schedule.hpp"
#include "model/trial/pretrained.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/state_slots.hpp"
#include "tensor/network/specs.hpp"
#include "tensor/trial/cached_start.hpp"
#include "tensor/trial/pretrained_weights.hpp"

namespace hopscotch {
namespace {

FrozenParameters read_frozen(ModelConfig const& model, Network const& network, Workspace::Impl& workspace) {
    auto const is_frozen = frozen_parameters(model, network.parameters());
    FrozenParameters frozen(is_frozen.size());
    if (std::find(is_frozen.begin(), is_frozen.end(), true) == is_frozen.end()) return frozen;
    PretrainedWeights const weights(model.init_from, workspace);
    for (std::size_t i = 0; i < frozen.size(); ++i) {
        auto const& spec = network.parameters()[i];
        if (is_frozen[i]) frozen[i] = weights.get(spec.name, spec.shape, Element::float32);
    }
    return frozen;
}

Manifest seen_by(Network& network, Manifest const& manifest) {
    auto const* start = network.frozen_start();
    return start == nullptr ? manifest : manifest_of_features(manifest, *start);
}

std::unique_ptr<CachedStart> start_of(TrialConfig const& config, Manifest const& manifest, Step& step,
                                      Workspace::Impl& workspace) {
    auto* const start = step.network().frozen_start();
    return start == nullptr ? nullptr : std::make_unique<CachedStart>(config, manifest, *start, step, workspace);
}

std::string structure_of(TrialConfig const& config, DataSchema const& data) {
    return step_structure(config, data,
                          config.model.freeze.empty() ? "" : PretrainedWeights::identity_of(config.model.init_from));
}

Workspace::Impl& entered(Workspace& workspace) {
    workspace.impl().use_stream();
    return workspace.impl();
}

// All settings that decide how much memory a row takes on its way through the model.
std::string kind_of(TrialConfig const& config) {
    auto const& model = config.model;
    std::string out = model.name + " " + model.file + " " + model.arguments.dump();
    for (auto const& pattern : model.freeze) out += " " + pattern;
    if (model.cache_frozen) out += " cached";
    if (config.train.arithmetic.precision == Precision::bf16) out += " bf16";
    return out + (config.train.arithmetic.channels_last ? " NHWC" : "");
}

}  // namespace

TorchTrialState::TorchTrialState(TrialConfig config, Manifest const& manifest, std::unique_ptr<Network> network,
                                 Workspace& workspace)
    : config_(std::move(config)),
      data_(schema_of(seen_by(*network, manifest))),
      workspace_(entered(workspace)),
      feed_(config_.data, seen_by(*network, manifest), workspace_),
      step_(std::move(network), {config_.model.name, structure_of(config_, data_)}, config_.train, workspace_),
      cached_start_(start_of(config_, manifest, step_, workspace_)),
      pretrained_(accepted_pretrained(config_.model, specs_of(step_.network()))),
      is_frozen_(frozen_parameters(config_.model, step_.network().parameters())),
      frozen_(read_frozen(config_.model, step_.network(), workspace_)),
      layout_(make_layout(layout_request())),
      memory_kind_(kind_of(config_)) {}

TorchTrialState::~TorchTrialState() = default;

LayoutRequest TorchTrialState::layout_request() const {
    return {step_.network().parameters(), step_.network().buffers(), is_frozen_, config_.train};
}

void TorchTrialState::initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) {
    auto const key = stream_key(seed, Purpose::initialisation, {trial.value});
    initialise_state(state, layout_, layout_request(), key, threads);
    if (auto const values = step_.network().initial_values(key)) load_initial(state, *values);
    load_pretrained(config_.model.init_from, pretrained_, layout_, state);
}

void TorchTrialState::load_initial(MutableBytes state, std::vector<at::Tensor> const& values) const {
    auto const& parameters = step_.network().parameters();
    auto const& buffers = step_.network().buffers();
    auto const write = [&](std::string const& name, at::Tensor const& value) {
        auto const& tensor = layout_.find(name);
        std::memcpy(state.data() + tensor.offset, value.const_data_ptr(), tensor.bytes);
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (is_frozen_[i]) continue;
        write(parameters[i].name, values[i]);
        if (config_.train.ema > 0) write(slot_name(parameters[i].name, k_ema_slot), values[i]);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) write(buffers[i].name, values[parameters.size() + i]);
}

at::Tensor TorchTrialState::floats_of(MutableBytes state) const {
    auto const floats = static_cast<std::int64_t>(layout_.end_of(Block::buffer) / sizeof(float));
    return at::from_blob(state.data(), {floats}, at::TensorOptions(at::kFloat));
}

void TorchTrialState::point_to(MutableBytes state) {
    check_block(state, layout_);
    workspace_.use_stream();
    state_ = state;
    counters_ = counters_of(state, layout_);
    host_ = floats_of(state);
}

std::uint64_t TorchTrialState::bind_again(MutableBytes state, std::uint64_t stamp) {
    bool const is_there = stamp != 0 && stamp == workspace_.stores && workspace_.bound == this && !state_.empty();
    if (is_there)
        point_to(state);
    else
        bind(state);
    return workspace_.in_place() ? 0 : workspace_.stores;
}

void TorchTrialState::bind(MutableBytes state) {
    PartTimer const timing(UnitPart::bind);
    point_to(state);
    auto const floats = host_.numel();
    auto const parameters = static_cast<std::int64_t>(layout_.end_of(Block::parameter) / sizeof(float));
    workspace_.admit(floats, step_.gradient_floats(parameters), {memory_kind_, config_.train.batch_size});
    workspace_.bound = nullptr;
    feed_.reset();
    claim();
}

// On a GPU models take turns with the workspace's block. Outside of a pass the host has the state, so it can be brought
// back.
void TorchTrialState::claim() {
    workspace_.use_stream();
    if (workspace_.bound == this) return;
    bool const is_bound = workspace_.in_place() && device_.defined() && device_.is_same(host_);
    workspace_.bound = this;
    if (is_bound) return;
    device_ = workspace_.in_place() ? host_ : workspace_.state(host_.numel());  // a larger model may have moved it
    step_.bind(device_, layout_, frozen_);
    store();
}

TrainingNeed TorchTrialState::held() const {
    return {static_cast<std::int64_t>(layout_.end_of(Block::buffer)),
            static_cast<std::int64_t>(layout_.end_of(Block::parameter))};
}

std::unique_ptr<ShardSource> TorchTrialState::features(ShardSource& shard, BatchRange const& rows,
                                                       std::function<void()> const& on_batch) {
    return cached_start_ ? cached_start_->features(shard, rows, held(), on_batch) : nullptr;
}

void TorchTrialState::require_claimed() const {
    require(workspace_.bound == this, "another model was bound within a pass (a GPU's workspace holds one state)");
}

void TorchTrialState::fetch() {
    workspace_.use_stream();
    if (workspace_.in_place()) return;
    PartTimer const timing(UnitPart::fetch);
    require_claimed();
    host_.copy_(device_);
}

void TorchTrialState::store() {
    workspace_.use_stream();
    if (workspace_.in_place()) return;
    require_claimed();
    ++workspace_.stores;
    if (!workspace_.gpu.slots || !workspace_.gpu.slots->take(host_, device_)) device_.copy_(host_);
}

bool TorchTrialState::begin_store(MutableBytes state) {
    check_block(state, layout_);
    workspace_.use_stream();
    return workspace_.gpu.slots && workspace_.gpu.slots->upload(floats_of(state));
}

void TorchTrialState::forget_store(MutableBytes state) {
    if (workspace_.gpu.slots) workspace_.gpu.slots->withdraw(state.data());
}

bool TorchTrialState::begin_fetch() {
    workspace_.use_stream();
    if (!workspace_.gpu.slots) return false;
    require_claimed();
    return workspace_.gpu.slots->download(device_, host_);
}

void TorchTrialState::await_fetch() {
    if (workspace_.gpu.slots) workspace_.gpu.slots->await_download();
}

std::optional<DeviceFloats> TorchTrialState::device_state() {
    require_bound("device_state");
    return on_device(device_);
}

DeviceFloats TorchTrialState::on_device(at::Tensor const& floats) const {
    return {floats.data_ptr<float>(), static_cast<std::size_t>(floats.numel()), compute_stream(workspace_.device.str())};
}

void TorchTrialState::require_bound(std::string_view work) const {
    workspace_.use_stream();
    if (state_.empty()) throw Error(std::string(work) + " needs a bound state (call bind first)");
}

bool TorchTrialState::end_epoch(double loss) {
    require_bound("end_epoch");
    return observe_plateau(counters_, loss, config_.train.schedule) || workspace_.in_place();
}

void TorchTrialState::save(std::string const& path, Json const& metadata) {
    require_bound("save");
    std::vector<NamedTensor> tensors;
    std::vector<at::Tensor> kept;  // frozen values, on the host
    auto const add_from_state = [&](std::string const& name, std::string const& stored) {
        auto const& tensor = layout_.find(stored);
        tensors.push_back({name, tensor.element, tensor.shape, ByteView(state_).subspan(tensor.offset, tensor.bytes)});
    };
    auto const& specs = step_.network().parameters();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!is_frozen_[i]) {
            auto const& name = specs[i].name;
            add_from_state(name, config_.train.ema > 0 ? slot_name(name, k_ema_slot) : name);
            continue;
        }
        kept.push_back(frozen_[i].to(at::kCPU).contiguous());
        tensors.push_back({specs[i].name, Element::float32, specs[i].shape,
                           ByteView(static_cast<std::byte const*>(kept.back().const_data_ptr()), kept.back().nbytes())});
    }
    for (auto const& buffer : step_.network().buffers()) add_from_state(buffer.name, buffer.name);
    if (cached_start_)
        for (auto& tensor : cached_start_->tensors()) tensors.push_back(std::move(tensor));
    write_safetensors(path, tensors, metadata);
}

// For states that several trainers share. A GPU reads its copy in less than a thousandth of the host's time. Padding is 0.
bool TorchTrialState::finite() {
    PartTimer const timing(UnitPart::finite);
    workspace_.use_stream();
    if (workspace_.in_place() || workspace_.bound != this) return all_finite(state_, layout_);
    auto const floats = static_cast<std::int64_t>(layout_.end_of(Block::slot) / sizeof(float));
    return all_finite(device_.narrow(0, 0, floats)) && all_finite(state_, layout_, Block::buffer);
}

bool all_finite(at::Tensor const& floats) {
    if (floats.numel() == 0) return true;
    auto const [least, most] = at::aminmax(floats);  // a NaN is both
    return at::stack({least, most}).isfinite().all().item<bool>();
}

}  // namespace hopscotch
