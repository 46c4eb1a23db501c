// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/buckets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/state/state.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_line = 16;  // floats; buckets begin at cache lines
// 800 tags distinguish exchanges in flight, and MPI counts bytes in an int.
constexpr std::size_t k_most_buckets = 300;
constexpr std::size_t k_most_bytes = std::size_t{1} << 29;

// Floats [first, end) from the back to the front.
void cut_backwards(std::size_t first, std::size_t end, BucketSizes const& sizes, std::vector<FloatRange>& out) {
    auto const fewest = ((end - first) / k_most_buckets + k_line) / k_line * k_line;
    while (end > first) {
        auto const bytes = std::min(out.empty() ? sizes.first_bytes : sizes.bucket_bytes, k_most_bytes);
        auto const most = std::max(bytes / sizeof(float) / k_line * k_line, fewest);
        auto const lines_end = (end + k_line - 1) / k_line * k_line;
        auto const from = lines_end - first > most ? lines_end - most : first;
        out.push_back({from, end - from});
        end = from;
    }
}

}  // namespace

std::vector<FloatRange> cut_buckets(StateLayout const& layout, BucketSizes const& sizes, OptimizerConfig const& optimizer) {
    auto const end = layout.end_of(Block::parameter) / sizeof(float);
    auto vectors = end;  // the first parameter without weight decay
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::parameter && tensor.shape.size() <= 1 && !optimizer.decay_all)
            vectors = std::min(vectors, tensor.offset / sizeof(float));
    std::vector<FloatRange> out;
    cut_backwards(0, vectors, sizes, out);
    cut_backwards(vectors, end, sizes, out);
    return out;
}

BucketSizes bucket_sizes(StrategyConfig const& config) {
    auto const bytes = [](double mb) { return static_cast<std::size_t>(std::min(mb, 1e6) * (1 << 20)); };
    return {bytes(std::min(config.reduce.first_bucket_mb, config.reduce.bucket_mb)), bytes(config.reduce.bucket_mb)};
}

AllReduce all_reduce_of(ReduceAlgorithm algorithm) {
    return algorithm == ReduceAlgorithm::ring ? AllReduce::ring : AllReduce::deterministic;
}

void Buckets::begin(DeviceFloats values, double share, std::string what) {
    values_ = values;
    share_ = share;
    what_ = std::move(what);
    launched_ = 0;
    missing_.clear();
    for (auto const& bucket : buckets_) missing_.push_back(bucket.size);
}

void Buckets::ready(std::size_t first, std::size_t last) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        auto const from = std::max(first, buckets_[b].first);
        auto const to = std::min(last, buckets_[b].first + buckets_[b].size);
        if (from < to) missing_[b] -= std::min(missing_[b], to - from);
    }
    try {
        launch_ready();
    } catch (...) {  // no exception may pass through autograd, where it would look like the model's
        if (!broken_) broken_ = std::current_exception();
    }
}

void Buckets::launch_ready() {
    if (broken_) return;
    for (; launched_ < buckets_.size() && missing_[launched_] == 0; ++launched_) {
        auto const& bucket = buckets_[launched_];
        sum_.add_up(values_.part(bucket.first, bucket.size), share_, fmt::format("{}, bucket {}", what_, launched_));
    }
}

void Buckets::finish() {
    std::fill(missing_.begin(), missing_.end(), 0);
    launch_ready();
    if (broken_) std::rethrow_exception(broken_);
    sum_.finish();
}

}  // namespace hopscotch
