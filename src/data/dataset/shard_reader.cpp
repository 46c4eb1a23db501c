// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "data/dataset/shard_layout.hpp"

namespace hopscotch {
namespace {

// Returns why it stopped early, or nothing.
std::string read_fully(int file, std::int64_t offset, MutableBytes out) {
    while (!out.empty()) {
        auto const got = ::pread(file, out.data(), out.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::strerror(errno);
        if (got == 0) return "the file ends before them";
        out = out.subspan(static_cast<std::size_t>(got));
        offset += got;
    }
    return {};
}

}  // namespace

void CloseFile::operator()(int file) noexcept { ::close(file); }

ShardReader::ShardReader(std::filesystem::path path, Hdf5File open, Manifest const& manifest)
    : path_(std::move(path)), row_bytes_(hopscotch::row_bytes(manifest)) {
    auto const offset = open.offset_of_rows("/features");
    if (!offset) {
        hdf5_ = std::move(open);
        return;
    }
    offset_ = *offset;
    file_ = UniqueHandle<int, CloseFile>(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_)
        throw DataError(
            fmt::format("{}: cannot be opened ({}); check its permissions", path_.string(), std::strerror(errno)));
}

void ShardReader::read(std::int64_t first, std::int64_t rows, MutableBytes out) const {
    require(out.size() == static_cast<std::size_t>(rows) * row_bytes_, "the buffer does not have the size of the rows");
    if (hdf5_) return hdf5_->read_rows("/features", first, rows, out);
    auto const problem = read_fully(file_.handle(), offset_ + first * static_cast<std::int64_t>(row_bytes_), out);
    if (!problem.empty())
        throw DataError(
            fmt::format("{}: rows {} to {} of '/features' cannot be read ({}); restore it or import the dataset again",
                        path_.string(), first, first + rows, problem));
}

}  // namespace hopscotch
