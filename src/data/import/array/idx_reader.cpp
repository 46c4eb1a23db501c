// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/idx_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::uint8_t k_type_uint8 = 8;
constexpr std::uint8_t k_most_sizes = 5;
constexpr std::int64_t k_most_bytes = std::int64_t{1} << 24;  // of an item
constexpr std::size_t k_inflated_bytes = 1 << 20;

gzFile gzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void GzipClose::operator()(void* file) noexcept { gzclose(gzip(file)); }

// gzopen reads files that are not compressed as they are.
IdxReader::IdxReader(std::filesystem::path path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) fail("cannot be opened; check its permissions");
    std::array<std::uint8_t, 4> magic;
    if (read_some(magic) != magic.size())
        fail("too short for an idx file (it starts with the four bytes 0, 0, type, rank); copy it again");
    if (magic[0] != 0 || magic[1] != 0)
        fail(fmt::format("not an idx file (it starts with the bytes {} {}, not 0 0); is the file of another format?",
                         magic[0], magic[1]));
    if (magic[2] != k_type_uint8)
        fail(fmt::format("idx type {:#04x} (only bytes, 0x08, are supported); convert it, or import it as npy", magic[2]));
    if (magic[3] < 1 || magic[3] > k_most_sizes)
        fail(fmt::format("{} sizes in an idx header (1 to {} are supported)", magic[3], k_most_sizes));
    for (int i = 0; i < magic[3]; ++i) sizes_.push_back(read_u32());
    std::int64_t bytes = 1;
    for (std::size_t i = 1; i < sizes_.size(); ++i) {
        if (sizes_[i] < 1 || sizes_[i] > k_most_bytes / bytes)
            fail("its items are empty or larger than 16 MiB; is it damaged?");
        bytes *= sizes_[i];
    }
    if (sizes_[0] < 1) fail("has no items");
}

void IdxReader::fail(std::string const& problem) const { throw DataError(fmt::format("{}: {}", path_.string(), problem)); }

std::size_t IdxReader::read_some(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size()) {
        auto const piece = static_cast<unsigned>(std::min(k_inflated_bytes, out.size() - done));
        auto const count = gzread(gzip(file_.handle()), out.data() + done, piece);
        int code = Z_OK;
        auto const* const text = gzerror(gzip(file_.handle()), &code);
        // Z_BUF_ERROR means compressed data that ends too early: the caller reports it if it needed more.
        if (count < 0 && code != Z_BUF_ERROR) fail(fmt::format("cannot be read ({}); is it damaged?", text));
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

std::uint32_t IdxReader::read_u32() {
    std::array<std::uint8_t, 4> bytes;
    if (read_some(bytes) != bytes.size()) fail("truncated within its header; copy it again");
    return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) | bytes[3];
}

void IdxReader::read(std::span<std::uint8_t> out) {
    if (read_some(out) != out.size()) fail(fmt::format("truncated (its header says {} items); copy it again", sizes_[0]));
}

void IdxReader::expect_end() {
    std::array<std::uint8_t, 1> more;
    if (read_some(more) > 0) fail(fmt::format("has bytes behind the {} items of its header; is it damaged?", sizes_[0]));
    int code = Z_OK;
    gzerror(gzip(file_.handle()), &code);
    if (code == Z_BUF_ERROR) fail(fmt::format("truncated (its header says {} items); copy it again", sizes_[0]));
}

}  // namespace hopscotch
