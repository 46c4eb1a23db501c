// SPDX-License-Identifier: Apache-2.0
// Reused, touched buffers for states. A fresh 100 MB costs 54 ms of page faults on its first write, so the pool keeps its
// buffers as long as it needs them now and then. A buffer returns to its pool when its owner frees it. On one host it can
// also go to another rank's pool, with its contents.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/shared_piece.hpp"
#include "core/byte_view.hpp"

namespace hopscotch {

class BufferPool;
class SharedMemory;

// Page-locks memory for a GPU's copy engines, from any thread; null: not needed. pin: false if the memory was not locked.
struct Pinning {
    std::function<bool(void* data, std::size_t bytes)> pin;
    std::function<void(void* data)> unpin;
};

struct FreeHostMemory {
    std::size_t mapped_bytes = 0;                // 0: private
    std::function<void(void*)> unpin = nullptr;  // of memory that has been page-locked
    void operator()(std::byte* data) const noexcept;
};

// One mapped block of host memory: private, or a piece of shared memory.
struct HostBlock {
    std::unique_ptr<std::byte, FreeHostMemory> data;
    std::size_t capacity = 0;
    SharedPiece piece;
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

    MutableBytes bytes() const { return {block_.data.get(), size_}; }
    explicit operator bool() const { return static_cast<bool>(block_.data); }

private:
    friend class BufferPool;
    void release() noexcept;

    HostBlock block_;
    std::size_t size_ = 0;
    std::shared_ptr<BufferPool> pool_;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
public:
    BufferPool();
    ~BufferPool();

    // Thread-safe. Contents are unspecified.
    Buffer acquire(std::size_t bytes);
    Buffer acquire_ready(std::size_t bytes);     // empty if the memory has to be made first: seconds for gigabytes
    void reserve(std::size_t bytes, int count);  // touches `count` buffers now, so that no hop pays for the page faults
    std::size_t allocated_bytes() const;         // of the blocks that this pool owns now

    // Any thread, at any time: blocks that are made later follow. A courier may need blocks before its trainer knows its
    // device. share_memory: large blocks can be handed over and adopted from now on. If the system has no shared memory
    // left, blocks are private. node: of the cores that will train on the blocks; without it, of the cores on which the
    // calling thread may run.
    void set_pinning(Pinning pinning);
    void share_memory();
    void share_memory(int node);

    // Hands a block over. The owner offers the block, and must not touch it as soon as another pool may have adopted it.
    // When that pool has done so, the owner calls hand_over().
    PieceOffer offer(Buffer const& buffer) const;  // empty: this block has to be copied
    void hand_over(Buffer buffer);
    // Empty if the block has to be copied: this process cannot map the memory, or the memory is not on the NUMA node of the
    // cores that will train on it.
    Buffer adopt(PieceOffer const& offer, std::size_t bytes);
    Buffer adopt_ready(PieceOffer const& offer, std::size_t bytes);  // empty also if the memory has to be mapped first

private:
    friend class Buffer;
    struct FreeBlock {
        HostBlock block;
        std::uint64_t since = 0;  // by returns_
    };
    HostBlock take_idle(std::vector<FreeBlock>::iterator entry) noexcept;
    HostBlock new_block(std::size_t bytes);
    HostBlock made_block(std::size_t bytes);
    void take_back(HostBlock block) noexcept;
    void discard(HostBlock const& block) noexcept;
    // How blocks are made. Immutable: a setter replaces the object, and a reader keeps the one that it has read.
    struct Making {
        Pinning pinning;
        bool shares = false;
        int node = k_any_node;
        bool may_adopt(PieceOffer const& offer, std::size_t bytes) const;
        void lock_pages(HostBlock& block) const;
        HostBlock block_of(SharedMapping const& mapping) const;
    };
    std::shared_ptr<Making const> making() const;
    void change(std::function<void(Making&)> const& set);
    Buffer buffer_of(HostBlock block, std::size_t bytes);
    Buffer adopted(HostBlock block, std::size_t bytes);

    mutable std::mutex mutex_;  // of all that follows
    std::shared_ptr<Making const> making_ = std::make_shared<Making>();
    std::unique_ptr<SharedMemory> shared_;
    std::vector<FreeBlock> free_;  // the last that came back at the end
    std::uint64_t returns_ = 0;
    std::size_t idle_pieces_ = 0, idle_bytes_ = 0;  // of free_, shared blocks
    struct HandedOver {
        HostBlock block;
        std::uint64_t when = 0;
    };
    HostBlock forget_oldest();
    std::map<SharedPiece, HandedOver> handed_over_;  // still mapped: they may return
    std::uint64_t hand_overs_ = 0;
    std::size_t handed_over_bytes_ = 0;
    std::size_t allocated_ = 0, most_allocated_ = 0;
    int surplus_ = 0;  // blocks adopted less blocks handed over
};

}  // namespace hopscotch
