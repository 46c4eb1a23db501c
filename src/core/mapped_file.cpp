// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {
namespace {

struct Close {
    static int null() { return -1; }
    void operator()(int file) noexcept { ::close(file); }
};

[[noreturn]] void fail(std::filesystem::path const& path, std::string_view why) {
    throw DataError(fmt::format("{}: cannot be mapped ({}); check the file and its permissions", path.string(), why));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path const& path, std::int64_t offset, std::size_t bytes) {
    UniqueHandle<int, Close> const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.handle(), &status) != 0) fail(path, std::strerror(errno));
    if (offset < 0 || status.st_size < offset || static_cast<std::size_t>(status.st_size - offset) < bytes)
        fail(path, fmt::format("it has {} bytes", status.st_size));
    if (bytes == 0) return;
    auto const ahead = static_cast<std::size_t>(offset % ::sysconf(_SC_PAGESIZE));  // a mapping begins with a page
    length_ = ahead + bytes;
    auto* const pages =
        ::mmap(nullptr, length_, PROT_READ, MAP_SHARED | MAP_POPULATE, file.handle(), offset - static_cast<off_t>(ahead));
    if (pages == MAP_FAILED) fail(path, std::strerror(errno));
    pages_ = pages;
    part_ = {static_cast<std::byte const*>(pages) + ahead, bytes};
}

MappedFile::~MappedFile() {
    if (pages_ != nullptr) ::munmap(pages_, length_);
}

}  // namespace hopscotch
