// SPDX-License-Identifier: Apache-2.0
#include "comm/buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "comm/shared_memory.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_page = 4096;
constexpr std::size_t k_huge_page = std::size_t{2} << 20;
constexpr std::size_t k_shared_from = std::size_t{64} << 10;  // smaller ones are copied sooner than mapped
constexpr int k_most_surplus = 4;                             // states on their way come in bursts
// Shared blocks that wait for the next state: beyond both limits, blocks go back to the system.
constexpr std::size_t k_most_idle = 4, k_most_idle_bytes = std::size_t{256} << 20;
constexpr std::uint64_t k_idle_returns = 1000;  // a block that stayed unused while this many others came back is not needed
// Limits of mappings of other pools' blocks: a process may have 65530. Limited by bytes too: page-locked blocks stay in
// memory even if their owner returns them to the system. In a ring of hops a trainer maps the blocks of all others of its
// host.
constexpr std::size_t k_most_handed_over = 4096,
                      k_most_handed_over_times = 16;  // bytes: times the most that this pool has held

// Large blocks on huge pages where the system has them: copying between processes pins page by page.
std::byte* touched_memory(std::size_t capacity) {
    bool const large = capacity >= k_huge_page;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(large ? k_huge_page : k_page, capacity));
    if (memory == nullptr) throw std::bad_alloc();
    if (large) madvise(memory, capacity, MADV_HUGEPAGE);  // a hint: the system may refuse it
    std::memset(memory, 0, capacity);
    return memory;
}

}  // namespace

void FreeHostMemory::operator()(std::byte* data) const noexcept {
    if (unpin) unpin(data);
    if (mapped_bytes > 0)
        ::munmap(data, mapped_bytes);
    else
        std::free(data);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        release();
        block_ = std::move(other.block_);
        size_ = other.size_;
        pool_ = std::move(other.pool_);
    }
    return *this;
}

void Buffer::release() noexcept {
    if (block_.data && pool_) pool_->take_back(std::move(block_));
}

BufferPool::BufferPool() : shared_(std::make_unique<SharedMemory>()) {}

BufferPool::~BufferPool() = default;

Buffer BufferPool::acquire(std::size_t bytes) {
    if (auto ready = acquire_ready(bytes)) return ready;
    return buffer_of(new_block(bytes), bytes);
}

Buffer BufferPool::acquire_ready(std::size_t bytes) {
    std::lock_guard const lock(mutex_);
    auto best = free_.end();
    for (auto entry = free_.begin(); entry != free_.end(); ++entry)
        if (entry->block.capacity >= bytes && entry->block.capacity <= 2 * bytes + k_page &&
            (best == free_.end() || entry->block.capacity <= best->block.capacity))
            best = entry;  // of equal ones the last: then surplus blocks stay idle
    if (best == free_.end()) return {};
    return buffer_of(take_idle(best), bytes);
}

// Under the lock.
HostBlock BufferPool::take_idle(std::vector<FreeBlock>::iterator entry) noexcept {
    auto block = std::move(entry->block);
    free_.erase(entry);
    if (block.piece) --idle_pieces_, idle_bytes_ -= block.capacity;
    return block;
}

Buffer BufferPool::buffer_of(HostBlock block, std::size_t bytes) {
    Buffer buffer;
    buffer.block_ = std::move(block);
    buffer.size_ = bytes;
    buffer.pool_ = shared_from_this();
    return buffer;
}

// Counts the block only when it is made: the system may have too little memory.
HostBlock BufferPool::new_block(std::size_t bytes) {
    auto block = made_block(bytes);
    std::lock_guard const lock(mutex_);
    allocated_ += block.capacity;
    most_allocated_ = std::max(most_allocated_, allocated_);
    return block;
}

// The memory is made without the lock, for which the courier would have to wait.
HostBlock BufferPool::made_block(std::size_t bytes) {
    auto const unit = bytes >= k_huge_page ? k_huge_page : k_page;
    auto const capacity = (bytes / unit + 1) * unit;
    std::optional<SharedMemory::Place> place;
    auto const how = making();
    if (how->shares && bytes >= k_shared_from) {
        std::lock_guard const lock(mutex_);
        place = shared_->reserve(capacity);
    }
    if (place)
        if (auto const mapping = SharedMemory::make(*place)) return how->block_of(*mapping);
    HostBlock block{{touched_memory(capacity), FreeHostMemory{}}, capacity, {}};
    how->lock_pages(block);
    return block;
}

std::shared_ptr<BufferPool::Making const> BufferPool::making() const {
    std::lock_guard const lock(mutex_);
    return making_;
}

void BufferPool::change(std::function<void(Making&)> const& set) {
    std::lock_guard const lock(mutex_);
    auto changed = std::make_shared<Making>(*making_);
    set(*changed);
    making_ = std::move(changed);
}

HostBlock BufferPool::Making::block_of(SharedMapping const& mapping) const {
    auto const bytes = mapping.piece.bytes;
    HostBlock block{{mapping.data, FreeHostMemory{bytes}}, bytes, mapping.piece};
    lock_pages(block);
    return block;
}

