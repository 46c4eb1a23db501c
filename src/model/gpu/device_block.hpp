// SPDX-License-Identifier: Apache-2.0
// A block of device memory, like that of a bound state. Benchmarks measure its copies to and from the host.
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

    // host: as many bytes. The copy is complete on return.
    void copy_to(MutableBytes host) const;
    void copy_from(ByteView host);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hopscotch
