// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/error.hpp"
#include "core/file.hpp"
#include "model/state/safetensors.hpp"

namespace hopscotch {
namespace {

constexpr std::uint64_t k_longest_header = 100'000'000;  // the reference implementation's limit

std::optional<std::size_t> dtype_bytes(std::string_view dtype) {
    static constexpr std::pair<std::string_view, std::size_t> known[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2},
                                                                         {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},
                                                                         {"U8", 1},  {"U16", 2}, {"U32", 4}, {"U64", 8},
                                                                         {"BOOL", 1}};
    for (auto const& [name, bytes] : known)
        if (name == dtype) return bytes;
    return std::nullopt;
}

float half_to_float(std::uint16_t half) {
    std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    std::uint32_t const exponent = (half >> 10) & 0x1fU, fraction = half & 0x3ffU;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    auto const magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
}

template <class Stored>
Stored at(std::vector<std::byte> const& bytes, std::size_t i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

template <class Out>
bool convert(std::string_view dtype, std::vector<std::byte> const& bytes, std::span<Out> out) {
    auto const all = [&](auto&& value) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Out>(value(i));
        return true;
    };
    if (dtype == "F32") return all([&](std::size_t i) { return at<float>(bytes, i); });
    if (dtype == "F64") return all([&](std::size_t i) { return at<double>(bytes, i); });
    if (dtype == "F16") return all([&](std::size_t i) { return half_to_float(at<std::uint16_t>(bytes, i)); });
    if (dtype == "BF16")
        return all([&](std::size_t i) {
            return std::bit_cast<float>(static_cast<std::uint32_t>(at<std::uint16_t>(bytes, i)) << 16);
        });
    if (dtype == "I64") return all([&](std::size_t i) { return at<std::int64_t>(bytes, i); });
    if (dtype == "I32") return all([&](std::size_t i) { return at<std::int32_t>(bytes, i); });
    return false;
}

// One tensor of a header, checked. data: the place in the file where the tensors begin. size: their bytes.
SafetensorsFile::Entry read_entry(Json const& json, std::uint64_t data, std::uint64_t size) {
    auto const bad = [](std::string_view why) { return DataError(std::string(why)); };
    auto const* dtype = json.find("dtype");
    auto const* shape = json.find("shape");
    auto const* range = json.find("data_offsets");
    if (dtype == nullptr || !dtype->is_string() || shape == nullptr || !shape->is_array() || range == nullptr ||
        !range->is_array() || range->array().size() != 2)
        throw bad("needs dtype, shape and data_offsets");
    SafetensorsFile::Entry entry{dtype->string(), {}, 0, 0};
    std::uint64_t elements = 1;
    for (auto const& side : shape->array()) {
        if (!side.is_integer() || side.integer() < 0) throw bad("has a shape that is not valid");
        entry.shape.push_back(side.integer());
        if (side.integer() != 0 && elements > UINT64_MAX / 8 / static_cast<std::uint64_t>(side.integer()))
            throw bad("is larger than any memory");
        elements *= static_cast<std::uint64_t>(side.integer());
    }
    auto const& first = range->array()[0];
    auto const& last = range->array()[1];
    if (!first.is_integer() || !last.is_integer() || first.integer() < 0 || last.integer() < first.integer() ||
        static_cast<std::uint64_t>(last.integer()) > size)
        throw bad(fmt::format("lies outside the file ({} bytes of tensors)", size));
    entry.begin = data + static_cast<std::uint64_t>(first.integer());
    entry.end = data + static_cast<std::uint64_t>(last.integer());
    if (auto const bytes = dtype_bytes(entry.dtype); bytes && elements * *bytes != entry.end - entry.begin)
        throw bad(fmt::format("has {} bytes ({} of shape [{}] need {})", entry.end - entry.begin, entry.dtype,
                              fmt::join(entry.shape, ", "), elements * *bytes));
    return entry;
}

void refuse_overlaps(std::map<std::string, SafetensorsFile::Entry> const& entries) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (auto const& [name, entry] : entries)
        if (entry.begin != entry.end) ranges.emplace_back(entry.begin, entry.end);
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second) throw DataError("two tensors overlap");
}

}  // namespace

SafetensorsFile SafetensorsFile::open(std::filesystem::path const& path) {
    SafetensorsFile file;
    file.path_ = path;
    require_file(path);
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw DataError(fmt::format("{}: cannot be opened; check the path", path.string()));
    auto const fail = [&](std::string const& why) {
        return DataError(fmt::format("{}: not a valid safetensors file ({}); write it again", path.string(), why));
    };
    auto const size = static_cast<std::uint64_t>(in.tellg());
    unsigned char prefix[8];
    in.seekg(0);
    if (size < sizeof prefix || !in.read(reinterpret_cast<char*>(prefix), sizeof prefix)) throw fail("shorter than 8 bytes");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= static_cast<std::uint64_t>(prefix[i]) << (8 * i);
    if (length > k_longest_header || length > size - 8)
        throw fail(fmt::format("its header claims {} bytes, the file has {}", length, size));
    std::string text(length, ' ');
    if (!in.read(text.data(), static_cast<std::streamsize>(length))) throw fail("the header cannot be read");
    std::string name;
    try {
        auto const header = parse_json_or_throw(text, "header");
        if (!header.is_object()) throw DataError("the header is not an object");
        for (auto const& member : header.object()) {
            if ((name = member.key) == "__metadata__") continue;
            file.entries_[name] = read_entry(member.value, 8 + length, size - 8 - length);
        }
        name.clear();
        refuse_overlaps(file.entries_);
    } catch (Error const& error) {
        throw fail(name.empty() ? error.what() : fmt::format("tensor \"{}\" {}", name, error.what()));
    }
    return file;
}

std::vector<std::byte> SafetensorsFile::bytes_of(std::string const& name) const {
    auto const found = entries_.find(name);
    require(found != entries_.end(), fmt::format("{} has no tensor \"{}\"", path_.string(), name));
    std::vector<std::byte> bytes(found->second.end - found->second.begin);
    std::ifstream in(path_, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(found->second.begin));
    if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
        throw DataError(fmt::format("{}: tensor \"{}\" cannot be read; check the disk", path_.string(), name));
    return bytes;
}

void SafetensorsFile::read(std::string const& name, std::span<float> out) const {
    auto const bytes = bytes_of(name);
    auto const& dtype = entries_.at(name).dtype;
    require(!dtype_bytes(dtype) || bytes.size() / *dtype_bytes(dtype) == out.size(),
            "a tensor of another size was asked for");
    if (!convert(dtype, bytes, out))
        throw DataError(fmt::format("{}: tensor \"{}\" is {} (F32, F64, F16, BF16 can be read); convert it", path_.string(),
                                    name, dtype));
}

void SafetensorsFile::read(std::string const& name, std::span<std::int64_t> out) const {
    auto const bytes = bytes_of(name);
    auto const& dtype = entries_.at(name).dtype;
    require(!dtype_bytes(dtype) || bytes.size() / *dtype_bytes(dtype) == out.size(),
            "a tensor of another size was asked for");
    if (!dtype.starts_with('I') || !convert(dtype, bytes, out))
        throw DataError(fmt::format("{}: tensor \"{}\" is {} (I64 or I32 was expected)", path_.string(), name, dtype));
}

}  // namespace hopscotch
