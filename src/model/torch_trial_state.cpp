// SPDX-License-Identifier: Apache-2.0
// A trial's state: its first bytes, where it lies while it is bound, and the file that it is saved to.
#include <ATen/ops/aminmax.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "model/pretrained.hpp"
#include "model/torch_trial_model.hpp"

namespace hopscotch {

void TorchTrialModel::initialise(MutableBytes state, std::uint64_t seed, TrialId trial) {
    auto const key = stream_key(seed, Purpose::initialisation, {trial.value});
    initialise_state(state, layout_, layout_request(), key);
    if (auto const values = step_.network().initial_values(key)) load_initial(state, *values);
    if (!pretrained_.empty()) load_pretrained(state);
}

void TorchTrialModel::load_initial(MutableBytes state, std::vector<at::Tensor> const& values) const {
    auto const& parameters = step_.network().parameters();
    auto const& buffers = step_.network().buffers();
    auto const write = [&](std::string const& name, at::Tensor const& value) {
        auto const& tensor = layout_.find(name);
        std::memcpy(state.data() + tensor.offset, value.const_data_ptr(), tensor.bytes);
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (is_frozen_[i]) continue;
        write(parameters[i].name, values[i]);
        if (config_.train.ema > 0) write(parameters[i].name + "/ema", values[i]);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) write(buffers[i].name, values[parameters.size() + i]);
}

void TorchTrialModel::load_pretrained(MutableBytes state) const {
    auto const file = SafetensorsFile::open(config_.model.init_from);
    for (auto const& tensor : layout_.tensors) {
        auto const averaged = tensor.block == Block::slot && tensor.name.ends_with("/ema");
        if (tensor.block != Block::parameter && tensor.block != Block::buffer && !averaged) continue;
        auto const name = averaged ? tensor.name.substr(0, tensor.name.size() - 4) : tensor.name;
        if (!std::binary_search(pretrained_.begin(), pretrained_.end(), name)) continue;
        auto* const at = state.data() + tensor.offset;
        if (tensor.element == Element::float32)
            file.read(name, std::span(reinterpret_cast<float*>(at), tensor.bytes / sizeof(float)));
        else
            file.read(name, std::span(reinterpret_cast<std::int64_t*>(at), tensor.bytes / sizeof(std::int64_t)));
    }
}

void TorchTrialModel::bind(MutableBytes state) {
    check_block(state, layout_);
    state_ = state;
    counters_ = counters_of(state, layout_);
    auto const floats = static_cast<std::int64_t>(layout_.end_of(Block::buffer) / sizeof(float));
    host_ = at::from_blob(state.data(), {floats}, at::TensorOptions(at::kFloat));
    workspace_.admit(floats, static_cast<std::int64_t>(layout_.end_of(Block::parameter) / sizeof(float)),
                     {memory_kind_, config_.train.batch_size});
    device_ = workspace_.device.is_cpu() ? host_ : workspace_.state(floats);
    workspace_.bound = nullptr;
    claim();
    feed_.reset();
    step_.bind(device_, layout_, frozen_);
}

// On a GPU models take turns with the workspace's block. Outside of a pass the host has the state, so it can be brought
// back.
void TorchTrialModel::claim() {
    if (workspace_.bound == this) return;
    workspace_.bound = this;
    store();
}

TrainingNeed TorchTrialModel::held() const {
    return {static_cast<std::int64_t>(layout_.end_of(Block::buffer)),
            static_cast<std::int64_t>(layout_.end_of(Block::parameter))};
}

void TorchTrialModel::require_claimed() const {
    require(workspace_.bound == this, "another model was bound within a pass (a GPU's workspace holds one state)");
}

void TorchTrialModel::fetch() {
    if (workspace_.device.is_cpu()) return;
    require_claimed();
    host_.copy_(device_);
}

void TorchTrialModel::store() {
    if (workspace_.device.is_cpu()) return;
    require_claimed();
    device_.copy_(host_);
}

void TorchTrialModel::save(std::string const& path, Json const& metadata) {
    require(!state_.empty(), "save needs a bound state");
    std::vector<NamedTensor> tensors;
    std::vector<at::Tensor> kept;  // frozen values, on the host
    auto const add_from_state = [&](std::string const& name, std::string const& stored) {
        auto const& tensor = layout_.find(stored);
        tensors.push_back({name, tensor.element, tensor.shape, ByteView(state_).subspan(tensor.offset, tensor.bytes)});
    };
    auto const& specs = step_.network().parameters();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!is_frozen_[i]) {
            add_from_state(specs[i].name, specs[i].name + (config_.train.ema > 0 ? "/ema" : ""));
            continue;
        }
        kept.push_back(frozen_[i].to(at::kCPU).contiguous());
        tensors.push_back({specs[i].name, Element::float32, specs[i].shape,
                           ByteView(static_cast<std::byte const*>(kept.back().const_data_ptr()), kept.back().nbytes())});
    }
    for (auto const& buffer : step_.network().buffers()) add_from_state(buffer.name, buffer.name);
    write_safetensors(path, tensors, metadata);
}

// A GPU reads its copy in less than a thousandth of the time that the host takes. Padding is zero.
bool TorchTrialModel::finite() {
    if (workspace_.device.is_cpu() || workspace_.bound != this) return all_finite(state_, layout_);
    auto const floats = static_cast<std::int64_t>(layout_.end_of(Block::slot) / sizeof(float));
    return all_finite(device_.narrow(0, 0, floats)) && all_finite(state_, layout_, Block::buffer);
}

bool all_finite(at::Tensor const& floats) {
    if (floats.numel() == 0) return true;
    auto const [least, most] = at::aminmax(floats);  // a NaN is both
    return at::stack({least, most}).isfinite().all().item<bool>();
}

}  // namespace hopscotch
