// SPDX-License-Identifier: Apache-2.0
// A block of device memory, like that of a bound state. Benchmarks measure its copies to and from the host.
#pragma once
#include <memory>
#include <string>

#include "core/byte_view.hpp"

namespace hopscotch {

class DeviceBlock {
public:
    virtual ~DeviceBlock() = default;

    // host: as many bytes. The copy is complete on return.
    virtual void copy_to(MutableBytes host) const = 0;
    virtual void copy_from(ByteView host) = 0;
};

std::unique_ptr<DeviceBlock> make_device_block(std::string const& device,
                                               std::size_t bytes);  // as resolve_device returns it

}  // namespace hopscotch
