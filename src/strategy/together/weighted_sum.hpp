// SPDX-License-Identifier: Apache-2.0
// Sums of values over all trainers (gradients, or weights for a mean), range by range, while later ranges are still
// computed: by the courier in host memory, or by NCCL on the GPU. Every member makes the same calls in the same order.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "comm/rank_group.hpp"
#include "core/device_floats.hpp"

namespace hopscotch {

class Exchange;
class Group;
struct WorkerResources;

class WeightedSum {
public:
    virtual ~WeightedSum() = default;

    // Starts; values become the sum over all members of share x values.
    virtual void add_up(DeviceFloats values, double share, std::string what) = 0;
    // After the last range of a step: all later computation uses the sums.
    virtual void finish() = 0;
    // Before the host waits for the device.
    virtual void settle() {}
};

class CourierSum final : public WeightedSum {
public:
    CourierSum(Group& group, AllReduce algorithm) : group_(group), algorithm_(algorithm) {}
    void add_up(DeviceFloats values, double share, std::string what) override;
    void finish() override;

private:
    Group& group_;
    AllReduce algorithm_;
    std::vector<std::shared_ptr<Exchange>> under_way_;
};

// Collective. With NCCL if the experiment and the devices of all members allow it (together/collectives.hpp); else null.
std::unique_ptr<WeightedSum> make_nccl_sum(Group& group, WorkerResources const& resources);

}  // namespace hopscotch
