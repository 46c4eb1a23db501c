// SPDX-License-Identifier: Apache-2.0
// A block of memory of a device, as a state takes it while it is bound: for measuring what its way to and from the host
// costs.
#pragma once
#include <memory>
#include <string>

#include "core/byte_view.hpp"

namespace hopscotch {

class DeviceBlock {
public:
    DeviceBlock(std::string const& device, std::size_t bytes);  // device: as resolve_device returns it
    ~DeviceBlock();
    DeviceBlock(DeviceBlock const&) = delete;
    DeviceBlock& operator=(DeviceBlock const&) = delete;

    // Of as many bytes; done when they return.
    void copy_to(MutableBytes host) const;
    void copy_from(ByteView host);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hopscotch
