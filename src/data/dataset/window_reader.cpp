// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/window_reader.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_window_piece_bytes = 8 << 20;  // between two looks at stop: a pass ends early within milliseconds

// Sets the end of the window that starts at `position`, and the rows of the file that it needs.
void plan(Window& window, std::span<std::uint32_t const> order, std::size_t position, std::int64_t window_rows) {
    auto const block = order[position] / window_rows;
    auto low = order[position], high = low;
    while (position < order.size() && order[position] / window_rows == block) {
        low = std::min(low, order[position]);
        high = std::max(high, order[position]);
        ++position;
    }
    window.end = position;
    window.first = low;
    window.shard.rows = static_cast<std::int64_t>(high - low) + 1;
}

template <class T>
void copy_rows(std::vector<T> const& from, std::int64_t all_rows, Window const& window, std::vector<T>& to) {
    auto const width = static_cast<std::int64_t>(from.size()) / std::max<std::int64_t>(all_rows, 1);
    auto const first = from.begin() + window.first * width;
    to.assign(first, first + window.shard.rows * width);
}

}  // namespace

WindowReader::WindowReader(ShardReader const& reader, Shard const& labels, std::int64_t window_rows)
    : reader_(reader), labels_(labels), window_rows_(window_rows) {
    require(window_rows >= 1, "a window has at least one row");
}

void WindowReader::begin(std::span<std::uint32_t const> order, std::size_t first) {
    end();
    filled_ = taken_ = freed_ = 0;
    stop_ = false;
    failure_ = nullptr;
    order_.assign(order.begin(), order.end());
    if (first < order_.size()) thread_ = std::thread([this, first] { read_all(first); });
}

void WindowReader::end() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard const lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void WindowReader::release() {
    end();
    for (auto& window : windows_) window = {};
}

Window const& WindowReader::take() {
    std::unique_lock lock(mutex_);
    freed_ = taken_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return filled_ > taken_ || failure_ != nullptr; });
    if (filled_ == taken_) std::rethrow_exception(failure_);  // rows that were read before the error are delivered first
    return windows_[taken_++ % windows_.size()];
}

Window* WindowReader::await_free() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || filled_ - freed_ < windows_.size(); });
    return stop_ ? nullptr : &windows_[filled_ % windows_.size()];
}

bool WindowReader::stopped() {
    std::lock_guard const lock(mutex_);
    return stop_;
}

// Returns false if the pass was ended meanwhile.
bool WindowReader::read_window(Window& window) {
    auto const row_bytes = reader_.row_bytes();
    auto const rows = window.shard.rows;
    window.shard.features.own().resize(static_cast<std::size_t>(rows) * row_bytes);
    copy_rows(labels_.labels, labels_.rows, window, window.shard.labels);
    copy_rows(labels_.targets, labels_.rows, window, window.shard.targets);
    auto const most = std::max<std::int64_t>(1, static_cast<std::int64_t>(k_window_piece_bytes / row_bytes));
    for (std::int64_t row = 0; row < rows; row += most) {
        if (stopped()) return false;
        auto const piece = std::min(most, rows - row);
        reader_.read(window.first + row, piece,
                     MutableBytes(window.shard.features.own())
                         .subspan(static_cast<std::size_t>(row) * row_bytes, static_cast<std::size_t>(piece) * row_bytes));
    }
    return true;
}

void WindowReader::read_all(std::size_t position) try {
    while (position < order_.size()) {
        auto* const window = await_free();
        if (window == nullptr) return;
        plan(*window, order_, position, window_rows_);
        position = window->end;
        if (!read_window(*window)) return;
        std::lock_guard const lock(mutex_);
        ++filled_;
        changed_.notify_all();
    }
} catch (...) {
    std::lock_guard const lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
}

}  // namespace hopscotch
