// SPDX-License-Identifier: Apache-2.0
// The wire between the fake GPUs of fake_nccl.hpp: the terms of each sum, until all ranks have given theirs.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

namespace hopscotch::testing {

class FakeFabric {
public:
    explicit FakeFabric(int ranks) : ranks_(ranks) {}

    void give(std::uint64_t number, int rank, std::vector<float> term) {
        std::lock_guard const lock(mutex_);
        terms_[number][rank] = std::move(term);
    }
    // The sum in rank order. False while a term is missing.
    bool take(std::uint64_t number, float* into) {
        std::lock_guard const lock(mutex_);
        auto const& terms = terms_[number];
        if (static_cast<int>(terms.size()) < ranks_) return false;
        auto sum = terms.begin()->second;
        for (auto term = std::next(terms.begin()); term != terms.end(); ++term)
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term->second.at(i);
        std::copy(sum.begin(), sum.end(), into);
        return true;
    }

    // A rank has failed: no host waits for sums that will not come.
    void stop() { over_ = true; }
    bool over() const { return over_; }

private:
    int ranks_;
    std::atomic<bool> over_ = false;
    std::mutex mutex_;
    std::map<std::uint64_t, std::map<int, std::vector<float>>> terms_;
};

}  // namespace hopscotch::testing
