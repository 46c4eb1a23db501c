// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/state_slots.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "tensor/gpu/feed_device.hpp"

namespace hopscotch {
namespace {

using Event = FeedDevice::Event;
using Stream = FeedDevice::Stream;

constexpr auto k_uploaded = Event::copied_0;    // host -> in
constexpr auto k_taken = Event::taken_0;        // in -> block
constexpr auto k_put_out = Event::taken_1;      // block -> out
constexpr auto k_downloaded = Event::copied_1;  // out -> host

}  // namespace

StateSlots::StateSlots(std::unique_ptr<FeedDevice> device) : device_(std::move(device)) {}

StateSlots::~StateSlots() = default;

// What training needs comes first: an eighth of the device stays free.
bool StateSlots::is_short(std::int64_t bytes) const {
    auto const memory = device_->memory();
    return memory.free < bytes || memory.free - bytes < memory.total / 8;
}

bool StateSlots::grows(at::Tensor& slot, std::int64_t floats) {
    if (slot.defined() && slot.numel() >= floats) return true;
    if (given_up_) return false;
    slot = at::Tensor();
    if (is_short(floats * static_cast<std::int64_t>(sizeof(float)))) return false;
    try {
        c10::InferenceMode const ordinary(false);
        slot = at::empty({floats}, device_->on_device().dtype(at::kFloat));
    } catch (c10::OutOfMemoryError const&) {  // not in one piece
        given_up_ = true;
        return false;
    }
    device_->record(k_taken, Stream::compute);  // new memory may still be in use by what is queued there
    return true;
}

bool StateSlots::upload(at::Tensor const& host) {
    if (held_ != nullptr || !grows(in_, host.numel())) return false;
    held_ = host.const_data_ptr();
    device_->wait(k_taken, Stream::copy);
    device_->copy(in_.narrow(0, 0, host.numel()), host, Stream::copy);
    device_->record(k_uploaded, Stream::copy);
    return true;
}

void StateSlots::withdraw(void const* host) {
    if (held_ == nullptr || held_ != host) return;
    held_ = nullptr;
    device_->wait(k_uploaded);
}

bool StateSlots::take(at::Tensor const& host, at::Tensor const& block) {
    if (held_ == nullptr || held_ != host.const_data_ptr()) return false;
    held_ = nullptr;
    device_->wait(k_uploaded, Stream::compute);
    device_->copy(block, in_.narrow(0, 0, block.numel()), Stream::compute);
    device_->record(k_taken, Stream::compute);
    return true;
}

bool StateSlots::download(at::Tensor const& block, at::Tensor const& host) {
    if (!grows(out_, block.numel())) return false;
    auto const out = out_.narrow(0, 0, block.numel());
    device_->copy(out, block, Stream::compute);
    device_->record(k_put_out, Stream::compute);
    device_->wait(k_put_out, Stream::copy);
    device_->copy(host, out, Stream::copy);
    device_->record(k_downloaded, Stream::copy);
    return true;
}

void StateSlots::await_download() { device_->wait(k_downloaded); }

void StateSlots::make_room(std::int64_t bytes) {
    if (given_up_ || !is_short(bytes)) return;
    given_up_ = true;
    if (held_ != nullptr) withdraw(held_);
    await_download();
    in_ = out_ = at::Tensor();
}

}  // namespace hopscotch
