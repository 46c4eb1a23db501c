// SPDX-License-Identifier: Apache-2.0
// Two blocks of a device beside the block that trains: in one the next state arrives from the host, from the other the last
// state goes back to the host, while a unit trains. The block that trains stays where it is, as captured graphs need; a copy
// within the device takes a tenth of a millisecond.
//   compute   train 1 | take 2 (in -> block) ... wait: uploaded; train 2 | download (block -> out), take 3, train 3 ...
//   copy      host 2 -> in                                               | wait: put out; out -> host 2
// The slots are optional: they exist only while the device has plenty of memory, and go when training needs memory.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace hopscotch {

class FeedDevice;

class StateSlots {
public:
    explicit StateSlots(std::unique_ptr<FeedDevice> device);
    ~StateSlots();

    // host: floats in page-locked memory, which stays as it is until take() or withdraw(). False: there is no slot for them,
    // or the slot is taken. Returns at once.
    bool upload(at::Tensor const& host);
    // Nothing reads that host memory any more. Does nothing if the slot does not hold it.
    void withdraw(void const* host);
    // From the slot into the block, after the computation under way. False: the slot does not hold this host memory.
    bool take(at::Tensor const& host, at::Tensor const& block);

    // From the block to the host, after the computation under way. False: there is no slot. Returns at once; the block may
    // change meanwhile. await: waits until the last download is complete. Any thread. Before another download it has
    // returned.
    bool download(at::Tensor const& block, at::Tensor const& host);
    void await_download();

    // If fewer bytes than these are free, the slots go, and do not come again. Waits for copies under way.
    void make_room(std::int64_t bytes);

private:
    bool grows(at::Tensor& slot, std::int64_t floats);
    bool is_short(std::int64_t bytes) const;

    std::unique_ptr<FeedDevice> device_;
    at::Tensor in_, out_;
    void const* held_ = nullptr;  // whose floats the slot holds
    bool given_up_ = false;
};

}  // namespace hopscotch
