// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_piece = 1 << 20;
constexpr std::size_t k_longest_line = 16 << 20;  // a lap with 80000 units as version 0.1 wrote them

std::ifstream opened(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw DataError(fmt::format("{}: cannot be read ({})", path.string(), std::strerror(errno)));
    return in;
}

// Adds the next piece. False: the end of the file.
bool append_piece(std::ifstream& in, std::filesystem::path const& path, std::string& text) {
    auto const before = text.size();
    text.resize(before + k_piece);
    in.read(text.data() + before, static_cast<std::streamsize>(k_piece));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
    if (in.bad()) throw DataError(fmt::format("{}: cannot be read; check the disk", path.string()));
    return text.size() > before;
}

}  // namespace

void require_file(std::filesystem::path const& path) {
    std::error_code refused;
    auto const status = std::filesystem::status(path, refused);
    if (exists(status) && !is_regular_file(status))
        throw DataError(fmt::format("{}: cannot be read (it is not a file)", path.string()));
}

std::string read_whole(std::filesystem::path const& path, ReadFrom from) {
    std::error_code refused;
    if (from == ReadFrom::file || std::filesystem::is_directory(path, refused)) require_file(path);
    auto in = opened(path);
    std::string text;
    for (std::size_t seen = 0; append_piece(in, path, text); seen = text.size())
        if (text.find('\0', seen) != text.npos)
            throw DataError(fmt::format("{}: is not a text (it contains a zero byte); restore it", path.string()));
    return text;
}

std::string read_beginning(std::filesystem::path const& path, std::uintmax_t bytes) {
    require_file(path);
    auto in = opened(path);
    std::string text;
    while (text.size() < bytes && append_piece(in, path, text)) {
    }
    text.resize(std::min<std::uintmax_t>(text.size(), bytes));
    return text;
}

std::string read_whole_lines(std::filesystem::path const& path) {
    require_file(path);
    auto in = opened(path);
    std::string text;
    std::size_t lines = 0;  // bytes
    while (text.size() - lines <= k_longest_line && append_piece(in, path, text))
        if (auto const end = text.rfind('\n'); end != text.npos) lines = end + 1;
    text.resize(lines);
    return text;
}

LineReader::LineReader(std::filesystem::path path) : path_(std::move(path)) {
    require_file(path_);
    in_ = opened(path_);
}

bool LineReader::read_more() {
    text_.erase(0, std::exchange(at_, 0));
    searched_ = text_.size();
    if (text_.size() > k_longest_line)
        throw DataError(fmt::format("{}:{}: the line is longer than {} bytes; restore the file", path_.string(), number_ + 1,
                                    k_longest_line));
    return append_piece(in_, path_, text_);
}

std::optional<std::string_view> LineReader::next() {
    auto end = text_.find('\n', at_);
    while (end == text_.npos) {
        if (!read_more()) return std::nullopt;
        end = text_.find('\n', searched_);
    }
    auto const line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    bytes_ += line.size() + 1;
    ++number_;
    return line;
}

std::uint64_t hash_file(std::filesystem::path const& path) {
    require_file(path);
    std::ifstream in(path, std::ios::binary);
    std::vector<char> buffer(k_piece);
    Xxh64Stream hash;
    while (in) {
        in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        hash.update(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(in.gcount()))));
    }
    if (!in.eof()) throw DataError(fmt::format("{}: cannot be read; check the disk and its permissions", path.string()));
    return hash.digest();
}

}  // namespace hopscotch
