// SPDX-License-Identifier: Apache-2.0
// Memory that the processes of one host hand to each other instead of copying its contents: pieces of anonymous files
// (memfd), one file a process and pool. A piece has one owner at a time. Only the owner reads and writes it. Earlier owners
// keep the mapping, so that the next time costs nothing. Three trainers, one state:
//   1 makes piece 0 and offers it to 2: "file f, piece 0, descriptor 9 of process 71"
//   2 opens /proc/71/fd/9, maps the piece and owns it; 2 offers it to 3, and 3 to 1, which has the piece mapped already
// Not thread-safe: a BufferPool guards it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "comm/shared_piece.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {

class SharedMemory {
public:
    // A new piece, touched and zero; bytes: a multiple of the page size. Empty if the system has no shared memory (left).
    std::optional<SharedMapping> make(std::size_t bytes);

    // Of a file that this process has made or opened. node: PieceOffer::node.
    PieceOffer offer(SharedPiece const& piece, int node) const;

    // Empty if the file cannot be opened: another host or container, a process that has ended, or no permission.
    std::optional<SharedMapping> open(PieceOffer const& offer);

    // For the owner: returns the memory to the system although other processes have it mapped. They must not touch it again.
    void discard(SharedPiece const& piece) noexcept;

private:
    struct CloseFile {
        static int null() { return -1; }
        void operator()(int fd) noexcept;
    };
    using File = UniqueHandle<int, CloseFile>;
    bool make_file();
    static std::shared_ptr<File> kept(std::uint64_t number, std::shared_ptr<File> file);
    int descriptor(PieceOffer const& offer);  // -1: cannot be opened

    std::uint64_t own_ = 0, end_ = 0;  // the file of make(), and its length; no offset is used twice
    std::map<std::uint64_t, std::shared_ptr<File>> files_;
};

// The NUMA node of the cores on which the calling thread may run; k_any_node: of several nodes, or not known. The present
// core would not do: a thread that is not bound moves on, and what is far for a moment would be copied for ever. root: where
// /sys is found.
int home_node(std::filesystem::path const& root = "/");

}  // namespace hopscotch
