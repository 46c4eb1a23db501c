// SPDX-License-Identifier: Apache-2.0
// The flat gradient in buckets, all-reduced in one fixed order while the backward pass still computes (as PyTorch's
// DistributedDataParallel does). Three layers, two buckets: backward reports layer 3, then 2: bucket 0 goes out; then 1:
// bucket 1.
#pragma once
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "comm/float_range.hpp"
#include "comm/rank_group.hpp"
#include "core/device_floats.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

class WeightedSum;
struct StateLayout;

// The flat parameters from the last to the first: first_bytes once, then bucket_bytes each. Parameters without weight decay
// lie after all others. They have buckets of their own, the last ones, since the first layer's are among them.
struct BucketSizes {
    std::size_t first_bytes = 0, bucket_bytes = 0;
};
std::vector<FloatRange> cut_buckets(StateLayout const& layout, BucketSizes const& sizes,
                                    OptimizerConfig const& optimizer = {});

BucketSizes bucket_sizes(StrategyConfig const& config);
AllReduce all_reduce_of(ReduceAlgorithm algorithm);

class Buckets {
public:
    Buckets(WeightedSum& sum, std::vector<FloatRange> buckets) : sum_(sum), buckets_(std::move(buckets)) {}

    // One step: values become the sum over all members of share x values. share: of this member. ready: the floats
    // [first, last) are final; throws nothing, since a backward pass calls it. finish: all floats are final; throws the
    // exceptions of the sums.
    void begin(DeviceFloats values, double share, std::string what);
    void ready(std::size_t first, std::size_t last);
    void finish();

    std::vector<FloatRange> const& ranges() const { return buckets_; }

private:
    void launch_ready();

    WeightedSum& sum_;
    std::vector<FloatRange> buckets_;   // in the order of launches
    std::vector<std::size_t> missing_;  // floats that are not final yet, by bucket
    std::size_t launched_ = 0;
    DeviceFloats values_;
    double share_ = 1;
    std::string what_;
    std::exception_ptr broken_;
};

}  // namespace hopscotch
