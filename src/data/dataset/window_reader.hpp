// SPDX-License-Identifier: Apache-2.0
// Reads the windows of an order ahead, in a thread of its own. There are three: one that batches are taken from, one that
// is ready, one that is being read. A window here is a run of consecutive positions of the order whose rows lie in one
// block of `window_rows` rows of the file; with an order of data.shuffle_rows that is the whole block, with an order 0..n-1
// as well, and with any other order it is less, down to a row.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "data/dataset/shard.hpp"
#include "data/dataset/shard_reader.hpp"

namespace hopscotch {

struct Window {
    std::size_t end = 0;      // position in the order after its last row
    std::uint32_t first = 0;  // number of its first row in the file
    Shard shard;              // rows first, first + 1 ... with their labels
};

class WindowReader {
public:
    // Both must outlive this object. labels: of the whole shard, without features.
    WindowReader(ShardReader const& reader, Shard const& labels, std::int64_t window_rows);
    ~WindowReader() { end(); }
    WindowReader(WindowReader const&) = delete;
    WindowReader& operator=(WindowReader const&) = delete;

    // Starts to read the rows of the order from position `first` on. The order is copied, because an exception in training
    // may leave a pass open.
    void begin(std::span<std::uint32_t const> order, std::size_t first);

    // Waits for the next window; the one before may be overwritten from now on. Rethrows an error of the thread.
    Window const& take();

    void end();      // of the pass, early or not; waits for the thread
    void release();  // ends the pass and gives the windows' memory back

private:
    void read_all(std::size_t position);
    bool read_window(Window& window);
    Window* await_free();
    bool stopped();

    ShardReader const& reader_;
    Shard const& labels_;
    std::int64_t window_rows_;
    std::vector<std::uint32_t> order_;
    std::array<Window, 3> windows_;  // the n-th of a pass is windows_[n % 3]

    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::size_t filled_ = 0, taken_ = 0, freed_ = 0;  // windows of this pass; freed <= taken <= filled <= freed + 3
    bool stop_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace hopscotch
