// SPDX-License-Identifier: Apache-2.0
// The sampler of a list of configurations, in the order of the list.
#pragma once
#include <algorithm>
#include <utility>

#include "search/sampler.hpp"

namespace hopscotch {

class List : public Sampler {
public:
    explicit List(std::vector<Assignment> all) : all_(std::move(all)) {}

    std::optional<Assignment> ask(History const& history) override {
        while (next_ < all_.size() && history.has_seen(all_[next_])) ++next_;
        return next_ < all_.size() ? std::optional(all_[next_++]) : std::nullopt;
    }
    std::optional<std::size_t> remaining(History const& history) const override {
        return static_cast<std::size_t>(
            std::count_if(all_.begin(), all_.end(), [&](Assignment const& each) { return !history.has_seen(each); }));
    }

private:
    std::vector<Assignment> all_;
    std::size_t next_ = 0;
};

}  // namespace hopscotch