void BufferPool::Making::lock_pages(HostBlock& block) const {
    if (pinning.pin && pinning.pin(block.data.get(), block.capacity)) block.data.get_deleter().unpin = pinning.unpin;
}

// Blocks that are not needed go back to the system: if more arrive than leave, and after a burst.
void BufferPool::take_back(HostBlock block) noexcept {
    HostBlock idle;  // freed after the lock, as `block` is: to unlock the pages of a GPU's block takes milliseconds
    std::lock_guard const lock(mutex_);
    ++returns_;
    bool const enough = idle_pieces_ >= k_most_idle && idle_bytes_ + block.capacity > k_most_idle_bytes;
    if (block.piece && (surplus_ > k_most_surplus || enough)) {
        discard(block);
    } else {
        if (block.piece) ++idle_pieces_, idle_bytes_ += block.capacity;
        free_.push_back({std::move(block), returns_});
    }
    if (free_.empty() || returns_ - free_.front().since < k_idle_returns) return;
    idle = take_idle(free_.begin());
    discard(idle);
}

// Under the lock.
void BufferPool::discard(HostBlock const& block) noexcept {
    allocated_ -= block.capacity;
    if (!block.piece) return;
    surplus_ = std::max(0, surplus_ - 1);
    shared_->discard(block.piece);
}

void BufferPool::reserve(std::size_t bytes, int count) {
    std::vector<Buffer> touched;
    for (int i = 0; i < count; ++i) touched.push_back(acquire(bytes));
}

std::size_t BufferPool::allocated_bytes() const {
    std::lock_guard const lock(mutex_);
    return allocated_;
}

void BufferPool::share_memory() { share_memory(home_node()); }

void BufferPool::share_memory(int node) {
    change([=](Making& how) {
        how.shares = true;
        how.node = node;
    });
}

void BufferPool::set_pinning(Pinning pinning) {
    change([&](Making& how) { how.pinning = std::move(pinning); });
}

PieceOffer BufferPool::offer(Buffer const& buffer) const {
    std::lock_guard const lock(mutex_);
    return buffer.block_.piece ? shared_->offer(buffer.block_.piece, making_->node) : PieceOffer{};
}

void BufferPool::hand_over(Buffer buffer) {
    std::vector<HostBlock> forgotten;  // freed after the lock, as is handed
    HandedOver handed{std::move(buffer.block_), 0};
    std::lock_guard const lock(mutex_);
    --surplus_;
    allocated_ -= handed.block.capacity;
    auto const piece = handed.block.piece;
    handed.when = ++hand_overs_;
    // It may be there already: a piece that came back before this call is mapped twice. One mapping is enough.
    bool const is_new = handed_over_.try_emplace(piece, std::move(handed)).second;
    if (is_new) handed_over_bytes_ += piece.bytes;
    while (handed_over_.size() > k_most_handed_over || handed_over_bytes_ > k_most_handed_over_times * most_allocated_)
        forgotten.push_back(forget_oldest());
}

HostBlock BufferPool::forget_oldest() {
    auto const oldest = std::ranges::min_element(handed_over_, {}, [](auto const& entry) { return entry.second.when; });
    handed_over_bytes_ -= oldest->first.bytes;
    auto block = std::move(oldest->second.block);
    handed_over_.erase(oldest);
    return block;
}

bool BufferPool::Making::may_adopt(PieceOffer const& offer, std::size_t bytes) const {
    bool const trains_on_it = !pinning.pin;  // a GPU copies it, once each way
    bool const far = offer.node != k_any_node && node != k_any_node && offer.node != node;
    return shares && offer.piece.bytes >= bytes && !(trains_on_it && far);
}

Buffer BufferPool::adopt(PieceOffer const& offer, std::size_t bytes) {
    auto const how = making();
    if (!how->may_adopt(offer, bytes)) return {};
    if (auto ready = adopt_ready(offer, bytes)) return ready;
    std::optional<SharedMemory::Place> place;
    {
        std::lock_guard const lock(mutex_);
        place = shared_->find(offer);
    }
    auto const mapping = place ? SharedMemory::map(*place) : std::nullopt;
    if (!mapping) return {};
    auto block = how->block_of(*mapping);
    std::lock_guard const lock(mutex_);
    return adopted(std::move(block), bytes);
}

Buffer BufferPool::adopt_ready(PieceOffer const& offer, std::size_t bytes) {
    std::lock_guard const lock(mutex_);
    if (!making_->may_adopt(offer, bytes)) return {};
    auto had = handed_over_.extract(offer.piece);
    if (!had) return {};
    handed_over_bytes_ -= offer.piece.bytes;
    return adopted(std::move(had.mapped().block), bytes);
}

// Under the lock.
Buffer BufferPool::adopted(HostBlock block, std::size_t bytes) {
    ++surplus_;
    allocated_ += block.capacity;
    most_allocated_ = std::max(most_allocated_, allocated_);
    return buffer_of(std::move(block), bytes);
}

}  // namespace hopscotch
