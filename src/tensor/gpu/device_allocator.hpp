// SPDX-License-Identifier: Apache-2.0
// The functions of a GPU's memory that admission needs. Torch allocates this memory and caches it. The tests use a fake.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "model/gpu/device.hpp"

namespace hopscotch {

class DeviceAllocator {
public:
    virtual ~DeviceAllocator() = default;
    virtual DeviceMemory memory() const = 0;     // asks the driver, which takes longer than a small batch
    virtual std::int64_t allocated() const = 0;  // by this process
    virtual std::int64_t spare() const = 0;      // kept by torch, and free
    virtual void watch_peak() = 0;               // from now on
    virtual std::int64_t peak() const = 0;       // of allocated()
    virtual std::int64_t refusals() const = 0;   // number of times that torch had no memory, for any caller
    virtual void empty_cache() = 0;              // returns the spare memory to the driver
};

// CUDA build only: bytes that captured graphs keep for their replays, and that torch uses for nothing else. Torch lists all
// its blocks of all devices for this number, so it is remembered until a graph comes or goes.
std::int64_t idle_in_graphs(std::string const& device);
void graphs_have_changed();

// Null on a CPU.
std::unique_ptr<DeviceAllocator> make_device_allocator(std::string const& device);

}  // namespace hopscotch
