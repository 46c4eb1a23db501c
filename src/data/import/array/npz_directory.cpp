// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/npz_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
[[noreturn]] void damaged_zip(std::string const& name, std::string_view what) {
    throw DataError(fmt::format("{}: damaged zip archive ({}); copy or save it again", name, what));
}

namespace {

constexpr std::uint64_t k_end_bytes = 22, k_longest_comment = 65535, k_locator_bytes = 20, k_end64_bytes = 56;
constexpr std::uint64_t k_entry_bytes = 46, k_largest_directory = 64 << 20;

// A little-endian number of `bytes` bytes; the caller has checked that they are there.
std::uint64_t number(std::string_view text, std::uint64_t at, int bytes) {
    std::uint64_t out = 0;
    for (int i = bytes - 1; i >= 0; --i)
        out = out << 8 | static_cast<unsigned char>(text[at + static_cast<std::uint64_t>(i)]);
    return out;
}

class RandomAccess {
public:
    explicit RandomAccess(std::filesystem::path const& path)
        : name_(path.string()), size_(FileStream(path).size()), in_(path, std::ios::binary) {}
    std::uint64_t size() const { return size_; }
    std::string read(std::uint64_t at, std::uint64_t bytes) {
        if (at > size_ || bytes > size_ - at) damaged_zip(name_, "it is truncated");
        std::string out(bytes, '\0');
        in_.seekg(static_cast<std::streamoff>(at));
        if (!in_.read(out.data(), static_cast<std::streamsize>(bytes))) damaged_zip(name_, "it cannot be read");
        return out;
    }

private:
    std::string name_;
    std::uint64_t size_;
    std::ifstream in_;
};

struct Directory {
    std::uint64_t bytes = 0, at = 0;
};

// The end record is the archive's last, but for a comment; where a number does not fit it is in the zip64 end record.
Directory find_directory(RandomAccess& file, std::string const& name) {
    auto const length = std::min(file.size(), k_end_bytes + k_longest_comment + k_locator_bytes);
    auto const tail = file.read(file.size() - length, length);
    auto const end = tail.rfind("PK\5\6");
    if (end == tail.npos || end + k_end_bytes > tail.size())
        throw DataError(
            fmt::format("{}: not a npz file, or truncated (no end of a zip archive); save it with numpy.savez", name));
    Directory const out{number(tail, end + 12, 4), number(tail, end + 16, 4)};
    if (out.bytes != UINT32_MAX && out.at != UINT32_MAX) return out;
    if (end < k_locator_bytes || tail.compare(end - k_locator_bytes, 4, "PK\6\7") != 0)
        damaged_zip(name, "no zip64 locator");
    auto const end64 = file.read(number(tail, end - k_locator_bytes + 8, 8), k_end64_bytes);
    if (!end64.starts_with("PK\6\6")) damaged_zip(name, "no zip64 end record");
    return {number(end64, 40, 8), number(end64, 48, 8)};
}

// Extra field 1 holds, in this order, each of the three numbers that was too large for its place.
void read_zip64(std::string_view extra, NpzMember& member) {
    while (extra.size() >= 4) {
        auto field = extra.substr(4, number(extra, 2, 2));
        if (number(extra, 0, 2) == 1)
            for (auto* value : {&member.size, &member.packed, &member.header_at})
                if (*value == UINT32_MAX && field.size() >= 8) {
                    *value = number(field, 0, 8);
                    field.remove_prefix(8);
                }
        extra.remove_prefix(std::min<std::size_t>(extra.size(), 4 + number(extra, 2, 2)));
    }
}

// Takes the next entry off the directory.
NpzMember read_entry(std::string_view& directory, std::string const& path) {
    if (directory.size() < k_entry_bytes || !directory.starts_with("PK\1\2"))
        damaged_zip(path, "its directory is malformed");
    NpzMember out;
    out.encrypted = (number(directory, 8, 2) & 1) != 0;
    out.method = static_cast<std::uint32_t>(number(directory, 10, 2));
    out.crc = static_cast<std::uint32_t>(number(directory, 16, 4));
    out.packed = number(directory, 20, 4);
    out.size = number(directory, 24, 4);
    out.header_at = number(directory, 42, 4);
    auto const name_bytes = number(directory, 28, 2), extra_bytes = number(directory, 30, 2);
    auto const entry = k_entry_bytes + name_bytes + extra_bytes + number(directory, 32, 2);
    if (entry > directory.size()) damaged_zip(path, "its directory is malformed");
    out.name = directory.substr(k_entry_bytes, name_bytes);
    read_zip64(directory.substr(k_entry_bytes + name_bytes, extra_bytes), out);
    directory.remove_prefix(entry);
    return out;
}

void check_method(NpzMember const& member, std::string const& path) {
    if (member.encrypted)
        throw DataError(fmt::format("{}: '{}' is encrypted; save it without a password", path, member.name));
    if (member.method != k_zip_stored && member.method != k_zip_deflated)
        throw DataError(
            fmt::format("{}: '{}' is compressed by method {} (stored and deflated members are read); save it with "
                        "numpy.savez_compressed",
                        path, member.name, member.method));
}

}  // namespace

std::vector<NpzMember> read_npz_directory(std::filesystem::path const& path) {
    RandomAccess file(path);
    auto const place = find_directory(file, path.string());
    if (place.bytes > k_largest_directory) damaged_zip(path.string(), "its directory is larger than 64 MiB");
    auto const text = file.read(place.at, place.bytes);
    std::vector<NpzMember> out;
    for (std::string_view rest = text; !rest.empty();) {
        auto member = read_entry(rest, path.string());
        if (!member.name.ends_with(".npy")) continue;
        member.name.resize(member.name.size() - 4);
        check_method(member, path.string());
        require_utf8(member.name, path.string(), "the name of an array,", "save it again with numpy.savez");
        if (std::ranges::find(out, member.name, &NpzMember::name) != out.end())
            throw DataError(
                fmt::format("{}: has two arrays named '{}'; save it again with other names", path.string(), member.name));
        out.push_back(std::move(member));
    }
    return out;
}

}  // namespace hopscotch
