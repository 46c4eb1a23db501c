// SPDX-License-Identifier: Apache-2.0
// The parts of a unit beside its steps, for trace.json: their times show where a device was idle. The thread that does a
// part also times it; the code that keeps the unit's record takes the times of that thread.
//   PartTimer const timing(UnitPart::hash);   // until the end of the scope
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace hopscotch {

enum class UnitPart : std::uint8_t {
    bind,     // the state goes to the device, and the model's tensors to the state
    plan,     // the order of the rows, and how each is augmented, for a shard on the device
    capture,  // a part of a step becomes a CUDA graph
    compare,  // the graph's first replay is checked
    wait,     // for the steps that the device has still to do
    fetch,    // the state comes from the device
    hash,     // of a state
    finite,   // whether all numbers of a state are
    model,    // a trial's model is made here
    memory,   // host memory for a new trial's state
    draw      // the first values of that state
};
std::string_view name_of(UnitPart part);

struct PartTime {
    UnitPart part = UnitPart::bind;
    double start_unix_s = 0, seconds = 0;
};

// Of the calling thread. Does not note a part shorter than k_least_s, nor parts after the first k_most since the last call
// of take_part_times().
class PartTimer {
public:
    static constexpr double k_least_s = 5e-5;
    static constexpr std::size_t k_most = 64;

    explicit PartTimer(UnitPart part);
    ~PartTimer();
    PartTimer(PartTimer const&) = delete;
    PartTimer& operator=(PartTimer const&) = delete;

private:
    PartTime time_;
    double started_s_;
};

// The parts that this thread has timed since the last call, each after those that it contains.
std::vector<PartTime> take_part_times();

// The form in a unit's record: three numbers a part. So most files that handle records need not include this header.
std::vector<double> packed(std::vector<PartTime> const& times);
std::vector<PartTime> unpacked(std::vector<double> const& numbers);

}  // namespace hopscotch
