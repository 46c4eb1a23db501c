// SPDX-License-Identifier: Apache-2.0
#include "strategy/buckets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hopscotch {
namespace {

struct Parameter {
    std::size_t first = 0, end = 0;  // floats, padding included
};

// Ranges of whole parameters from the back of the list to its front.
void cut_backwards(std::span<Parameter const> parameters, BucketSizes const& sizes, std::vector<FloatRange>& out) {
    for (std::size_t left = parameters.size(); left > 0;) {
        auto const most = (out.empty() ? sizes.first_bytes : sizes.bucket_bytes) / sizeof(float);
        auto const end = parameters[left - 1].end;
        auto first = parameters[--left].first;
        while (left > 0 && end - parameters[left - 1].first <= most) first = parameters[--left].first;
        out.push_back({first, end - first});
    }
}

}  // namespace

std::vector<FloatRange> cut_buckets(StateLayout const& layout, BucketSizes const& sizes) {
    std::vector<Parameter> parameters;
    std::size_t decayed = 0;  // parameters before the first vector behind which only vectors follow
    for (auto const& tensor : layout.tensors) {
        if (tensor.block != Block::parameter) break;
        auto const first = tensor.offset / sizeof(float);
        if (!parameters.empty()) parameters.back().end = first;
        parameters.push_back({first, layout.end_of(Block::parameter) / sizeof(float)});
        if (tensor.shape.size() > 1) decayed = parameters.size();
    }
    std::vector<FloatRange> out;
    auto const all = std::span<Parameter const>(parameters);
    cut_backwards(all.first(decayed), sizes, out);
    cut_backwards(all.subspan(decayed), sizes, out);
    return out;
}

BucketSizes bucket_sizes(StrategyConfig const& config) {
    auto const bytes = [](double mb) { return static_cast<std::size_t>(mb * (1 << 20)); };
    return {bytes(config.first_bucket_mb), bytes(config.bucket_mb)};
}

AllReduce all_reduce_of(ReduceAlgorithm algorithm) {
    return algorithm == ReduceAlgorithm::ring ? AllReduce::ring : AllReduce::deterministic;
}

void Buckets::begin(std::span<float> values, double share, std::string what) {
    values_ = values;
    share_ = share;
    what_ = std::move(what);
    launched_ = 0;
    under_way_.clear();
    missing_.clear();
    for (auto const& bucket : buckets_) missing_.push_back(bucket.size);
}

void Buckets::ready(std::size_t first, std::size_t last) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        auto const from = std::max(first, buckets_[b].first);
        auto const to = std::min(last, buckets_[b].first + buckets_[b].size);
        if (from < to) missing_[b] -= std::min(missing_[b], to - from);
    }
    launch_ready();
}

void Buckets::launch_ready() {
    for (; launched_ < buckets_.size() && missing_[launched_] == 0; ++launched_) {
        auto const part = values_.subspan(buckets_[launched_].first, buckets_[launched_].size);
        if (share_ != 1)
            for (auto& value : part) value *= static_cast<float>(share_);
        under_way_.push_back(group_.sum(algorithm_, part, fmt::format("{}, bucket {}", what_, launched_)));
    }
}

void Buckets::finish() {
    std::fill(missing_.begin(), missing_.end(), 0);
    launch_ready();
    group_.wait(under_way_);
}

}  // namespace hopscotch
