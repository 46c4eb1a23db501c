// SPDX-License-Identifier: Apache-2.0
// The kernel of copies as a plain loop.
#pragma once
#include "tensor/gpu/copy_device.hpp"
#include "tensor/gpu/copy_element.hpp"

namespace hopscotch::testing {

class HostCopyDevice final : public CopyDevice {
public:
    void run(std::span<TensorCopy const> copies) const override {
        ++runs;
        for (auto const& copy : copies)
            for (std::uint32_t at = 0; at < copy.count; ++at) copy_element(copy, at);
    }
    mutable int runs = 0;
};

}  // namespace hopscotch::testing
