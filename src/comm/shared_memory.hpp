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
    // The place of a piece in an open file. Quick: make() and map() make or map the memory, which takes seconds for
    // gigabytes. Those two need no guard.
    struct Place;

    // For a new piece; bytes: a multiple of the page size. Empty if the system has no shared memory.
    std::optional<Place> reserve(std::size_t bytes);
    // Touched and zero. Empty if there is no shared memory left.
    static std::optional<SharedMapping> make(Place const& place);

    // Of a file that this process has made or opened. node: PieceOffer::node.
    PieceOffer offer(SharedPiece const& piece, int node) const;

    // Empty if the file cannot be opened: another host or container, a process that has ended, or no permission.
    std::optional<Place> find(PieceOffer const& offer);
    static std::optional<SharedMapping> map(Place const& place);

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
    std::shared_ptr<File> file_of(PieceOffer const& offer);  // null: cannot be opened

    std::uint64_t own_ = 0, end_ = 0;  // the file of make(), and its length; no offset is used twice
    std::map<std::uint64_t, std::shared_ptr<File>> files_;
};

struct SharedMemory::Place {
    std::shared_ptr<File> file;
    SharedPiece piece;
};

// The NUMA node of the cores on which the calling thread may run; k_any_node: of several nodes, or not known. The present
// core is not enough: an unbound thread moves, and a block that is far for a moment would be copied for ever. root: where
// /sys is found.
int home_node(std::filesystem::path const& root = "/");

}  // namespace hopscotch
