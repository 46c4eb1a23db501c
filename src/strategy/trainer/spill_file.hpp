// SPDX-License-Identifier: Apache-2.0
// States on the disk for a while: one file without a name, which ends with the process. One thread writes; any thread reads
// and frees.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/byte_view.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {

class SpillFile {
public:
    // The first write makes the file.
    explicit SpillFile(std::filesystem::path directory) : directory_(std::move(directory)) {}

    struct Slot {
        std::uint64_t offset = 0, bytes = 0, hash = 0;  // bytes 0: none
    };
    Slot write(ByteView state);  // throws IoError
    // Reads once more after an error. Throws DataError; the slot stays.
    void read(Slot const& slot, MutableBytes into) const;
    void free(Slot const& slot);

private:
    struct CloseFile {
        static int null() { return -1; }
        void operator()(int fd) noexcept;
    };
    void open();
    void read_once(Slot const& slot, MutableBytes into) const;
    std::uint64_t place_for(std::uint64_t bytes);

    std::filesystem::path directory_;
    UniqueHandle<int, CloseFile> file_{-1};
    std::mutex mutex_;
    std::multimap<std::uint64_t, std::uint64_t> free_;  // by size: offsets
    std::uint64_t end_ = 0;
};

}  // namespace hopscotch
