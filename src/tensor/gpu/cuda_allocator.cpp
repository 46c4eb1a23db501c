// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <map>
#include <mutex>

#include "tensor/gpu/device_allocator.hpp"
#include "tensor/gpu/remembered.hpp"

namespace hopscotch {
namespace {

namespace torch_memory = c10::cuda::CUDACachingAllocator;
constexpr auto k_all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

// Of all devices of the process. Torch calls every observer, also if it goes on without the memory (cuDNN's workspaces).
std::atomic<std::int64_t>& counted_refusals() {
    static std::atomic<std::int64_t> count = 0;
    static std::once_flag once;
    std::call_once(once, [] {
        torch_memory::attachOutOfMemoryObserver(
            [](std::int64_t, std::size_t, std::size_t, std::size_t) { count.fetch_add(1, std::memory_order_relaxed); });
    });
    return count;
}

std::atomic<std::int64_t> changes_of_graphs = 0;

std::int64_t ask_idle_in_graphs(std::string const& device) {
    std::size_t out = 0;
    for (auto const& segment : torch_memory::snapshot({0, 0}, /*include_traces=*/false).segments)
        if (segment.device == c10::Device(device).index() && segment.owner_private_pool_id != c10::MempoolId_t{0, 0})
            out += segment.total_size - segment.allocated_size;
    return static_cast<std::int64_t>(out);
}

class CudaAllocator final : public DeviceAllocator {
public:
    explicit CudaAllocator(std::string device) : device_(std::move(device)), index_(c10::Device(device_).index()) {
        at::globalContext().lazyInitDevice(at::kCUDA);  // before that torch's allocator knows no device
        counted_refusals();
    }
    DeviceMemory memory() const override { return *device_memory(device_); }
    std::int64_t allocated() const override { return torch_memory::getDeviceStats(index_).allocated_bytes[k_all].current; }
    std::int64_t spare() const override {
        auto const stats = torch_memory::getDeviceStats(index_);
        return stats.reserved_bytes[k_all].current - stats.allocated_bytes[k_all].current - idle_in_graphs(device_);
    }
    void watch_peak() override { torch_memory::resetPeakStats(index_); }
    std::int64_t peak() const override { return torch_memory::getDeviceStats(index_).allocated_bytes[k_all].peak; }
    std::int64_t refusals() const override { return counted_refusals().load(std::memory_order_relaxed); }
    void empty_cache() override {
        try {
            torch_memory::emptyCache();
        } catch (c10::Error const&) {  // another thread captures a graph: torch returns no memory meanwhile
        }
    }

private:
    std::string device_;
    c10::DeviceIndex index_;
};

}  // namespace

std::int64_t idle_in_graphs(std::string const& device) {
    static std::mutex mutex;
    static std::map<std::string, Remembered, std::less<>> by_device;
    auto& remembered = [&]() -> Remembered& {
        std::lock_guard const lock(mutex);
        return by_device[device];
    }();
    return remembered.value(changes_of_graphs.load(), [&] { return ask_idle_in_graphs(device); });
}

void graphs_have_changed() { changes_of_graphs.fetch_add(1); }

std::unique_ptr<DeviceAllocator> make_device_allocator(std::string const& device) {
    return device == "cpu" ? nullptr : std::make_unique<CudaAllocator>(device);
}

}  // namespace hopscotch
