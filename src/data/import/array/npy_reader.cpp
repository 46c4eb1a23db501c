// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/npy_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {

FileStream::FileStream(std::filesystem::path const& path) : name_(path.string()), in_(path, std::ios::binary) {
    if (!in_ || std::filesystem::is_directory(path))
        throw DataError(fmt::format("{}: cannot be read; check the path and its permissions", name_));
    in_.seekg(0, std::ios::end);
    size_ = static_cast<std::uint64_t>(in_.tellg());
    rewind();
}

void FileStream::rewind() {
    in_.clear();
    in_.seekg(0);
}

std::size_t FileStream::read(MutableBytes out) {
    in_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    if (in_.bad()) throw DataError(fmt::format("{}: cannot be read; check the disk", name_));
    return static_cast<std::size_t>(in_.gcount());
}

std::string NpyReader::read_header(std::size_t bytes) {
    std::string out(bytes, '\0');
    stream_->rewind();
    out.resize(stream_->read(std::as_writable_bytes(std::span(out))));
    return out;
}

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {
    auto const bytes = npy_header_bytes(read_header(k_npy_prefix), name());
    auto const header = read_header(bytes);
    if (header.size() < bytes)
        throw DataError(fmt::format("{}: truncated (it ends inside its header); copy or save it again", name()));
    header_ = parse_npy_header(header, name());
    auto const data = stream_->size() - header.size();
    if (data != header_.data_bytes)
        throw DataError(fmt::format("{}: {} ({} bytes of data, its header says {}); copy or save it again", name(),
                                    data < header_.data_bytes ? "truncated" : "too long", data, header_.data_bytes));
}

void NpyReader::rewind() { read_header(header_.header_bytes); }

void NpyReader::read(std::int64_t rows, MutableBytes out) {
    require(out.size() == static_cast<std::size_t>(rows) * row_bytes(), "the buffer does not have the size of the rows");
    if (stream_->read(out) != out.size())
        throw DataError(fmt::format("{}: truncated (it became shorter while it was read); try again", name()));
    auto const width = header_.type.bytes;
    for (std::size_t at = 0; header_.swapped && at < out.size(); at += width)
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + width));
}

void NpyReader::finish() {
    std::byte more[1];
    if (stream_->read(more) != 0)
        throw DataError(fmt::format("{}: too long (its archive says otherwise); save it again", name()));
}

}  // namespace hopscotch
