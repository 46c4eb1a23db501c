// SPDX-License-Identifier: Apache-2.0
// Reused, touched buffers for states. A fresh 100 MB costs 54 ms of page faults on its first write, which is why they are
// kept. A buffer goes back to its pool when the last owner lets go of it.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/byte_view.hpp"

namespace hopscotch {

class BufferPool;

// Page-locks memory for a GPU's copy engines; null: not needed.
struct Pinning {
    void (*pin)(void* data, std::size_t bytes) = nullptr;
    void (*unpin)(void* data) = nullptr;
};

struct FreeHostMemory {
    void (*unpin)(void*) = nullptr;
    void operator()(std::byte* data) const noexcept;
};

// Owns one pooled block, 64-byte aligned (page-aligned in fact); empty when default-constructed or moved from.
class Buffer {
public:
    Buffer() = default;
    Buffer(Buffer&&) noexcept = default;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(Buffer const&) = delete;
    Buffer& operator=(Buffer const&) = delete;
    ~Buffer() { release(); }

    MutableBytes bytes() const { return {data_.get(), size_}; }
    explicit operator bool() const { return static_cast<bool>(data_); }

private:
    friend class BufferPool;
    using Memory = std::unique_ptr<std::byte, FreeHostMemory>;
    void release() noexcept;

    Memory data_;
    std::size_t size_ = 0, capacity_ = 0;
    std::shared_ptr<BufferPool> pool_;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
public:
    // Thread-safe. Contents are unspecified.
    Buffer acquire(std::size_t bytes);
    void reserve(std::size_t bytes, int count);                // touches so many now, so that no hop pays for it
    void set_pinning(Pinning pinning) { pinning_ = pinning; }  // before the first acquire
    std::size_t allocated_bytes() const;

private:
    friend class Buffer;
    struct Entry {
        Buffer::Memory data;
        std::size_t capacity = 0;
    };
    Pinning pinning_;
    mutable std::mutex mutex_;
    std::vector<Entry> free_;
    std::size_t allocated_ = 0;
};

}  // namespace hopscotch
