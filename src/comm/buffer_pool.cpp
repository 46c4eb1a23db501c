// SPDX-License-Identifier: Apache-2.0
#include "comm/buffer_pool.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace hopscotch {

namespace {
constexpr std::size_t k_page = 4096;
constexpr std::size_t k_huge_page = std::size_t{2} << 20;

// Large blocks on huge pages where the system has them: copying between processes pins page by page.
std::byte* touched_memory(std::size_t capacity) {
    bool const large = capacity >= k_huge_page;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(large ? k_huge_page : k_page, capacity));
    if (memory == nullptr) throw std::bad_alloc();
    if (large) madvise(memory, capacity, MADV_HUGEPAGE);  // a wish: refused is fine
    std::memset(memory, 0, capacity);
    return memory;
}
}

void FreeHostMemory::operator()(std::byte* data) const noexcept {
    if (unpin != nullptr) unpin(data);
    std::free(data);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        release();
        data_ = std::move(other.data_);
        size_ = other.size_;
        capacity_ = other.capacity_;
        pool_ = std::move(other.pool_);
    }
    return *this;
}

void Buffer::release() noexcept {
    if (!data_ || !pool_) return;
    std::lock_guard const lock(pool_->mutex_);
    pool_->free_.push_back({std::move(data_), capacity_});
}

Buffer BufferPool::acquire(std::size_t bytes) {
    Buffer buffer;
    buffer.size_ = bytes;
    buffer.pool_ = shared_from_this();
    {
        std::lock_guard const lock(mutex_);
        auto best = free_.end();
        for (auto entry = free_.begin(); entry != free_.end(); ++entry)
            if (entry->capacity >= bytes && entry->capacity <= 2 * bytes + k_page &&
                (best == free_.end() || entry->capacity < best->capacity))
                best = entry;
        if (best != free_.end()) {
            buffer.data_ = std::move(best->data);
            buffer.capacity_ = best->capacity;
            free_.erase(best);
            return buffer;
        }
        auto const unit = bytes >= k_huge_page ? k_huge_page : k_page;
        buffer.capacity_ = (bytes / unit + 1) * unit;
        allocated_ += buffer.capacity_;
    }
    auto* memory = touched_memory(buffer.capacity_);
    if (pinning_.pin != nullptr) pinning_.pin(memory, buffer.capacity_);
    buffer.data_ = Buffer::Memory(memory, FreeHostMemory{pinning_.unpin});
    return buffer;
}

void BufferPool::reserve(std::size_t bytes, int count) {
    std::vector<Buffer> touched;
    for (int i = 0; i < count; ++i) touched.push_back(acquire(bytes));
}

std::size_t BufferPool::allocated_bytes() const {
    std::lock_guard const lock(mutex_);
    return allocated_;
}

}  // namespace hopscotch
